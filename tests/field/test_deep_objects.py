"""Objects that are nested too deeply: whoever may create one must not stop the others."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
import pytest
import urllib3

from clientgo.cache import SharedIndexInformer
from clientgo.client import Client, ResourceListWatch
from clientgo.meta import (
    APIResource,
    Model,
    PartialObjectMetadata,
    Resource,
    Unstructured,
    resource,
)
from clientgo.observe.serving import Request
from clientgo.operator.webhooks import AdmissionContext, Webhooks, validate
from clientgo.operator.webhooks.endpoint import CallLimiter
from clientgo.rest import RestConfig
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testing.scripted_server import Script, answer, chunk, send, stay_silent, watch_begin
from tests.field.informers import running, running_pod_informer
from tests.field.objects import NAMESPACE, bookmark, deleted, key, keys, listing, modified, pod
from tests.field.scenario import Field, logged
from tests.testcluster.server.http_api import CRDS, Api
from tests.too_deep import TOO_DEEP

pytestmark = pytest.mark.small_stack

JSON = {"Content-Type": "application/json"}
LEVELS = (TOO_DEEP, 100_000)
SHAPES = {"objects": (b'{"a":', b"}"), "arrays": (b"[", b"]"), "mixed": (b'[{"b":', b',"c":1}]')}


def deep(what: Any, levels: int, shape: str = "objects") -> bytes:
    """JSON in which the text "DEEP" is a value of so many levels."""
    start, end = SHAPES[shape]
    steps = levels // (1 + (shape == "mixed"))
    return msgspec.json.encode(what).replace(b'"DEEP"', start * steps + b"1" + end * steps)


def watch(*lines: bytes) -> Script:
    return [*watch_begin(), *send(*(chunk(line + b"\n") for line in lines)), *stay_silent()]


@pytest.mark.parametrize(
    ("place", "shape", "levels"),
    [
        ("spec", "objects", TOO_DEEP),
        ("spec", "arrays", TOO_DEEP),
        ("spec", "mixed", TOO_DEEP),
        ("stuff", "objects", TOO_DEEP),
        ("metadata", "objects", TOO_DEEP),
        ("spec", "objects", 100_000),
    ],
)
def test_a_deep_object_in_a_list_is_left_out_and_reported_once(
    field: Field, place: str, shape: str, levels: int
):
    """FIELD-43: also if the server sends it again; it stopped the informer for all objects."""
    bad = pod("bad", 5)
    bad[place] = {**bad.get(place, {}), "any": "DEEP"}
    field.pods.on_list(answer(body=deep(listing(pod("a"), bad), levels, shape)))
    again = deep(modified(bad), levels, shape)
    field.pods.on_watch(watch(again, again, msgspec.json.encode(modified(pod("b", 12)))))
    with logged(logging.ERROR) as records, running_pod_informer(field) as informer:
        field.until(lambda: informer.indexer.get_by_key(key("b")), "the cache is stuck")
        quarantined = informer.statistics().quarantined
    (report,) = (record.getMessage() for record in records)

    assert set(informer.indexer.list_keys()) == keys("a", "b")
    assert quarantined == 3
    assert key("bad") in report
    assert "nested too deeply" in report


@pytest.mark.parametrize("levels", LEVELS)
def test_a_streamed_list_goes_on_after_a_deep_object(field: Field, levels: int):
    """FIELD-43"""
    bad = pod("bad", 5) | {"stuff": "DEEP"}
    end = bookmark(10, **{"k8s.io/initial-events-end": "true"})
    events = [{"type": "ADDED", "object": obj} for obj in (pod("a"), bad, pod("b"))]
    field.pods.on_stream(watch(*(deep(event, levels) for event in (*events, end))))
    with running_pod_informer(field) as informer:
        field.until(lambda: informer.indexer.get_by_key(key("b")), "the cache is stuck")

    assert set(informer.indexer.list_keys()) == keys("a", "b")
    assert informer.statistics().quarantined == 1


def test_a_deep_object_comes_back_and_goes_as_any_other(field: Field):
    """FIELD-43: a change to a sane form is cached; a deletion needs the name only."""
    bad = pod("bad", 5) | {"stuff": "DEEP"}
    other = pod("other", 6)
    field.pods.on_list(answer(body=deep(listing(bad, other), TOO_DEEP)))
    field.pods.on_watch(
        watch(
            deep(modified(pod("bad", 11)), TOO_DEEP),
            deep(deleted(other | {"stuff": "DEEP"}), TOO_DEEP),
            deep(modified(pod("last", 13)), TOO_DEEP),
        )
    )
    with running_pod_informer(field) as informer:
        field.until(lambda: informer.indexer.get_by_key(key("last")), "the cache is stuck")

    assert set(informer.indexer.list_keys()) == keys("bad", "last")


class AnySpec(Model):
    any: Any = None


@resource(group="example.com", version="v1", plural="frees")
class Free(Resource):
    spec: AnySpec = AnySpec()


FREES = APIResource(group="example.com", version="v1", kind="Free", plural="frees")


@validate(Free)
def allow(obj: Free, old: Free | None, ctx: AdmissionContext) -> None:
    pass


@pytest.mark.parametrize("levels", [500, 9990])
def test_a_webhook_refuses_what_its_handler_could_not_read(levels: int):
    """FIELD-44: on Python 3.13 no decoder gave up at 5,000 levels, and the review was allowed."""
    webhooks = Webhooks()
    webhooks.register(allow)
    [endpoint] = webhooks.endpoints(CallLimiter()).values()
    review = {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {"uid": "u-1", "operation": "CREATE", "object": {"spec": "DEEP"}},
    }
    headers = {"content-type": "application/json"}

    answered = endpoint(Request("/", headers=headers, method="POST", body=deep(review, levels)))

    verdict = msgspec.json.decode(answered.body)["response"]
    assert (verdict["uid"], verdict["allowed"], verdict["status"]["code"]) == ("u-1", False, 400)


DEFINITION = {
    "metadata": {"name": "frees.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "frees", "kind": "Free"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


class _Frees:
    """The Frees of a server, as they are written; an ordinary client cannot write a deep one."""

    path = f"/apis/example.com/v1/namespaces/{NAMESPACE}/frees"

    def __init__(self, server: EmbeddedAPIServer) -> None:
        self._api = Api(server.url)
        watch = self._api.watch(CRDS)
        self._api.create(CRDS, DEFINITION)
        any(_is_established(event["object"]) for event in watch)
        watch.close()

    def create(self, name: str, levels: int) -> None:
        head = {"apiVersion": "example.com/v1", "kind": "Free", "metadata": {"name": name}}
        body = deep(head | {"spec": {"any": "DEEP"}}, levels - 2)
        answer = urllib3.request("POST", self._api.url + self.path, body=body, headers=JSON)
        assert answer.status == 201, answer.data[:300]

    def make_sane(self, name: str) -> None:
        self._api.patch(f"{self.path}/{name}", {"spec": {"any": 2}})

    def delete(self, name: str) -> None:
        url = f"{self._api.url}{self.path}/{name}"
        assert urllib3.request("DELETE", url).status == 200


def _is_established(definition: Any) -> bool:
    conditions = definition["status"].get("conditions") or ()
    return any((item["type"], item["status"]) == ("Established", "True") for item in conditions)


@pytest.mark.parametrize("levels", [990, 9998])
@pytest.mark.parametrize("kind", ["typed", "unstructured", "metadata"])
def test_an_object_of_10000_levels_stops_no_informer(field: Field, kind: str, levels: int):
    """FIELD-45: a server takes it. The others are cached, whatever becomes of it."""
    with EmbeddedAPIServer() as server, Client(RestConfig(server=server.url, qps=-1)) as client:
        frees = _Frees(server)
        frees.create("a", 3)
        frees.create("deep", levels)
        clients: dict[str, Any] = {
            "typed": (client.resource(Free), Free),
            "unstructured": (client.resource(FREES), Unstructured),
            "metadata": (client.metadata(FREES), PartialObjectMetadata),
        }
        resources, type_ = clients[kind]
        informer = SharedIndexInformer(ResourceListWatch(resources, NAMESPACE), type_)
        informer.add_event_handler(
            on_add=field.notify, on_update=field.notify, on_delete=field.notify
        )
        has = lambda name: informer.indexer.get_by_key(key(name)) is not None  # noqa: E731
        with running(informer):
            field.until(lambda: has("a"), "the list did not come")
            frees.create("b", levels)
            frees.create("c", 3)
            field.until(lambda: has("c"), "the watch did not go on")
            frees.make_sane("deep")
            field.until(lambda: has("deep"), "a sane form did not come back")
            frees.delete("b")
            frees.delete("deep")
            field.until(lambda: not has("deep") and not has("b"), "it was not deleted")
            quarantined = informer.statistics().quarantined

    assert set(informer.indexer.list_keys()) == keys("a", "c")
    if kind == "metadata" or levels < 900:
        assert not quarantined
