"""Stopping before the start, at every moment between, from several threads; starting once."""

from __future__ import annotations

import itertools
import threading

import pytest

from clientgo.api.core_v1 import Pod
from clientgo.client import Client
from clientgo.informers import SharedInformerFactory
from clientgo.testing.scripted_server import answer_json
from tests.field.collection import open_watch, short_watch
from tests.field.informers import pod_informer
from tests.field.objects import NAMESPACE, added, listing, pod
from tests.field.scenario import Field, logged


def test_a_stop_before_the_start_is_not_forgotten(field: Field):
    """FIELD-05: not one request is made."""
    stop = threading.Event()
    stop.set()
    with pod_informer(field) as informer:
        informer.run(stop)

    assert field.server.requests == []
    assert informer.is_stopped()


@pytest.mark.parametrize("moment", range(12))
def test_it_can_be_stopped_at_any_moment_by_several_threads(field: Field, moment: int):
    """FIELD-23: what the loop and the stop share has one owner; here they meet at a request."""
    versions = itertools.count(11)
    field.pods.on_list(answer_json(listing(pod("a"))))
    field.pods.on_watch(lambda _: short_watch(added(pod("b", next(versions)))))
    with logged() as records:
        subject, _ = field.watched()
        field.until(lambda: field.pods.requests >= moment, "it does not go on")
        stoppers = [threading.Thread(target=subject.stop) for _ in range(3)]
        for stopper in stoppers:
            stopper.start()
        for stopper in stoppers:
            stopper.join(30)

    field.ends()
    assert records == []


def test_a_factory_started_by_several_threads_starts_each_informer_once(field: Field):
    """FIELD-17."""
    field.pods.on_list(answer_json(listing(pod("a"))))
    stop = threading.Event()
    with (
        Client(field.server.url) as client,
        SharedInformerFactory(client, namespace=NAMESPACE) as factory,
    ):
        factory.informer_for(Pod)
        starters = [threading.Thread(target=factory.start, args=(stop,)) for _ in range(4)]
        for starter in starters:
            starter.start()
        for starter in starters:
            starter.join()
        factory.wait_for_cache_sync(stop)
        field.until(lambda: field.pods.watches, "it never watched")
    stop.set()

    assert len(field.pods.lists) == 1
    assert len(field.pods.watches) == 1


def test_handlers_may_be_removed_while_the_informer_stops(field: Field):
    """FIELD-35: from any thread, as often as liked."""
    field.pods.on_list(answer_json(listing(*(pod(f"pod-{n}") for n in range(50)))))
    field.pods.on_watch(open_watch())
    for _ in range(10):
        subject = field.informer()
        recorders = [field.recorder() for _ in range(4)]
        registrations = [subject.add_handler(recorder) for recorder in recorders]
        subject.start()
        field.until(lambda recorders=recorders: recorders[0].count, "the list was not told")
        removers = [
            threading.Thread(target=subject.remove_handler, args=(registration,), daemon=True)
            for registration in registrations
        ]
        for remover in removers:
            remover.start()
        field.stops(subject)
        for remover in removers:
            remover.join(30)
            assert not remover.is_alive()
