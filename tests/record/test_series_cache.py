"""Events that are alike make a series."""

from __future__ import annotations

from clientgo.api.core_v1 import ObjectReference
from clientgo.api.events_v1 import Event
from clientgo.meta import ObjectMeta
from clientgo.record import same_series_and_note
from clientgo.record.series.series_cache import SeriesCache
from clientgo.testing import AutoClock
from clientgo.util.clock import Clock


def series_event(note: str = "n", *, action: str = "Bind", rv: str = "1") -> Event:
    return Event(
        metadata=ObjectMeta(name="p.1", namespace="ns"),
        event_time="2000-01-01T00:00:00.000000Z",
        action=action,
        reason="R",
        note=note,
        type="Normal",
        regarding=ObjectReference(kind="Pod", namespace="ns", name="p", resource_version=rv),
        reporting_controller="c",
        reporting_instance="c-1",
    )


def _cache(clock: Clock) -> SeriesCache:
    return SeriesCache(clock=clock)


def test_the_first_event_is_written_the_second_makes_a_series_the_rest_only_count() -> None:
    """EVT-03"""
    clock = AutoClock()
    cache = _cache(clock)

    first = cache.observe(series_event("first"))
    clock.step(1)
    second = cache.observe(series_event("second"))
    third = cache.observe(series_event("third"))

    assert first is not None
    assert first.series is None
    assert second is not None
    assert second.series is not None
    assert (second.note, second.series.count) == ("first", 2)
    assert second.series.last_observed_time == "2000-01-01T00:00:01.000000Z"
    assert third is None
    assert [
        snapshot.event.series.count for snapshot in cache.series() if snapshot.event.series
    ] == [3]


def test_another_action_is_another_series() -> None:
    """EVT-02"""
    cache = _cache(AutoClock())
    cache.observe(series_event(action="Bind"))

    other = cache.observe(series_event(action="Evict"))

    assert other is not None
    assert other.series is None


def test_an_object_that_changes_keeps_its_series() -> None:
    """EVT-02, P-26"""
    cache = _cache(AutoClock())
    cache.observe(series_event(rv="1"))

    again = cache.observe(series_event(rv="2"))

    assert again is not None
    assert again.series is not None


def test_notes_make_series_of_their_own_on_request() -> None:
    """P-26"""
    cache = SeriesCache(clock=AutoClock(), key=same_series_and_note)
    cache.observe(series_event("one"))

    other = cache.observe(series_event("two"))

    assert other is not None
    assert other.series is None


def test_a_series_ends_after_six_minutes_and_a_single_event_is_forgotten() -> None:
    """EVT-07"""
    clock = AutoClock()
    cache = _cache(clock)
    cache.observe(series_event(action="Single"))
    for _ in range(3):
        cache.observe(series_event())

    clock.step(360)
    too_early = cache.ended_series()
    clock.step(0.001)
    ended = cache.ended_series()

    assert too_early == []
    assert [snapshot.event.series.count for snapshot in ended if snapshot.event.series] == [3]
    single = cache.observe(series_event(action="Single"))
    assert single is not None
    assert single.series is None


def test_an_entry_that_changed_meanwhile_is_neither_forgotten_nor_replaced() -> None:
    """EVT-07, EVT-08"""
    cache = _cache(AutoClock())
    cache.observe(series_event())
    cache.observe(series_event())
    snapshot = cache.series()[0]
    cache.observe(series_event())

    cache.forget(snapshot)
    cache.replace(snapshot, snapshot.event)

    assert [s.event.series.count for s in cache.series() if s.event.series] == [3]


def test_an_unchanged_entry_takes_the_servers_copy() -> None:
    """EVT-08"""
    cache = _cache(AutoClock())
    cache.observe(series_event())
    cache.observe(series_event())
    snapshot = cache.series()[0]
    stored = snapshot.event
    stored.metadata.resource_version = "8"

    cache.replace(snapshot, stored)

    assert cache.series()[0].event.metadata.resource_version == "8"


def test_the_cache_is_bounded() -> None:
    cache = SeriesCache(clock=AutoClock(), size=2)

    for action in "abc":
        cache.observe(series_event(action=action))

    assert cache.evictions == 1


def test_the_event_given_and_the_one_kept_are_apart() -> None:
    cache = _cache(AutoClock())
    event = series_event()
    cache.observe(event)

    cache.observe(series_event())

    assert event.series is None
