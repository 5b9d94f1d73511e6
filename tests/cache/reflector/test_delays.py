"""How long a reflector pauses when it failed, by default and as a caller wants it."""

from __future__ import annotations

from clientgo.cache import Indexer
from clientgo.cache.reflector.reflector import DEFAULT_DELAYS, DELAYS_START_OVER_AFTER, Reflector
from clientgo.testing import AutoClock, FakeClock
from clientgo.testing.fake_source import FakeSource
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
