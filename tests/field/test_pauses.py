"""How long an informer pauses, by a clock that the test moves; and what it says meanwhile."""

from __future__ import annotations

import pytest

from clientgo.cache import wait_for_cache_sync
from clientgo.testing import FakeClock
from clientgo.testing.scripted_server import (
    answer_json,
    answer_status,
    stay_silent,
    watch_begin,
    watch_end,
    watch_events,
)
from tests.field.collection import open_watch, short_watch
from tests.field.informers import pod_informer, running, running_pod_informer
from tests.field.objects import added, expired, keys, listing, pod
from tests.field.scenario import Field

UNAVAILABLE = answer_status(503, "ServiceUnavailable", "scripted outage")
FIRST_PAUSE = pytest.approx(1.2, abs=0.4)  # 0.8 s, lengthened by chance to at most twice that


def pause(clock: FakeClock) -> float:
    """Wait until the informer pauses, and say for how long it will."""
    clock.wait_for_waiters()
    return (clock.next_deadline() or 0.0) - clock.monotonic()


def pass_pause(clock: FakeClock) -> float:
    seconds = pause(clock)
    clock.step(seconds)
    return seconds


def test_pauses_grow_from_0_8_to_30_seconds_at_random(field: Field):
    """FIELD-02: an outage meets fewer and fewer requests, spread over time."""
    clock = FakeClock()
    field.pods.on_watch(UNAVAILABLE)
    with pod_informer(field, clock=clock, stream_initial_list=False) as informer, running(informer):
        pauses = [pass_pause(clock) for _ in range(9)]

    shortest = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0]
    assert all(low <= p <= 2 * low for low, p in zip(shortest, pauses, strict=True)), pauses
    assert len(set(pauses)) == len(pauses)


def test_pauses_are_short_again_after_two_quiet_minutes(field: Field):
    """FIELD-02."""
    clock, gate = FakeClock(), field.server.gate()
    healthy = [*watch_begin(), *watch_events(added(pod("a", 11))), *gate.hold(), *watch_end()]
    field.pods.on_watch(*[UNAVAILABLE] * 4, healthy, UNAVAILABLE)
    with pod_informer(field, clock=clock, stream_initial_list=False) as informer, running(informer):
        for _ in range(4):
            pass_pause(clock)
        gate.wait_until_reached()
        clock.step(121.0)
        gate.open()

        assert pause(clock) == FIRST_PAUSE


def test_a_first_list_that_fails_is_not_mistaken_for_a_slow_one(field: Field):
    """FIELD-28: until it works, the last error and the pause can be read."""
    clock = FakeClock()
    field.pods.on_list(UNAVAILABLE, answer_json(listing(pod("a"))))
    with (
        pod_informer(field, clock=clock, stream_initial_list=False) as informer,
        running(informer) as stop,
    ):
        clock.wait_for_waiters()
        result = wait_for_cache_sync(stop, informer, timeout=0.0)
        reflector = informer.statistics().reflector

        assert not result
        assert "scripted outage" in str(result.as_error())
        assert reflector is not None
        assert (reflector.state, reflector.is_watching) == ("Relist", False)

        pass_pause(clock)

        assert wait_for_cache_sync(stop, informer, timeout=30)
        assert set(informer.indexer.list_keys()) == keys("a")


def test_it_comes_back_after_the_server_was_down(field: Field):
    """FIELD-32: refused connections, for a long time; a probe can see it."""
    clock = FakeClock()
    field.pods.on_watch(open_watch(added(pod("a", 11))))
    with running_pod_informer(field, clock=clock, stream_initial_list=False) as informer:
        field.until(informer.indexer.list_keys, "the event never came")
        field.server.close()
        for _ in range(12):
            pass_pause(clock)
        clock.wait_for_waiters()
        during = informer.statistics().reflector

        assert during is not None
        assert not during.is_watching
        assert "connection refused" in str(during.last_error)
        assert during.seconds_since_heard is not None
        assert during.seconds_since_heard > 100

        pods = field.reopen_server()
        pods.on_list(answer_json(listing(pod("b"), version=20)))
        pods.on_watch(short_watch(expired()), open_watch())
        pass_pause(clock)  # the watch goes on, and finds that its version has expired
        pass_pause(clock)
        field.until(lambda: set(informer.indexer.list_keys()) == keys("b"), "it never listed again")


def test_a_streamed_list_without_an_end_is_given_up_for_good(field: Field):
    """FIELD-33: after a minute it lists in pages, and never streams from this server again."""
    clock = FakeClock()
    field.pods.on_stream([*watch_begin(), *watch_events(added(pod("a", 5))), *stay_silent()])
    field.pods.on_list(answer_json(listing(pod("a", 5))))
    field.pods.on_watch(short_watch(expired()), open_watch())
    with pod_informer(field, clock=clock) as informer, running(informer) as stop:
        field.until(lambda: field.pods.streams, "it did not ask for a streamed list")
        for _ in range(6):
            clock.wait_for_waiters()
            assert not informer.has_synced()
            clock.step(10.0)

        assert wait_for_cache_sync(stop, informer, timeout=30)
        assert set(informer.indexer.list_keys()) == keys("a")

        assert pass_pause(clock) == FIRST_PAUSE  # the watch has expired: everything begins anew
        field.until(lambda: len(field.pods.watches) == 2, "it did not watch again")

    assert len(field.pods.streams) == 1
    assert len(field.pods.lists) == 2


def test_a_watch_that_its_server_forgot_to_end_is_opened_again(field: Field):
    """FIELD-06: with no other limit configured, after the time that was asked for and a grace."""
    field.pods.on_watch(open_watch(added(pod("a", 11))), open_watch())
    with (
        pod_informer(field, timeout_seconds=1, watch_grace=0.1, stream_initial_list=False) as slow,
        running(slow),
    ):
        field.until(lambda: len(field.pods.watches) == 2, "it waits for ever")

    first, second = field.pods.watches
    assert second.at - first.at >= 1.1
    assert second.request.query["resourceVersion"] == "11"
