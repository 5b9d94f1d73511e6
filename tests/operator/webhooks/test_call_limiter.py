"""Calls that hang, and many calls."""

from __future__ import annotations

import contextvars
import sys
import threading

import pytest

from clientgo.operator.webhooks.endpoint import CallLimiter
from clientgo.operator.webhooks.refusals import HandlerTimeoutError, TooManyCallsError
from clientgo.testing import FakeClock
from tests.background import Background


def test_the_value_and_the_error_of_the_function_come_back() -> None:
    def fail() -> None:
        raise KeyError("x")

    calls = CallLimiter()

    assert calls.call(lambda: 7, 1.0, "/x") == 7
    with pytest.raises(KeyError):
        calls.call(fail, 1.0, "/x")
    with pytest.raises(RuntimeError, match="the handler raised SystemExit"):
        calls.call(sys.exit, 1.0, "/x")
    assert calls.threads() == []


def test_a_function_that_hangs_is_left_alone_after_its_time() -> None:
    """OP-WHK-15"""
    clock, release = FakeClock(), threading.Event()
    calls = CallLimiter(clock=clock)

    call = Background(lambda: calls.call(lambda: release.wait(30), 9.0, "/x"))
    clock.wait_for_waiters(1)
    clock.step(9.0)

    with pytest.raises(HandlerTimeoutError, match="within 9 s"):
        call.result()
    (thread,) = calls.threads()
    assert (thread.name, thread.daemon) == ("webhook-handler/x", True)
    release.set()
    thread.join(30)
    assert calls.threads() == []


def test_while_all_hang_another_call_fails_at_once() -> None:
    """OP-WHK-15"""
    release, began = threading.Event(), threading.Semaphore(0)
    calls = CallLimiter(max_calls=2)

    def hang() -> bool:
        began.release()
        return release.wait(30)

    hanging = [Background(lambda: calls.call(hang, 60.0, "/x")) for _ in range(2)]
    for _ in hanging:
        assert began.acquire(timeout=30)

    with pytest.raises(TooManyCallsError):
        calls.call(lambda: None, 60.0, "/x")
    release.set()
    assert [call.result() for call in hanging] == [True, True]
    assert calls.call(lambda: 1, 60.0, "/x") == 1


def test_the_function_sees_the_context_variables_of_its_caller() -> None:
    name = contextvars.ContextVar("name", default="")
    name.set("jane")

    assert CallLimiter().call(name.get, 1.0, "/x") == "jane"


def test_a_thread_that_cannot_start_is_an_error_and_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """OP-WHK-08"""
    calls = CallLimiter(max_calls=1)

    def fail(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", fail)
        with pytest.raises(TooManyCallsError, match="can't start new thread"):
            calls.call(lambda: 1, 1.0, "/x")

    assert calls.call(lambda: 1, 1.0, "/x") == 1
