"""Models of the official client, in a program that moves over."""

from __future__ import annotations

import copy
import threading

from kubernetes.client import V1Pod

from clientgo.client import Client
from clientgo.informers import SharedInformerFactory
from clientgo.testing.scripted_server import answer_json
from tests.field.objects import NAMESPACE, PODS, listing, pod
from tests.field.scenario import Field


def test_a_model_of_an_older_release_erases_nothing(field: Field):
    """FIELD-69: an update through V1Pod keeps the fields that V1Pod does not have."""
    newer = pod("a")
    newer["spec"]["brandNew"] = newer["metadata"]["brandNew"] = {"x": None}
    field.pods.on_list(answer_json(listing(newer)))
    field.server.on(f"{PODS}/a", answer_json(newer))
    stop = threading.Event()
    with (
        Client(field.server.url) as client,
        SharedInformerFactory(client, namespace=NAMESPACE) as factory,
    ):
        lister = factory.lister_for(V1Pod).namespace(NAMESPACE)
        factory.start(stop)
        factory.wait_for_cache_sync(stop)
        mine = copy.deepcopy(lister.get("a"))
        mine.spec.containers[0].image = "busybox:2"
        client.update(mine)
    stop.set()

    (sent,) = (request for request in field.server.requests if request.method == "PUT")
    newer["spec"]["containers"][0]["image"] = "busybox:2"
    assert sent.json() == newer


def test_a_model_that_is_changed_does_not_change_the_cache(field: Field):
    """FIELD-70: programs of the official client change what they have read."""
    field.pods.on_list(answer_json(listing(pod("a"))))
    seen: list[V1Pod] = []
    stop = threading.Event()
    with (
        Client(field.server.url) as client,
        SharedInformerFactory(client, namespace=NAMESPACE) as factory,
    ):
        for _ in range(2):
            factory.informer_for(V1Pod).add_event_handler(on_add=field.noting(seen))
        lister = factory.lister_for(V1Pod).namespace(NAMESPACE)
        factory.start(stop)
        field.until(lambda: len(seen) == 2, "a handler was not told")
        for each in (seen[0], lister.get("a")):
            each.spec.containers[0].image = "changed"
        images = [each.spec.containers[0].image for each in (seen[1], lister.get("a"))]
    stop.set()

    assert images == ["busybox", "busybox"]
