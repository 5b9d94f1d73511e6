"""How long a reflector pauses when it failed, by default and as a caller wants it."""

from __future__ import annotations

import threading

from clientgo.cache import Indexer
from clientgo.cache.reflector.reflector import DEFAULT_DELAYS, DELAYS_START_OVER_AFTER, Reflector
from clientgo.meta import ListOptions, ObjectList, WatchEvent
from clientgo.meta.status import Status
from clientgo.testing import AutoClock, FakeClock
from clientgo.testing.fake_source import FakeSource, FakeStream
from clientgo.util.wait import Backoff, BackoffManager
from tests.cache.builders import Foo, foo
from tests.cache.running import Notes, running


def test_the_pauses_double_up_to_half_a_minute_and_are_up_to_twice_as_long_by_chance() -> None:
    """RFL-05."""
    shortest = BackoffManager(DEFAULT_DELAYS, clock=FakeClock(), random=lambda: 0.0)
    longest = BackoffManager(DEFAULT_DELAYS, clock=FakeClock(), random=lambda: 1.0)
    bases = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]

    assert [round(shortest.step(), 6) for _ in bases] == bases
    assert [round(longest.step(), 6) for _ in bases] == [2 * base for base in bases]


def test_the_pauses_are_short_again_after_two_minutes_without_one() -> None:
    """RFL-05, RFL-06: of the reflector's own making; client-go's start over in an outage."""
    clock = FakeClock()
    delays = BackoffManager(
        DEFAULT_DELAYS, DELAYS_START_OVER_AFTER, clock=clock, random=lambda: 0.0
    )
    for _ in range(8):
        clock.step(30.0)
        delays.step()

    assert delays.step() == 30.0
    clock.step(120.1)
    assert delays.step() == 0.8


def test_a_callers_delays_are_kept_to_exactly() -> None:
    """RFL-07."""
    clock = AutoClock()
    source = FakeSource([foo("a")])
    source.supports_watch_list = False
    source.fail("list", *[OSError("down")] * 3)
    failed_at = Notes()
    subject = Reflector(
        source,
        Indexer[Foo](),
        delays=BackoffManager(Backoff(duration=2.0, factor=3.0, steps=9), clock=clock),
        clock=clock,
        on_error=lambda error: failed_at(clock.monotonic()),
    )

    with running(subject):
        failed_at.wait_for_count(3)

    first, second, third = failed_at.notes
    assert (second - first, third - second) == (2.0, 6.0)


class TimedSource(FakeSource):
    """Notes when it is asked for something."""

    def __init__(self, clock: AutoClock) -> None:
        super().__init__([foo("a"), foo("b")], supports_watch_list=False)
        self.asked = Notes()
        self.replaced_by: FakeSource | None = None
        self._clock = clock
        self._refusals = 0

    def list(self, options: ListOptions, stop: threading.Event) -> ObjectList[Foo]:
        self._refuse()
        self.asked(self._clock.monotonic())
        if self.replaced_by is not None:
            return self.replaced_by.list(options, stop)
        return super().list(options, stop)

    def watch(self, options: ListOptions, stop: threading.Event) -> FakeStream:
        self._refuse()
        stream = super().watch(options, stop)
        self.asked(self._clock.monotonic())
        return stream

    def be_down(self, requests: int) -> None:
        """End the open watch, and refuse that many to follow."""
        self._clock.step(2.0)  # a watch that ends sooner is an error of its own
        self._refusals = requests
        self.close_watches()

    def _refuse(self) -> None:
        if self._refusals:
            self._refusals -= 1
            raise ConnectionRefusedError

    def expire(self, requests: int) -> float:
        """End the open watch with 410; return the seconds until that many requests are there."""
        self.send(WatchEvent("ERROR", Status(code=410, reason="Expired")))
        self.asked.wait_for_count(requests)
        return float(self.asked.notes[requests - 1] - self.asked.notes[requests - 2])


def test_a_watch_that_expires_after_an_outage_is_followed_by_a_short_pause() -> None:
    """RFL-05: a server that restarts knows no version of before, and the cache is old."""
    clock = AutoClock()
    source = TimedSource(clock)
    subject = Reflector(source, Indexer[Foo](), clock=clock)

    with running(subject):
        source.asked.wait_for_count(2)  # a list and a watch
        source.be_down(9)
        source.asked.wait_for_count(4)  # the version and a watch, after nine pauses
        after_outage = source.expire(5)
        source.asked.wait_for_count(6)
        second = source.expire(7)

    assert 0.8 <= after_outage <= 1.6
    assert 1.6 <= second <= 3.2


def test_so_is_the_answer_of_a_server_that_was_replaced() -> None:
    """RFL-05: it has no version of before either."""
    clock = AutoClock()
    source = TimedSource(clock)

    with running(Reflector(source, Indexer[Foo](), clock=clock)):
        source.asked.wait_for_count(2)
        source.replaced_by = FakeSource([foo("a")])
        source.be_down(9)
        source.asked.wait_for_count(4)

    version, after_outage = source.asked.notes[2:4]
    assert 0.8 <= after_outage - version <= 1.6


def test_a_caller_has_no_short_pause_between_its_own() -> None:
    """RFL-07."""
    clock = AutoClock()
    source = TimedSource(clock)
    delays = BackoffManager(Backoff(duration=2.0, factor=3.0, steps=9), clock=clock)

    with running(Reflector(source, Indexer[Foo](), clock=clock, delays=delays)):
        source.asked.wait_for_count(2)
        source.be_down(2)
        source.asked.wait_for_count(3)
        after_outage = source.expire(4)

    assert after_outage == 18.0
