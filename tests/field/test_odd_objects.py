"""Objects that strict types refuse: what is read of them, what is said, what they cost."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from clientgo.api.core_v1 import Pod
from clientgo.api.events_v1 import Event
from clientgo.api.rbac_v1 import ClusterRole
from clientgo.client import Client
from clientgo.meta import ObjectDecodeError, Resource, resource_of
from clientgo.testing.scripted_server import answer_json
from tests.field.collection import open_watch
from tests.field.informers import running_pod_informer
from tests.field.objects import added, key, keys, listing, pod
from tests.field.scenario import Field, logged


def test_an_object_that_cannot_be_decoded_is_counted_and_reported_once(field: Field):
    """FIELD-13: with its name and the reason, however often the server sends it."""
    bad = pod("bad", labels=["x"])
    field.pods.on_list(answer_json(listing(bad, pod("a"))))
    field.pods.on_watch(open_watch(added(bad), added(bad), added(pod("b", 12))))
    with logged(logging.ERROR) as records, running_pod_informer(field) as informer:
        field.until(lambda: informer.indexer.get_by_key(key("b")), "the cache is stuck")
        quarantined = informer.statistics().quarantined
    (report,) = (record.getMessage() for record in records)

    assert set(informer.indexer.list_keys()) == keys("a", "b")
    assert quarantined == 3
    assert key("bad") in report
    assert "labels" in report


def test_a_body_that_does_not_fit_costs_only_whoever_reads_it(field: Field):
    """FIELD-13: the object is cached, by name and labels; its body raises an error with a name."""
    bad = pod("bad")
    bad["spec"]["nodeName"] = ["x"]
    field.pods.on_list(answer_json(listing(bad, pod("a"))))
    with running_pod_informer(field) as informer:
        field.until(lambda: informer.indexer.get_by_key(key("bad")), "it was not cached")
    cached: Any = informer.indexer.get_by_key(key("bad"))

    with pytest.raises(ObjectDecodeError, match=r"Pod 'default/bad' .*nodeName"):
        _ = cached.spec
    assert cached.to_dict()["spec"]["nodeName"] == ["x"]


def _in_a_list(kind: type[Resource], obj: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": f"{resource_of(kind).kind}List",
        "apiVersion": resource_of(kind).api_version,
        "metadata": {"resourceVersion": "1"},
        "items": [obj],
    }


@pytest.mark.parametrize(
    ("kind", "obj", "read"),
    [
        pytest.param(
            ClusterRole,
            {"metadata": {"name": "a"}, "rules": [{"verbs": None, "resources": ["pods"]}]},
            lambda role: (role.rules[0].verbs, role.rules[0].resources) == ([], ["pods"]),
            id="verbs that are null",
        ),
        pytest.param(
            Event,
            {"metadata": {"name": "a", "namespace": "default"}, "eventTime": None, "reason": "R"},
            lambda event: (event.event_time, event.reason) == (None, "R"),
            id="an event without a time",
        ),
        pytest.param(
            Pod,
            {
                "metadata": {"name": "a", "namespace": "default"},
                "spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": 1}}}]},
            },
            lambda pod: pod.spec.containers[0].resources.limits["cpu"] == 1,
            id="a quantity that is a number",
        ),
    ],
)
def test_what_servers_do_send_is_read(field: Field, kind: Any, obj: dict[str, Any], read: Any):
    """FIELD-13: nulls for what is absent, and numbers for text."""
    field.server.on("*", answer_json(_in_a_list(kind, obj)))
    with Client(field.server.url) as client:
        (item,) = client.resource(kind).list().items

    assert read(item)


def test_an_event_is_decoded_once_and_its_body_only_when_it_is_read(field: Field, monkeypatch):
    """FIELD-24: on its way from the connection to the handler nobody looks at its body."""
    decoded: list[str] = []
    decode_body = Resource._decode_body

    def noting(obj: Resource) -> Any:
        decoded.append(obj.metadata.name)
        return decode_body(obj)

    monkeypatch.setattr(Resource, "_decode_body", noting)
    field.pods.on_list(answer_json(listing(pod("a"))))
    field.pods.on_watch(open_watch(added(pod("b", 11))))
    with running_pod_informer(field) as informer:
        field.until(lambda: informer.indexer.get_by_key(key("b")), "the event never came")
    cached: Any = informer.indexer.get_by_key(key("b"))
    before = list(decoded)

    assert cached.spec.containers[0].name == "main"
    assert cached.spec is cached.spec
    assert (before, decoded) == ([], ["b"])
