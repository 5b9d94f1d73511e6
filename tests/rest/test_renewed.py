"""One answer of a slow source for many requests."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest

from clientgo.rest import ConfigError, Identity
from clientgo.rest.config.auth.renewed import AbandonedError, Fresh, RenewedCredentials
from clientgo.testing import FakeClock
from clientgo.util.wait import StopEvent

_TIMEOUT = 30.0
TOGETHER = 8


class Source:
    """A source whose answers are queued up by the test; each question is a thread that waits."""

    def __init__(self) -> None:
        self.questions = 0
        self._asked = threading.Semaphore(0)
        self._answers = threading.Semaphore(0)
        self._outcomes: list[Fresh | Exception] = []

    def __call__(self, abandoned: StopEvent) -> Fresh:
        self.questions += 1
        self._asked.release()
        if not self._answers.acquire(timeout=_TIMEOUT):
            raise TimeoutError
        outcome = self._outcomes.pop(0)
        if isinstance(outcome, AbandonedError):
            assert abandoned.wait(_TIMEOUT)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def answer(self, *outcomes: Fresh | Exception) -> None:
        self._outcomes += outcomes
        for _ in outcomes:
            self._answers.release()

    def wait_until_asked(self) -> None:
        assert self._asked.acquire(timeout=_TIMEOUT)


def fresh(token: str, expires: float | None = None) -> Fresh:
    return Fresh(Identity(authorization=token), expires)


def failure(text: str) -> ConfigError:
    return ConfigError(text, advice="do it")


@pytest.fixture
def source():
    return Source()


@pytest.fixture
def clock():
    return FakeClock(wall=1000.0)


@pytest.fixture
def credentials(source, clock):
    return RenewedCredentials(source, "the source", clock=clock)


class Asking:
    """Calls in threads of their own, that all wait for the source when this is made."""

    def __init__(
        self, credentials: RenewedCredentials, call: Callable[[], object], count: int = TOGETHER
    ) -> None:
        self.results: list[object] = []
        self._threads = [
            threading.Thread(target=self._ask, args=(call,), daemon=True) for _ in range(count)
        ]
        for thread in self._threads:
            thread.start()
        while credentials._run is None or credentials._run.waiting < count:
            os.sched_yield()

    def _ask(self, call: Callable[[], object]) -> None:
        try:
            self.results.append(call())
        except ConfigError as error:
            self.results.append(str(error))

    def all_results(self) -> list[object]:
        for thread in self._threads:
            thread.join(_TIMEOUT)
            assert not thread.is_alive()
        return self.results


def test_requests_that_wait_get_the_answer_to_one_question(source, credentials):
    asking = Asking(credentials, credentials.current)
    source.answer(fresh("t"))

    assert asking.all_results() == [Identity(authorization="t")] * TOGETHER
    assert source.questions == 1


def test_requests_that_wait_share_a_failure(source, credentials):
    """FIELD-66: client-go asks once for each of them, one after the other."""
    asking = Asking(credentials, credentials.current)
    source.answer(failure("no"))

    assert asking.all_results() == ["no; do it"] * TOGETHER
    assert source.questions == 1


def test_refusals_of_one_identity_renew_it_once(source, credentials):
    source.answer(fresh("old"))
    refused = credentials.current()
    asking = Asking(credentials, lambda: credentials.renew(refused))
    source.answer(fresh("new"))

    assert asking.all_results() == [True] * TOGETHER
    assert credentials.renew(refused)  # it was renewed already
    assert source.questions == 2


def ask(credentials: RenewedCredentials) -> str:
    try:
        return credentials.current().authorization
    except ConfigError as error:
        return str(error)


def test_a_source_that_fails_is_not_asked_in_a_rush(source, credentials, clock):
    """FIELD-66: three times at once, and then every ten seconds."""
    source.answer(*[failure(str(n)) for n in range(100)])
    for _ in range(50):
        ask(credentials)
    assert source.questions == 4

    clock.step(10.0)
    assert [ask(credentials) for _ in range(50)] == ["4; do it"] * 50
    assert source.questions == 5


def test_a_source_that_works_again_is_heard(source, credentials):
    source.answer(failure("no"), fresh("t"))

    assert [ask(credentials), ask(credentials)] == ["no; do it", "t"]


def test_a_server_that_refuses_everything_does_not_let_the_source_be_asked_in_a_rush(
    source, credentials, clock
):
    source.answer(*[fresh(str(n)) for n in range(100)])
    for _ in range(50):
        credentials.renew(credentials.current())
    assert source.questions == 4

    clock.step(10.0)
    for _ in range(50):
        credentials.renew(credentials.current())
    assert source.questions == 5


def test_identities_that_expire_in_time_are_always_renewed(source, credentials, clock):
    for n in range(20):
        source.answer(fresh(str(n), expires=clock.time() + 1))
        assert credentials.current().authorization == str(n)
        clock.step(2.0)


def test_an_identity_that_comes_expired_is_used_but_not_asked_for_in_a_rush(source, credentials):
    """A clock that is wrong: the server decides whether the identity has expired."""
    source.answer(*[fresh(str(n), expires=0.0) for n in range(100)])

    assert [ask(credentials) for _ in range(6)] == ["0", "1", "2", "3", "3", "3"]


def test_a_failure_after_an_identity_has_expired_is_an_error(source, credentials, clock):
    source.answer(fresh("t", expires=clock.time()), failure("no"))
    credentials.current()
    clock.step(1.0)

    assert ask(credentials) == "no; do it"


def test_a_refused_identity_stays_while_it_cannot_be_renewed(source, credentials, caplog):
    source.answer(fresh("t"), failure("no"))
    identity = credentials.current()

    assert not credentials.renew(identity)
    assert credentials.current() == identity
    assert caplog.messages == ["The server refused the credentials of the source: no; do it"]


def test_a_stop_ends_one_wait_and_leaves_the_run_to_the_others(source, credentials):
    stop = StopEvent()
    stopped = Asking(credentials, lambda: credentials.current(stop), count=1)
    others = Asking(credentials, credentials.current, count=2)
    stop.set()

    assert stopped.all_results() == ["stopped while waiting for the source; start again"]
    source.answer(fresh("t"))
    assert others.all_results() == [Identity(authorization="t")] * 2


def test_a_stop_ends_a_renewal_without_a_word(source, credentials, caplog):
    source.answer(fresh("t"))
    identity = credentials.current()
    stop = StopEvent()
    asking = Asking(credentials, lambda: credentials.renew(identity, stop), count=1)
    stop.set()

    assert asking.all_results() == [False]
    assert caplog.messages == []
    source.answer(AbandonedError())


def test_a_request_that_joins_an_abandoned_run_asks_again(source, credentials):
    stop = StopEvent()
    first = Asking(credentials, lambda: credentials.current(stop), count=1)
    source.wait_until_asked()
    stop.set()
    first.all_results()
    second = Asking(credentials, credentials.current, count=1)
    source.answer(AbandonedError(), fresh("t"))

    assert second.all_results() == [Identity(authorization="t")]
    assert source.questions == 2


@pytest.mark.thread_failure
def test_a_bug_of_a_source_is_an_error_of_those_who_wait(source, credentials, caplog):
    source.answer(ZeroDivisionError("a secret"), fresh("t"))

    assert ask(credentials) == "the source failed by ZeroDivisionError; see the log"
    assert ask(credentials) == "t"
    for thread in threading.enumerate():
        if thread.name == "clientgo-credentials":
            thread.join(_TIMEOUT)
    assert "thread clientgo-credentials ended by ZeroDivisionError" in caplog.text


def test_a_thread_that_cannot_be_started_is_tried_again(source, credentials, monkeypatch):
    def fail(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", fail)
        assert ask(credentials) == (
            "the source cannot be asked: thread clientgo-credentials cannot be started: can't "
            "start new thread; this process, or its container, is at its limit of threads ("
            "ulimit -u, pids.max) or of memory; allow more threads"
        )
    source.answer(fresh("t"))
    assert ask(credentials) == "t"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_asks_for_itself(source, credentials):
    asking = Asking(credentials, credentials.current, count=1)
    source.wait_until_asked()
    source.answer(fresh("t"))
    with credentials._lock:
        child = os.fork()
        if child == 0:
            source._answers = threading.Semaphore(1)
            source._outcomes = [fresh("of the child")]
            os._exit(0 if ask(credentials) in ("t", "of the child") else 1)
    asking.all_results()

    assert os.waitpid(child, 0)[1] == 0


def test_no_text_shows_the_identity(source, credentials):
    source.answer(fresh("secret"))
    credentials.current()

    assert repr(credentials) == "RenewedCredentials(the source)"
