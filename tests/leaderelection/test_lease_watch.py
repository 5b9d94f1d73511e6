"""Waiting for a lease: by time, by its watch, and by the stop."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import pytest

from clientgo.leaderelection import (
    Ending,
    LeaderElectionConfig,
    LeaderElector,
    Leadership,
    Timing,
    lease_lock_from_config,
)
from clientgo.leaderelection.lease_watch import LeaseWatch
from clientgo.meta import ForbiddenError
from clientgo.rest import RestConfig
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testing.operator import eventually
from clientgo.util.clock import REAL_CLOCK
from clientgo.util.wait import call_when_set
from tests.background import Background

LONG = 3600.0
"""Longer than a test waits for the end of a wait."""


class WatchedLock:
    """A lock whose holders a test tells, or what a watch raises."""

    identity = "me"

    def __init__(self) -> None:
        self.told: SimpleQueue[Any] = SimpleQueue()
        self.watches = 0

    def describe(self) -> str:
        return "default/le"

    def watch(self, stop: threading.Event) -> Iterator[str]:
        self.watches += 1
        call_when_set(stop, lambda: self.told.put(None))
        while (holder := self.told.get()) is not None:
            if isinstance(holder, Exception):
                raise holder
            yield holder


def waiting(lock: Any, stop: threading.Event, pause: float = LONG) -> LeaseWatch:
    return LeaseWatch(lock, stop, pause=pause, clock=REAL_CLOCK)


def test_a_lease_that_is_given_up_ends_the_wait() -> None:
    lock = WatchedLock()
    with waiting(lock, threading.Event()) as watch:
        lock.told.put("other")
        assert not watch.wait(0.01)
        lock.told.put("")
        assert not Background(lambda: watch.wait(LONG)).result()


def test_a_stop_ends_the_wait() -> None:
    lock, stop = WatchedLock(), threading.Event()
    with waiting(lock, stop) as watch:
        assert not watch.wait(0.01)
        stop.set()
        assert Background(lambda: watch.wait(LONG)).result()
        assert Background(lambda: watch.wait(LONG)).result()


def test_a_watch_that_fails_is_opened_again() -> None:
    lock = WatchedLock()
    with waiting(lock, threading.Event(), pause=0.0) as watch:
        lock.told.put(OSError("cut off"))
        lock.told.put("")
        assert not Background(lambda: watch.wait(LONG)).result()
    assert lock.watches == 2


def test_a_watch_that_is_forbidden_is_given_up_and_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lock = WatchedLock()
    caplog.set_level(logging.INFO, "clientgo.leaderelection")
    with waiting(lock, threading.Event(), pause=0.0) as watch:
        lock.told.put(ForbiddenError.of("you may not"))
        watch.wait(0.01)
        eventually(lambda: "grant the verb watch" in caplog.text)
        watch.wait(0.01)
    assert lock.watches == 1
    assert caplog.text.count("grant the verb watch") == 1


def test_a_lock_that_cannot_be_watched_is_waited_for() -> None:
    stop = threading.Event()
    with waiting(object(), stop) as watch:
        assert not watch.wait(0.0)
        stop.set()
        assert Background(lambda: watch.wait(LONG)).result()


@pytest.fixture
def server() -> Iterator[EmbeddedAPIServer]:
    with EmbeddedAPIServer() as server:
        yield server


def test_a_standby_begins_when_the_lease_is_given_up(server: EmbeddedAPIServer) -> None:
    """LE-14, OP-LE-05: although its next look is an hour away."""
    timing = Timing(lease_duration=7200, renew_deadline=5400, retry_period=3600)
    leads: dict[str, threading.Event] = {name: threading.Event() for name in ("a", "b")}
    stops = {name: threading.Event() for name in leads}
    endings: dict[str, Ending] = {}
    stands_by = threading.Event()

    def run(name: str) -> None:
        lock = lease_lock_from_config(
            RestConfig(server=server.url), "default", "le", name, timing=timing
        )

        def work(leadership: Leadership) -> None:
            leads[name].set()
            leadership.stop.wait()

        config = LeaderElectionConfig(
            lock=lock,
            timing=timing,
            on_started_leading=work,
            on_stopped_leading=lambda _: None,
            on_new_leader=lambda leader: stands_by.set() if (name, leader) == ("b", "a") else None,
        )
        endings[name] = LeaderElector(config).run(stops[name])
        lock.close()

    threads = {name: threading.Thread(target=run, args=(name,)) for name in leads}
    threads["a"].start()
    assert leads["a"].wait(30)
    threads["b"].start()
    assert stands_by.wait(30)
    stops["a"].set()

    assert leads["b"].wait(60)
    stops["b"].set()
    for thread in threads.values():
        thread.join(30)
    assert endings == {"a": Ending.STOPPED, "b": Ending.STOPPED}
