"""What handlers are promised beyond what a scenario can see from outside."""

from __future__ import annotations

import logging
import threading

from clientgo.api.core_v1 import Pod
from clientgo.cache import HighWater
from clientgo.testing.scripted_server import answer_json, watch_begin, watch_events
from tests.field.collection import open_watch
from tests.field.informers import pod_informer, running
from tests.field.objects import added, key, listing, modified, pod
from tests.field.scenario import Field, Recorder, logged

MANY = 400
FIRST_UPDATE = 2000


def test_a_handler_that_joins_amid_events_misses_and_repeats_nothing(field: Field):
    """FIELD-09: what is there and what happens come to it in one sequence."""
    names = [f"pod-{number}" for number in range(MANY)]
    events = [added(pod(name, 100 + 2 * i)) for i, name in enumerate(names)]
    events += [modified(pod(name, FIRST_UPDATE + i)) for i, name in enumerate(names)]
    gate = field.server.gate()
    field.pods.on_watch([*gate.hold(), *open_watch(*events)])
    subject, first = field.watched()
    gate.wait_until_reached()
    gate.open()
    late = []
    for count in range(50, 2 * MANY, 150):
        field.until(lambda count=count: first.count >= count, "the events stopped")
        late.append(field.recorder())
        subject.add_handler(late[-1])

    for recorder in late:
        field.until(lambda recorder=recorder: _was_told_all(recorder), "it missed something")
        for name in names:
            calls = [call for call in recorder.calls if call.key == key(name)]
            versions = [int(call.version) for call in calls]
            assert [call.kind for call in calls] in (["add"], ["add", "update"])
            assert versions == sorted(set(versions))


def _was_told_all(recorder: Recorder) -> bool:
    last = {call.key for call in recorder.calls if int(call.version) >= FIRST_UPDATE}
    return len(last) == MANY


def test_a_failing_handler_is_counted_and_logged_once_with_the_object(field: Field):
    """FIELD-34: and its registration has synced, though it failed for every initial object."""

    def fail(_: object) -> None:
        raise ValueError("this handler fails on purpose")

    field.pods.on_list(answer_json(listing(*(pod(f"pod-{number}") for number in range(20)))))
    with (
        logged(logging.ERROR) as records,
        pod_informer(field) as informer,
    ):
        registration = informer.add_event_handler(on_add=fail)
        with running(informer):
            assert registration.has_synced_checker().done.wait(30)
            statistics = registration.statistics()

    assert (statistics.delivered, statistics.failed) == (20, 20)
    assert isinstance(statistics.last_error, ValueError)
    assert len(records) == 1
    assert key("pod-0") in records[0].getMessage()


def test_a_backlog_can_be_read_and_warns_at_its_high_water_mark(field: Field):
    """FIELD-36."""
    release = threading.Event()
    told: list[int] = []
    field.pods.on_list(answer_json(listing(*(pod(f"pod-{number}") for number in range(100)))))
    with pod_informer(field) as informer, logged() as records:
        registration = informer.add_event_handler(
            on_add=lambda _: release.wait(),
            high_water=HighWater(60, field.noting(told)),
        )
        with running(informer):
            field.until(lambda: told, "no warning")
            backlog = registration.statistics().backlog
            release.set()
            assert registration.wait_until_idle(60.0)

    assert (backlog, told) == (100, [100])
    assert "100 notifications wait" in records[0].getMessage()
    assert registration.statistics().backlog == 0


def test_a_coalescing_backlog_is_bounded_by_the_number_of_objects(field: Field):
    """FIELD-36: a handler that was asleep is told the sum of what it missed."""
    changes = [modified(pod("a", 11 + number)) for number in range(500)]
    synced, asleep = field.server.gate(), field.server.gate()
    field.pods.on_list(answer_json(listing(pod("a"))))
    first, then = watch_events(changes[0]), watch_events(*changes[1:])
    field.pods.on_watch([*watch_begin(), *synced.hold(), *first, *asleep.hold(), *then])
    release = threading.Event()
    slow: list[tuple[str, str]] = []
    quick: list[Pod] = []
    note_slow, note_quick = field.noting(slow), field.noting(quick)

    def sleep_and_note(old: Pod, new: Pod) -> None:
        note_slow((old.metadata.resource_version, new.metadata.resource_version))
        release.wait()

    with pod_informer(field) as informer:
        registration = informer.add_event_handler(on_update=sleep_and_note, coalesce=True)
        informer.add_event_handler(on_update=lambda _, new: note_quick(new))
        with running(informer):
            assert registration.has_synced_checker().done.wait(30)
            synced.open()
            field.until(lambda: slow, "the first event was not told")
            asleep.open()
            field.until(lambda: len(quick) == len(changes), "the events stopped")
            backlog = registration.statistics().backlog
            release.set()
            assert registration.wait_until_idle(60.0)

    assert backlog == 2
    assert slow == [("1", "11"), ("11", "510")]
