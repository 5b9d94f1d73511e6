"""Threads that report how they ended."""

from __future__ import annotations

import ast
import logging
import threading
from contextvars import ContextVar
from pathlib import Path
from types import SimpleNamespace

import pytest

import clientgo
from clientgo.observe.metrics import default_provider, names, set_default_provider
from clientgo.util import process
from clientgo.util.process import SupervisedThread, ThreadStartError, join_threads, start_threads
from tests.observe.metrics.recording import RecordingProvider
from tests.threads import refused_threads

THEN = "nothing is done any more; restart this process"

KEEP_WHAT_IS_RAISED = {
    "operator/webhooks/endpoint.py",
    "tools/study/exercises/exercise.py",
}
"""Files whose threads pass everything that is raised, SystemExit included, to another thread."""


def run(thread: SupervisedThread) -> None:
    thread.start()
    thread.join()


@pytest.mark.thread_failure
@pytest.mark.parametrize("failure", [ValueError("no"), SystemExit(3), SystemExit()])
def test_a_thread_that_ends_by_an_exception_says_so_and_calls_what_depends_on_it(
    failure: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[BaseException] = []

    def work(raised: BaseException) -> None:
        raise raised

    run(SupervisedThread(work, args=(failure,), name="poll-1", then=THEN, on_failure=seen.append))

    assert seen == [failure]
    (record,) = caplog.records
    assert record.levelno == logging.CRITICAL
    assert record.getMessage() == (
        f"thread poll-1 ended by {type(failure).__name__}: {failure}; {THEN}"
    )


@pytest.mark.thread_failure
def test_failures_are_counted_by_the_role_of_the_thread() -> None:
    provider, before = RecordingProvider(), default_provider()
    set_default_provider(provider)
    try:
        run(SupervisedThread(exit, name="connection-17", then=THEN))
    finally:
        set_default_provider(before)

    assert provider[names.THREAD_FAILURES].value == 1
    assert provider.labels[names.THREAD_FAILURES.name] == {"thread": "connection"}


@pytest.mark.thread_failure
def test_a_reaction_that_fails_is_reported_too(caplog: pytest.LogCaptureFixture) -> None:
    def react(_: BaseException) -> None:
        raise KeyError("second")

    run(SupervisedThread(exit, name="a", then=THEN, on_failure=react))

    assert [record.getMessage().split(";")[0] for record in caplog.records] == [
        "thread a ended by SystemExit: None",
        "thread a ended by KeyError: 'second'",
    ]


def test_a_thread_that_returns_reports_nothing(caplog: pytest.LogCaptureFixture) -> None:
    run(SupervisedThread(lambda: None, name="a", then=THEN))

    assert caplog.records == []


def test_no_thread_of_the_library_can_end_silently() -> None:
    """Every thread is supervised, or keeps what its target raises."""
    library = Path(clientgo.__file__).parent
    plain = {
        str(file.relative_to(library))
        for file in library.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "threading.Thread"
    }

    assert plain == KEEP_WHAT_IS_RAISED


def test_a_thread_that_the_system_refuses_can_be_started_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """FIELD-74."""
    ran = threading.Event()
    thread = SupervisedThread(ran.set, name="worker-1", then="nothing")
    with refused_threads(monkeypatch, at=1), pytest.raises(ThreadStartError) as refusal:
        thread.start()
    assert str(refusal.value) == (
        "thread worker-1 cannot be started: can't start new thread; this process, or its "
        "container, is at its limit of threads (ulimit -u, pids.max) or of memory"
    )

    thread.start()
    thread.join()
    assert ran.is_set()


def test_threads_that_do_not_end_share_one_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0

    class Stuck(SupervisedThread):
        def __init__(self, name: str) -> None:
            super().__init__(lambda: None, name=name, then="nothing")

        def join(self, timeout: float | None = None) -> None:
            nonlocal now
            assert timeout is not None
            now += min(timeout, 3.0)

        def is_alive(self) -> bool:
            return True

    monkeypatch.setattr(process.threads, "time", SimpleNamespace(monotonic=lambda: now))
    assert join_threads(map(Stuck, ["a", "b", "c"]), 5.0) == ["a", "b", "c"]
    assert now == 105.0


def test_a_thread_is_started_once() -> None:
    thread = SupervisedThread.started(lambda: None, name="worker-1", then="nothing")
    thread.join()
    with pytest.raises(RuntimeError, match="threads can only be started once"):
        thread.start()


def test_a_thread_does_not_run_in_the_context_of_its_starter() -> None:
    """Free-threaded CPython runs a thread in a copy of that context; here it is run in it."""
    field: ContextVar[str] = ContextVar("field", default="none")
    seen: list[str] = []
    thread = SupervisedThread(target=lambda: seen.append(field.get()), name="worker-1", then="-")
    field.set("of the starter")
    thread.run()
    assert seen == ["none"]


@pytest.mark.parametrize("refused", [1, 2, 3])
def test_threads_start_together_or_not_at_all(
    refused: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[int] = []
    threads = [
        SupervisedThread(ran.append, args=(number,), name=f"worker-{number}", then="nothing")
        for number in range(3)
    ]
    with refused_threads(monkeypatch, at=refused), pytest.raises(ThreadStartError):
        start_threads(threads)

    assert ran == []
    assert not any(thread.is_alive() for thread in threads)


def test_no_thread_of_a_group_runs_before_the_last_has_started() -> None:
    ran: list[int] = []
    threads = [
        SupervisedThread(ran.append, args=(number,), name=f"worker-{number}", then="nothing")
        for number in range(3)
    ]
    start_threads(threads)
    for thread in threads:
        thread.join()
    assert sorted(ran) == [0, 1, 2]
