"""Being told that a stop event is set."""

from __future__ import annotations

import gc
import logging
import threading
import weakref
from queue import SimpleQueue

import pytest

from clientgo.util.wait import Registration, StopEvent, call_when_set, wait_for_event


def watchers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "stop-watcher"]


def registrations() -> int:
    return sum(isinstance(thing, Registration) for thing in gc.get_objects())


def test_a_callback_runs_in_a_watcher_thread_once_the_event_is_set() -> None:
    stop, calls = threading.Event(), SimpleQueue[str]()
    call_when_set(stop, lambda: calls.put(threading.current_thread().name))
    assert calls.empty()

    stop.set()

    assert calls.get(timeout=30) == "stop-watcher"


def test_a_callback_of_an_event_that_is_set_runs_at_once_in_the_caller() -> None:
    stop, calls = threading.Event(), []
    stop.set()

    call_when_set(stop, lambda: calls.append(threading.current_thread()))

    assert calls == [threading.current_thread()]


def test_one_thread_watches_for_all_callbacks_of_an_event_and_ends_with_it() -> None:
    before = set(watchers())
    stop, calls = threading.Event(), SimpleQueue[int]()
    for number in range(100):
        call_when_set(stop, lambda number=number: calls.put(number))
    (watcher,) = set(watchers()) - before

    stop.set()

    assert sorted(calls.get(timeout=30) for _ in range(100)) == list(range(100))
    watcher.join(30)
    assert not watcher.is_alive()


def test_a_stop_event_runs_its_callbacks_before_set_returns_and_has_no_watcher() -> None:
    before = set(watchers())
    stop, calls = StopEvent(), []
    for number in range(3):
        call_when_set(stop, lambda number=number: calls.append(number))
    assert set(watchers()) <= before

    stop.set()
    stop.set()

    assert sorted(calls) == [0, 1, 2]
    assert stop.is_set()


def test_a_callback_of_a_stop_event_may_register_and_cancel_others() -> None:
    stop, calls = StopEvent(), []

    def first() -> None:
        for registration in registered:
            registration.cancel()
        call_when_set(stop, lambda: calls.append("late"))

    registered = [call_when_set(stop, first) for _ in range(3)]

    stop.set()

    assert calls == ["late"]


@pytest.mark.parametrize("make", [threading.Event, StopEvent])
def test_a_cancelled_callback_does_not_run(make: type[threading.Event]) -> None:
    stop, calls = make(), SimpleQueue[str]()
    cancelled = call_when_set(stop, lambda: calls.put("cancelled"))
    call_when_set(stop, lambda: calls.put("kept"))
    cancelled.cancel()
    cancelled.cancel()

    stop.set()

    assert calls.get(timeout=30) == "kept"
    assert calls.empty()


@pytest.mark.parametrize("make", [threading.Event, StopEvent])
def test_a_cancelled_registration_keeps_nothing_alive(make: type[threading.Event]) -> None:
    class Component:
        def stopped(self) -> None: ...

    gc.collect()  # what other tests left behind
    before = registrations()
    stop, component = make(), Component()
    registration = call_when_set(stop, component.stopped)
    gone = weakref.ref(component)

    registration.cancel()
    del component
    gc.collect()

    assert gone() is None
    del registration
    gc.collect()
    assert registrations() <= before
    stop.set()


@pytest.mark.parametrize("failure", [RuntimeError, SystemExit])
@pytest.mark.parametrize("make", [threading.Event, StopEvent])
def test_a_callback_that_raises_does_not_keep_the_others_from_running(
    make: type[threading.Event], failure: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    stop, calls = make(), SimpleQueue[str]()
    before = set(watchers())

    def fail() -> None:
        raise failure("a bug")

    for _ in range(3):
        call_when_set(stop, fail)
        call_when_set(stop, lambda: calls.put("ran"))
    started = set(watchers()) - before
    with caplog.at_level(logging.ERROR, "clientgo.util.wait"):
        stop.set()
        for watcher in started:
            watcher.join(30)

    assert [calls.get(timeout=30) for _ in range(3)] == ["ran"] * 3
    assert len(caplog.records) == 3


@pytest.mark.parametrize("make", [threading.Event, StopEvent])
def test_no_callback_is_lost_while_the_event_is_being_set(make: type[threading.Event]) -> None:
    for _ in range(200):
        stop, calls = make(), SimpleQueue[int]()
        setter = threading.Thread(target=stop.set)
        call_when_set(stop, lambda calls=calls: calls.put(0))
        setter.start()
        for number in (1, 2, 3):
            call_when_set(stop, lambda calls=calls, number=number: calls.put(number))
        setter.join()
        assert sorted(calls.get(timeout=30) for _ in range(4)) == [0, 1, 2, 3]


def test_a_wait_for_an_event_ends_with_the_event_the_stop_or_the_time() -> None:
    event, stop = StopEvent(), StopEvent()
    assert not wait_for_event(event, 0.0, stop)
    assert not wait_for_event(event, 0.0, None)

    stopped, came = SimpleQueue[bool](), SimpleQueue[bool]()
    waiting = threading.Thread(
        target=lambda: stopped.put(wait_for_event(event, 5, StopEvent(), stop))
    )
    waiting.start()
    stop.set()
    assert not stopped.get(timeout=30)

    waiting = threading.Thread(target=lambda: came.put(wait_for_event(event, 5, StopEvent())))
    waiting.start()
    event.set()
    assert came.get(timeout=30)
    assert wait_for_event(event, 0.0, stop), "what has happened counts, stopped or not"


def test_nothing_is_left_of_a_wait_for_an_event() -> None:
    gc.collect()
    before, watching = registrations(), set(watchers())

    wait_for_event(StopEvent(), 0.0, StopEvent())

    gc.collect()
    assert registrations() == before
    assert set(watchers()) == watching
