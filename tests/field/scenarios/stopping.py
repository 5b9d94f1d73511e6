"""Stopping: at once, at any time, from anywhere, quietly; and starting only once."""

from __future__ import annotations

import logging
import threading

from clientgo.testing.scripted_server import answer_json, stay_silent
from tests.field.collection import open_watch
from tests.field.objects import added, key, listing, pod
from tests.field.scenario import Field, logged, scenario
from tests.field.subject import Call, Subject

_INFORMERS = 20
_STARTERS = 4


@scenario("FIELD-05")
def stopping_ends_a_list_that_is_not_answered(field: Field) -> None:
    gate = field.server.gate()
    field.pods.on_list([*gate.hold(), *answer_json(listing(pod("a")))])
    subject, _ = field.watched()
    gate.wait_until_reached()
    field.stops(subject)
    gate.open()
    field.check(not field.pods.watches, "it watched after stop()")


@scenario("FIELD-29")
def stopping_ends_a_watch_that_is_silent(field: Field) -> None:
    field.pods.on_list(answer_json(listing(pod("a"))))
    field.pods.on_watch(open_watch(added(pod("b", 11))))
    subject, recorder = field.watched()
    field.until(lambda: recorder.told(key("b")), "the event never came")
    field.stops(subject)


@scenario("FIELD-29")
def stopping_ends_a_watch_that_is_not_answered(field: Field) -> None:
    field.pods.on_list(answer_json(listing(pod("a"))))
    field.pods.on_watch(stay_silent())
    subject, _ = field.watched()
    field.until(lambda: field.pods.watches, "it never watched")
    field.stops(subject)


@scenario("FIELD-15")
def stopping_is_quiet(field: Field) -> None:
    field.pods.on_list(answer_json(listing(pod("a"))))
    field.pods.on_watch(open_watch(added(pod("b", 11))))
    subject, recorder = field.watched()
    field.until(lambda: recorder.told(key("b")), "the event never came")
    errors = subject.errors()
    with logged(logging.WARNING) as records:
        field.stops(subject)
    field.check(not records, f"it logged {[record.getMessage()[:60] for record in records]}")
    field.check(subject.errors() == errors, "an error was told to handlers")


@scenario("FIELD-16")
def a_handler_may_stop_its_informer(field: Field) -> None:
    informer: list[Subject] = []
    failures: list[BaseException] = []

    def stop(call: Call) -> None:
        try:
            informer[0].stop_in_handler()
        except RuntimeError as error:
            failures.append(error)

    field.pods.on_list(answer_json(listing(pod("a"))))
    subject = field.informer()
    informer.append(subject)
    recorder = field.recorder(stop)
    subject.add_handler(recorder)
    subject.start()
    field.until(lambda: recorder.calls, "the handler was never called")
    field.ends(within=30.0)
    field.check(not failures, f"stop() raised {failures}")


@scenario("FIELD-17")
def starting_at_once_from_several_threads_starts_once(field: Field) -> str:
    field.pods.on_list(answer_json(listing(pod("a"))))
    barrier = threading.Barrier(_STARTERS)

    def start(subject: Subject) -> None:
        barrier.wait()
        subject.start()

    for _ in range(_INFORMERS):
        subject = field.informer()
        starters = [threading.Thread(target=start, args=(subject,)) for _ in range(_STARTERS)]
        for starter in starters:
            starter.start()
        for starter in starters:
            starter.join()
    field.until(lambda: len(field.pods.watches) >= _INFORMERS, "not all watch")
    field.never(lambda: len(field.pods.lists) > _INFORMERS, 0.3, "several loops for one informer")
    return f"{len(field.pods.lists)} lists of {_INFORMERS} informers"
