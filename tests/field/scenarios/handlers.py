"""Handlers: they are told everything in their own time, and can hurt only themselves."""

from __future__ import annotations

import threading
from typing import Any

from clientgo.testing.scripted_server import answer_json
from tests.field.collection import open_watch
from tests.field.objects import added, key, keys, listing, pod
from tests.field.scenario import Field, scenario
from tests.field.subject import Call

_NAMES = ("a", "b", "c", "d", "e")


@scenario("FIELD-07")
def an_empty_cache_differs_from_one_not_filled(field: Field) -> None:
    gate = field.server.gate()
    field.pods.on_list([*gate.hold(), *answer_json(listing())])
    subject, _ = field.watched()
    gate.wait_until_reached()
    field.check(not subject.has_synced(timeout=0.0), "it says that it has synced, before the list")
    gate.open()
    field.check(subject.has_synced(timeout=30), "it does not say that it has synced")


@scenario("FIELD-08")
def a_slow_handler_holds_up_neither_the_cache_nor_others(field: Field) -> None:
    release = threading.Event()
    field.pods.on_watch(open_watch(*(added(pod(name, 11 + i)) for i, name in enumerate(_NAMES))))
    subject = field.informer()
    quick, slow = field.recorder(), field.recorder(lambda _: release.wait())
    subject.add_handler(slow)
    subject.add_handler(quick)
    subject.start()
    try:
        field.until(lambda: slow.calls, "the slow handler was never called")
        field.until(
            lambda: len(quick.calls) == len(_NAMES),
            lambda: f"cache {sorted(subject.keys())}, {len(quick.calls)} calls of the other",
            within=30.0,
        )
        field.check(subject.keys() == keys(*_NAMES), f"cache: {sorted(subject.keys())}")
        field.check(len(slow.calls) == 1, "the slow handler was called again meanwhile")
    finally:
        release.set()


@scenario("FIELD-09")
def a_handler_that_joins_late_is_told_what_is_there(field: Field) -> None:
    gate = field.server.gate()
    field.pods.on_list(answer_json(listing(pod("a"), pod("b"))))
    then = open_watch(added(pod("c", 11)))
    field.pods.on_watch([*gate.hold(), *then])
    subject, first = field.watched()
    field.until(lambda: len(first.calls) == 2, "the list was not told")
    late = field.recorder()
    subject.add_handler(late)
    gate.open()
    field.until(lambda: late.told(key("c")) == ["add"], "the late handler is told nothing")
    told = sorted(call.key for call in late.calls)
    field.check(told == sorted(keys("a", "b", "c")), f"the late handler was told {told}")


@scenario("FIELD-34")
def a_handler_that_raises_is_told_of_the_next_object(field: Field) -> None:
    field.pods.on_list(answer_json(listing(pod("a"), pod("b"))))
    subject, recorder = field.informer(), field.recorder(_fail_for_a)
    subject.add_handler(recorder)
    subject.start()
    field.until(lambda: recorder.told(key("b")) == ["add"], "it was told nothing more")


@scenario("FIELD-34")
def a_handler_that_raises_still_syncs(field: Field) -> None:
    field.pods.on_list(answer_json(listing(pod("a"), pod("b"))))
    subject = field.informer()
    registration = subject.add_handler(field.recorder(_fail_for_a))
    subject.start()
    field.check(subject.handler_has_synced(registration, timeout=30), "it never syncs")


@scenario("FIELD-35")
def a_handler_may_remove_itself(field: Field) -> None:
    gate = field.server.gate()
    field.pods.on_list(answer_json(listing(pod("a"))))
    then = open_watch(added(pod("b", 11)))
    field.pods.on_watch([*gate.hold(), *then])
    subject = field.informer()
    registrations: list[Any] = []
    leaving = field.recorder(lambda _: subject.remove_handler(registrations[0]))
    staying = field.recorder()
    registrations.append(subject.add_handler(leaving))
    subject.add_handler(staying)
    subject.start()
    field.until(lambda: leaving.calls and staying.calls, "the list was not told")
    gate.open()
    field.until(lambda: staying.told(key("b")), "the other handler is told nothing more")
    field.stops(subject)
    field.check(len(leaving.calls) == 1, "it was called after it had removed itself")


def _fail_for_a(call: Call) -> None:
    if call.key == key("a"):
        raise ValueError("this handler fails on purpose")
