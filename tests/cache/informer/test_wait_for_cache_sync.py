"""Waiting for caches and handlers."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass

import pytest

from clientgo.cache import CacheSyncError, DoneChecker, SyncResult, wait_for_cache_sync
from clientgo.cache.informer.wait_for_cache_sync import REPORT_AFTER
from clientgo.cache.queues.done_checker import Latch
from clientgo.testing import FakeClock
from tests.background import Background


@pytest.fixture
def stop() -> threading.Event:
    return threading.Event()


def checker(name: str, *, done: bool = False) -> DoneChecker:
    made = DoneChecker(name, Latch())
    if done:
        made.done.set()
    return made


@dataclass
class Informer:
    """Something that syncs and can say what keeps it from it."""

    checker: DoneChecker
    error: Exception | None = None

    def has_synced_checker(self) -> DoneChecker:
        return self.checker

    def last_error(self) -> Exception | None:
        return self.error


class TestAWait:
    def test_for_nothing_is_over(self, stop: threading.Event) -> None:
        """WTC-01."""
        assert wait_for_cache_sync(stop)

    def test_for_what_has_synced_is_over_even_when_stopped(self, stop: threading.Event) -> None:
        """WTC-01."""
        stop.set()
        assert wait_for_cache_sync(stop, checker("a", done=True), lambda: True)

    def test_ends_when_the_last_one_has_synced(self, stop: threading.Event) -> None:
        """WTC-03."""
        a, b = checker("a"), Informer(checker("b"))
        wait = Background(lambda: wait_for_cache_sync(stop, a, b))
        a.done.set()
        assert wait.is_running
        b.checker.done.set()
        assert wait.result()

    def test_ends_when_it_is_stopped(self, stop: threading.Event) -> None:
        """WTC-01, WTC-03."""
        wait = Background(lambda: wait_for_cache_sync(stop, checker("a"), checker("b", done=True)))
        stop.set()
        assert wait.result() == SyncResult({"a": False, "b": True}, "stopped")

    def test_ends_when_its_time_is_up(self, stop: threading.Event) -> None:
        clock = FakeClock()
        wait = Background(lambda: wait_for_cache_sync(stop, checker("a"), timeout=3.0, clock=clock))
        clock.wait_for_waiters(1)
        clock.step(3.0)
        assert not wait.result()

    def test_does_not_poll_what_can_tell(self, stop: threading.Event) -> None:
        """WTC-03, DYN-05."""
        clock, a = FakeClock(), checker("a")
        wait = Background(lambda: wait_for_cache_sync(stop, a, clock=clock))
        clock.wait_for_waiters(1)
        assert clock.next_deadline() == clock.monotonic() + REPORT_AFTER
        a.done.set()
        assert wait.result()

    def test_asks_a_plain_function_every_tenth_of_a_second(self, stop: threading.Event) -> None:
        """WTC-01."""
        clock, answers = FakeClock(), iter([False, False, True])
        wait = Background(lambda: wait_for_cache_sync(stop, lambda: next(answers), clock=clock))
        for _ in range(2):
            clock.wait_for_waiters(1)
            clock.step(0.1)
        assert wait.result()

    def test_asks_a_checker_with_a_plain_event_too(self, stop: threading.Event) -> None:
        """WTC-04."""
        clock, plain = FakeClock(), DoneChecker("plain", threading.Event())
        wait = Background(lambda: wait_for_cache_sync(stop, plain, clock=clock))
        clock.wait_for_waiters(1)
        plain.done.set()
        clock.step(0.1)
        assert wait.result()

    def test_leaves_no_thread(self, stop: threading.Event) -> None:
        wait_for_cache_sync(stop, checker("a"), timeout=0.0)
        stop.set()
        assert "a" not in [thread.name for thread in threading.enumerate()]


class TestAFailedWait:
    def test_names_what_has_not_synced_and_why(self, stop: threading.Event) -> None:
        """WTC-05, pitfall 12."""
        stop.set()
        result = wait_for_cache_sync(
            stop,
            checker("zebras"),
            Informer(checker("foos"), PermissionError("not allowed")),
            checker("bars", done=True),
        )
        error = result.as_error()
        assert isinstance(error, CacheSyncError)
        assert str(error) == "not synced, stopped: foos (last error: not allowed), zebras"
        with pytest.raises(CacheSyncError):
            result.raise_for_unsynced()

    def test_numbers_equal_names(self, stop: threading.Event) -> None:
        stop.set()
        result = wait_for_cache_sync(stop, checker("foos"), checker("foos", done=True))
        assert result.synced == {"foos": False, "foos (2)": True}
        assert not result

    def test_a_result_without_failure_is_not_an_error(self) -> None:
        """WTC-05."""
        assert SyncResult({"a": True}).as_error() is None
        SyncResult({}).raise_for_unsynced()


def test_a_named_wait_is_logged(stop: threading.Event, caplog: pytest.LogCaptureFixture) -> None:
    """WTC-02, WTC-03."""
    caplog.set_level(logging.INFO)
    wait_for_cache_sync(stop, checker("foos", done=True), name="controller")
    wait_for_cache_sync(stop, checker("bars"), name="controller", timeout=0.0)
    assert [record.getMessage() for record in caplog.records] == [
        "controller: waiting for caches to sync: foos",
        "controller: foos is synced",
        "controller: caches are synced",
        "controller: waiting for caches to sync: bars",
        "controller: not synced, after 0.0 s: bars",
    ]


def test_only_a_wait_that_ran_out_of_time_is_logged_as_an_error(
    stop: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    """WTC-02: a program that is stopped while it starts has not failed."""
    caplog.set_level(logging.INFO)
    wait_for_cache_sync(stop, checker("foos"), timeout=0.0)
    stop.set()
    wait_for_cache_sync(stop, checker("foos"))
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("ERROR", "not synced, after 0.0 s: foos"),
        ("INFO", "not synced, stopped: foos"),
    ]


def test_a_long_wait_says_what_it_waits_for_and_why(
    stop: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    clock, informer = FakeClock(), Informer(checker("foos"), PermissionError("not allowed"))
    wait = Background(lambda: wait_for_cache_sync(stop, informer, checker("bars"), clock=clock))
    for seconds in (10.0, 19.0, 1.0):
        clock.wait_for_waiters(1)
        clock.step(seconds)
    clock.wait_for_waiters(1)
    informer.checker.done.set()
    clock.step(60.0)
    clock.wait_for_waiters(1)
    stop.set()
    wait.result()
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "not synced, waiting since 10 s: bars, foos (last error: not allowed)"),
        ("WARNING", "not synced, waiting since 30 s: bars, foos (last error: not allowed)"),
        ("WARNING", "not synced, waiting since 90 s: bars"),
    ]


def test_a_latch_is_never_cleared() -> None:
    with pytest.raises(RuntimeError, match="stays set"):
        Latch().clear()
