"""Large objects: their requests do not keep others waiting, and lose no change."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from clientgo.testcluster.server.admission import webhooks
from clientgo.testcluster.server.admission.policies import plugin
from clientgo.testcluster.server.admission.policies.mutating import MutatingPolicy
from clientgo.testcluster.server.admission.policies.validating import ValidatingPolicy
from clientgo.testcluster.server.kinds import definitions
from clientgo.testcluster.server.objects import large_work, preparation, turns, writer
from clientgo.testcluster.server.objects.storing import Target
from clientgo.testcluster.server.objects.writer import ObjectWriter
from clientgo.testcluster.server.requests import verbs, watching
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.storage import StoredObject
from tests.conformance.webhook_server import WebhookServer
from tests.testcluster.server.fuzz.large import LARGE
from tests.testcluster.server.http_api import (
    CONFIGMAPS,
    CRDS,
    MERGE_PATCH,
    WIDGETS,
    Api,
    configmap,
    widget,
    widget_crd,
)

TIMEOUT = 30.0
NAMESPACE_A = "/api/v1/namespaces/a"
CONFIGMAPS_OF_A = f"{NAMESPACE_A}/configmaps"
WIDGETS_V2 = WIDGETS.replace("/v1/", "/v2/")


def large(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": {"text": "x" * 100_000, **data}}


def test_others_are_answered_while_a_large_body_is_read(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, over = threading.Event(), threading.Event()
    read = verbs.decode_object

    def slow(*arguments: Any) -> Any:
        begun.set()
        assert over.wait(TIMEOUT)
        return read(*arguments)

    monkeypatch.setattr(verbs, "decode_object", slow)
    with ThreadPoolExecutor(1) as thread:
        created = thread.submit(api.call, "POST", CONFIGMAPS, large("a"))
        try:
            assert begun.wait(TIMEOUT)
            assert api.call("GET", "/api/v1/namespaces/default").status == 200
            assert not created.done()
        finally:
            over.set()
        assert created.result(TIMEOUT).status == 201


@pytest.mark.parametrize(
    ("path", "render"),
    [(CONFIGMAPS, "list_response"), (f"{CONFIGMAPS}/a", "object_response")],
)
@pytest.mark.parametrize(
    "accepted", ["application/yaml", "application/json;as=Table;g=meta.k8s.io;v=v1"]
)
def test_others_are_answered_while_large_objects_are_shown_in_another_form(
    api: Api, monkeypatch: pytest.MonkeyPatch, path: str, render: str, accepted: str
) -> None:
    api.create(CONFIGMAPS, large("a"))
    begun, over = threading.Event(), threading.Event()
    rendered = getattr(verbs, render)

    def slow(*arguments: Any) -> Any:
        begun.set()
        assert over.wait(TIMEOUT)
        return rendered(*arguments)

    monkeypatch.setattr(verbs, render, slow)
    with ThreadPoolExecutor(1) as thread:
        shown = thread.submit(api.call, "GET", path, headers={"Accept": accepted})
        try:
            assert begun.wait(TIMEOUT)
            assert api.call("GET", "/healthz").status == 200
        finally:
            over.set()
        assert shown.result(TIMEOUT).status == 200


@pytest.mark.parametrize("path", [WIDGETS_V2, f"{WIDGETS_V2}/a"])
def test_others_are_answered_while_large_objects_are_shown_in_another_version(
    api: Api, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """They are pruned, given defaults and encoded again."""
    definition = widget_crd()
    [version] = definition["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    definition["spec"]["versions"] = [version, {**version, "name": "v2", "storage": False}]
    api.create(CRDS, definition)
    body = {**widget("a"), "spec": {"text": "x" * 100_000}}
    while api.call("POST", WIDGETS, body).status == 404:
        pass  # the definition is not established yet
    threads: list[str] = []
    encoded = Resource.encoded

    def recorded(resource: Resource, stored: StoredObject) -> bytes:
        threads.append(threading.current_thread().name)
        return encoded(resource, stored)

    monkeypatch.setattr(Resource, "encoded", recorded)

    assert api.call("GET", path).status == 200
    assert [name.rpartition("_")[0] for name in threads] == ["apiserver-large-objects"]
    assert api.call("GET", WIDGETS).status == 200
    assert not threads[-1].startswith("apiserver-large-objects")  # these bytes are as stored


def test_others_are_answered_between_the_parts_of_a_long_watch(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("x", "y"):
        api.create(CONFIGMAPS, configmap(name))
    happened: list[str] = []
    render = watching.WatchResponse._render

    def observed(stream: watching.WatchResponse, stored: StoredObject) -> bytes:
        happened.append("event")
        asyncio.get_running_loop().call_soon(happened.append, "another request")
        return render(stream, stored)

    monkeypatch.setattr(watching.WatchResponse, "_render", observed)
    monkeypatch.setattr(watching, "_BYTES_A_CHUNK", 1)

    watch = api.watch(CONFIGMAPS)
    assert [watch.next()["object"]["metadata"]["name"] for _ in range(2)] == ["x", "y"]

    watch.close()
    assert happened[:3] == ["event", "another request", "event"]


@pytest.mark.parametrize("deleted", [CONFIGMAPS_OF_A, NAMESPACE_A, f"{CONFIGMAPS}/owner"])
def test_others_are_answered_between_the_deletions_of_many_objects(
    api: Api, monkeypatch: pytest.MonkeyPatch, deleted: str
) -> None:
    api.create("/api/v1/namespaces", {"metadata": {"name": "a"}})
    uid = api.create(CONFIGMAPS, configmap("owner"))["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    for name in ("x", "y"):
        api.create(CONFIGMAPS_OF_A, configmap(name))
        api.create(CONFIGMAPS, configmap(name, ownerReferences=[owner]))
    happened: list[str] = []
    both = threading.Event()
    delete = ObjectWriter.delete

    async def observed(writer: ObjectWriter, target: Target, options: Any) -> Any:
        if target.name in ("x", "y"):
            happened.append("deletion")
            asyncio.get_running_loop().call_soon(happened.append, "another request")
        if happened.count("deletion") == 2:
            both.set()
        return await delete(writer, target, options)

    monkeypatch.setattr(ObjectWriter, "delete", observed)
    monkeypatch.setattr(turns, "ITEMS_A_TURN", 1)

    assert api.call("DELETE", deleted).status == 200
    assert both.wait(TIMEOUT)
    assert happened[:3] == ["deletion", "another request", "deletion"]


def test_the_warnings_of_a_large_definition_are_found_on_the_thread(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []
    find = definitions.unknown_formats

    def recorded(crd: Any) -> list[str]:
        threads.append(threading.current_thread().name)
        return find(crd)

    monkeypatch.setattr(definitions, "unknown_formats", recorded)
    definition = widget_crd()
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["description"] = "x" * large_work.LARGE

    name = api.create(CRDS, definition)["metadata"]["name"]
    patch = {"metadata": {"labels": {"a": "b"}}}
    assert api.call("PATCH", f"{CRDS}/{name}", patch, MERGE_PATCH).status == 200

    assert len(threads) >= 3  # of the new definition, then of both states
    assert all(name.startswith("apiserver-large-objects") for name in threads)


ADMISSION = "/apis/admissionregistration.k8s.io/v1"
CONFIGMAP_WRITES = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["configmaps"],
    "operations": ["CREATE", "UPDATE"],
}


def add_webhook(api: Api, server: WebhookServer) -> None:
    """One that labels every ConfigMap."""
    patch = [{"op": "add", "path": "/metadata/labels", "value": {"by": "webhook"}}]
    encoded = base64.b64encode(json.dumps(patch).encode()).decode()
    server.answers["/a"] = {
        "response": {"allowed": True, "patch": encoded, "patchType": "JSONPatch"}
    }
    bundle = base64.b64encode(server.ca_pem).decode()
    webhook = {
        "name": "a.example.com",
        "clientConfig": {"url": f"{server.url}/a", "caBundle": bundle},
        "rules": [CONFIGMAP_WRITES],
        "matchConditions": [{"name": "c", "expression": "size(object.data) > 0"}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    body = {"metadata": {"name": "a"}, "webhooks": [webhook]}
    api.create(f"{ADMISSION}/mutatingwebhookconfigurations", body)


def add_policies(api: Api) -> None:
    """One that annotates every ConfigMap, and one that looks at every key."""
    change = "Object{metadata: Object.metadata{annotations: {'by': 'policy'}}}"
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": change}}
    rules = {"resourceRules": [CONFIGMAP_WRITES]}
    validation = {"expression": "object.data.all(k, k != '')"}
    for kind, spec, actions in (
        ("mutating", {"mutations": [mutation], "reinvocationPolicy": "Never"}, {}),
        ("validating", {"validations": [validation]}, {"validationActions": ["Deny"]}),
    ):
        policy = {"metadata": {"name": "p"}, "spec": {"matchConstraints": rules, **spec}}
        api.create(f"{ADMISSION}/{kind}admissionpolicies", policy)
        binding = {"metadata": {"name": "p"}, "spec": {"policyName": "p", **actions}}
        api.create(f"{ADMISSION}/{kind}admissionpolicybindings", binding)


def test_what_admission_does_with_a_large_object_does_not_hold_the_event_loop(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of two webhooks held it for a second, with a body of 3 MB."""
    threads: set[tuple[str, str]] = set()

    def record(owner: Any, name: str) -> None:
        function = getattr(owner, name)

        def recorded(*arguments: Any, **options: Any) -> Any:
            threads.add((name, threading.current_thread().name))
            return function(*arguments, **options)

        monkeypatch.setattr(owner, name, recorded)

    for module in (webhooks, plugin, preparation):
        record(module, "read_object")
    record(webhooks.Webhook, "meets_conditions")
    record(webhooks, "apply_json_patch")
    for step in ("is_unchanged", "prepare_update", "count_generation", "check_new"):
        record(writer, step)
    add_policies(api)
    record(ValidatingPolicy, "refusals")
    record(MutatingPolicy, "mutate")
    server = WebhookServer()
    try:
        add_webhook(api, server)
        threads.clear()
        api.create(CONFIGMAPS, large("a"))
        patch = {"data": {"k": "v"}}
        assert api.call("PATCH", f"{CONFIGMAPS}/a", patch, MERGE_PATCH).status == 200
    finally:
        server.close()

    assert {name for name, _ in threads} == {
        *("read_object", "meets_conditions", "apply_json_patch", "refusals", "mutate"),
        *("is_unchanged", "prepare_update", "count_generation", "check_new"),
    }
    assert {thread.rpartition("_")[0] for _, thread in threads} == {"apiserver-large-objects"}


def record_changes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets the name of the thread of each change."""
    threads: list[str] = []
    change = writer._change

    def recorded(*arguments: Any) -> Any:
        threads.append(threading.current_thread().name)
        return change(*arguments)

    monkeypatch.setattr(writer, "_change", recorded)
    return threads


def test_updates_of_a_large_object_wait_for_each_other(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once they were overtaken; then none starts again because of another."""
    monkeypatch.setattr(writer, "_FREE_ATTEMPTS", 0)
    api.create(CONFIGMAPS, large("a"))
    threads = record_changes(monkeypatch)

    def label(number: int) -> int:
        patch = {"metadata": {"labels": {f"k{number}": "v"}}}
        return api.call("PATCH", f"{CONFIGMAPS}/a", patch, MERGE_PATCH).status

    with ThreadPoolExecutor(8) as clients:
        assert set(clients.map(label, range(16))) == {200}

    assert len(threads) == 16
    assert all(name.startswith("apiserver-large-objects") for name in threads)


def test_a_webhook_may_update_the_large_object_that_it_is_asked_about(api: Api) -> None:
    api.create(CONFIGMAPS, large("a"))

    class Updating(WebhookServer):
        def answer(self, path: str, review: dict[str, Any]) -> tuple[int, bytes]:
            if "webhook" not in review["request"]["object"]["data"]:
                api.patch(f"{CONFIGMAPS}/a", {"data": {"webhook": "was here"}})
            return super().answer(path, review)

    server = Updating()
    try:
        add_webhook(api, server)
        api.patch(f"{CONFIGMAPS}/a", {"data": {"client": "was here"}})
    finally:
        server.close()

    data = api.get(f"{CONFIGMAPS}/a")["data"]
    assert (data["webhook"], data["client"]) == ("was here", "was here")


def test_the_server_itself_changes_a_large_object_on_the_thread(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The garbage collector removes a reference to an owner."""
    owner = api.create(CONFIGMAPS, configmap("owner"))
    other = api.create(CONFIGMAPS, configmap("other"))
    references = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": item, "uid": found["metadata"]["uid"]}
        for item, found in (("owner", owner), ("other", other))
    ]
    child = large("child")
    child["metadata"]["ownerReferences"] = references
    version = api.create(CONFIGMAPS, child)["metadata"]["resourceVersion"]
    threads = record_changes(monkeypatch)
    watch = api.watch(CONFIGMAPS, resourceVersion=version)

    api.delete(f"{CONFIGMAPS}/owner")

    assert watch.next()["type"] == "DELETED"
    released = watch.next()["object"]["metadata"]
    watch.close()
    assert [item["name"] for item in released["ownerReferences"]] == ["other"]
    assert [name.rpartition("_")[0] for name in threads] == ["apiserver-large-objects"]


def test_changes_of_a_large_object_at_the_same_time_are_all_kept(api: Api) -> None:
    """The thread has one object at a time, but the change of another may be stored in between."""
    api.create(CONFIGMAPS, large("a"))

    def change(number: int) -> int:
        patch = {"data": {f"k{number}": "v"}}
        return api.call("PATCH", f"{CONFIGMAPS}/a", patch, MERGE_PATCH).status

    with ThreadPoolExecutor(6) as clients:
        assert set(clients.map(change, range(24))) == {200}

    assert api.get(f"{CONFIGMAPS}/a")["data"].keys() == {"text", *(f"k{n}" for n in range(24))}


def test_a_large_object_is_created_once(api: Api) -> None:
    with ThreadPoolExecutor(4) as clients:
        answers = clients.map(lambda _: api.call("POST", CONFIGMAPS, large("a")).status, range(4))

    assert sorted(answers) == [201, 409, 409, 409]


def test_a_large_object_is_not_created_in_a_namespace_that_goes_meanwhile(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.create("/api/v1/namespaces", {"metadata": {"name": "going", "finalizers": ["a/b"]}})
    begun, over = threading.Event(), threading.Event()
    read = verbs.drop_duplicate_owners

    def slow(metadata: Any) -> Any:
        if threading.current_thread().name.startswith("apiserver-large-objects"):
            begun.set()
            assert over.wait(TIMEOUT)
        return read(metadata)

    monkeypatch.setattr(verbs, "drop_duplicate_owners", slow)
    with ThreadPoolExecutor(1) as thread:
        path = "/api/v1/namespaces/going/configmaps"
        created = thread.submit(api.call, "POST", path, large("a"))
        try:
            assert begun.wait(TIMEOUT)
            api.delete("/api/v1/namespaces/going")
        finally:
            over.set()
        assert created.result(TIMEOUT).status == 403


def test_a_selector_of_very_many_requirements_is_refused(api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a"))
    many = ",".join(f"a!={number}" for number in range(1001))

    answer = api.call("GET", CONFIGMAPS, labelSelector=many)

    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
    assert api.call("GET", CONFIGMAPS, labelSelector=many.rpartition(",")[0]).status == 200
    values = f"a notin ({','.join(map(str, range(1001)))}),b"
    assert api.call("GET", CONFIGMAPS, labelSelector=values).status == 200


def test_a_field_selector_of_very_many_requirements_is_refused(api: Api) -> None:
    many = ",".join(f"metadata.name!={number}" for number in range(1001))

    answer = api.call("GET", CONFIGMAPS, fieldSelector=many)

    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
    assert api.call("GET", CONFIGMAPS, fieldSelector=many.rpartition(",")[0]).status == 200


@pytest.mark.parametrize("index", range(10, 19))
def test_garbage_near_the_limit_of_size_is_refused(api: Api, index: int) -> None:
    """JSON, YAML and protobuf."""
    request = LARGE[index]()
    content_type = dict(request.headers).get("Content-Type", "")
    begun = time.monotonic()

    answer = api._pool.request(
        request.method,
        api.url + request.target,
        body=request.body or None,
        headers={"Content-Type": content_type},
        timeout=60,
        retries=False,
    )

    assert 400 <= answer.status < 500, answer.data[:300]
    assert time.monotonic() - begun < 60


def test_patterns_take_linear_time_in_every_item_of_a_list(api: Api) -> None:
    """An engine that goes back in the text would need more than the age of the world."""
    definition = widget_crd()
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    item = {"type": "string", "pattern": "^(a+)+$"}
    matches = {"rule": "!self.exists(x, x.matches('^(a|aa)+$'))"}
    schema["properties"]["spec"] = {
        "type": "object",
        "properties": {
            "list": {
                "type": "array",
                "items": {**item, "maxLength": 20_000},
                "maxItems": 10,
                "x-kubernetes-validations": [matches],
            }
        },
    }
    api.create(CRDS, definition)
    body = {**widget("a"), "spec": {"list": ["a" * 20_000 + "!"] * 10}}
    begun = time.monotonic()

    answer = api.call("POST", WIDGETS, body)
    while answer.status == 404:  # the definition is not established yet
        answer = api.call("POST", WIDGETS, body)

    assert answer.status == 422
    assert time.monotonic() - begun < TIMEOUT
