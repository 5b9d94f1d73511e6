"""Objects of the `kubernetes` package are written and read like declared ones.

The package is imported by the tests alone; its models are of version 36 and before, or pydantic's.
"""

from __future__ import annotations

import copy
import importlib
import pickle
import pkgutil
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from kubernetes import client as kubernetes

import clientgo.api
from clientgo.api import apps_v1
from clientgo.client import Client, NoMatchError, PatchKind
from clientgo.client.kubernetes_models import ModelCodec
from clientgo.meta import (
    DecodeError,
    NoMetadataError,
    ObjectMeta,
    Undecodable,
    Unstructured,
    resource_of,
    to_plain,
)
from clientgo.rest import RequestError
from clientgo.testing import FakeClient
from clientgo.testing.scripted_server import ScriptedServer, answer_json

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web",
        "namespace": "ns",
        "resourceVersion": "7",
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "newInMetadata": 1,
    },
    "spec": {
        "containers": [{"name": "c", "image": "a", "newInContainer": {"x": None}}],
        "newInSpec": [1],
    },
}


def deployment(name: str = "web", namespace: str | None = "ns") -> Any:
    """As programs write it: without api_version and kind."""
    labels = {"app": name}
    return kubernetes.V1Deployment(
        metadata=kubernetes.V1ObjectMeta(name=name, namespace=namespace),
        spec=kubernetes.V1DeploymentSpec(
            selector=kubernetes.V1LabelSelector(match_labels=labels),
            template=kubernetes.V1PodTemplateSpec(
                metadata=kubernetes.V1ObjectMeta(labels=labels),
                spec=kubernetes.V1PodSpec(containers=[kubernetes.V1Container(name="c", image="a")]),
            ),
        ),
    )


@pytest.mark.parametrize(
    ("model", "api_version", "plural", "namespaced"),
    [
        ("V1Pod", "v1", "pods", True),
        ("V1Node", "v1", "nodes", False),
        ("CoreV1Event", "v1", "events", True),
        ("EventsV1Event", "events.k8s.io/v1", "events", True),
        ("V1Deployment", "apps/v1", "deployments", True),
        ("V1CronJob", "batch/v1", "cronjobs", True),
        ("V2HorizontalPodAutoscaler", "autoscaling/v2", "horizontalpodautoscalers", True),
        ("V1HorizontalPodAutoscaler", "autoscaling/v1", "horizontalpodautoscalers", True),
        ("V1ClusterRole", "rbac.authorization.k8s.io/v1", "clusterroles", False),
        ("V1CustomResourceDefinition", "apiextensions.k8s.io/v1", "customresourcedefinitions", 0),
        ("V1Lease", "coordination.k8s.io/v1", "leases", True),
        ("V1Ingress", "networking.k8s.io/v1", "ingresses", True),
    ],
)
def test_a_model_is_served_where_its_class_says(
    model: str, api_version: str, plural: str, namespaced: bool
) -> None:
    client = FakeClient()

    served = client.resource(getattr(kubernetes, model)).resource

    assert (served.api_version, served.plural, served.namespaced) == (
        api_version,
        plural,
        bool(namespaced),
    )
    assert client.actions() == []


def test_no_kind_that_the_library_declares_has_to_be_asked_for() -> None:
    client, found = FakeClient(), set()
    for module in pkgutil.iter_modules(clientgo.api.__path__, "clientgo.api."):
        for declared in getattr(importlib.import_module(module.name), "RESOURCES", ()):
            served = resource_of(declared)
            name = f"{served.version.upper()}{served.kind}"
            model = getattr(kubernetes, name, None)
            if "kind" in getattr(model, "openapi_types", {}):  # not in each version of the package
                assert client.resource(model).resource == served
                found.add(name)

    assert client.actions() == []
    assert len(found) > 50


def test_a_kind_that_the_library_does_not_know_is_asked_for() -> None:
    class V1beta1Widget:
        attribute_map = {"metadata": "metadata", "kind": "kind", "api_version": "apiVersion"}
        openapi_types = {"metadata": "V1ObjectMeta", "kind": "str", "api_version": "str"}

    with ScriptedServer() as server:
        serve_widgets(server)
        with Client(server.url) as client:
            served = client.resource(V1beta1Widget).resource
            with pytest.raises(NoMatchError, match=r"no kind Gadget in version v1beta1"):
                client.resource(type("V1beta1Gadget", (V1beta1Widget,), {}))

    assert (served.api_version, served.plural) == ("example.com/v1beta1", "widgets")


def serve_widgets(server: ScriptedServer) -> None:
    group_version = {"groupVersion": "example.com/v1beta1", "version": "v1beta1"}
    group = {"name": "example.com", "versions": [group_version], "preferredVersion": group_version}
    widgets = {"name": "widgets", "kind": "Widget", "namespaced": True, "verbs": ["create"]}
    server.on("/api", answer_json({"versions": []}))
    server.on("/apis", answer_json({"kind": "APIGroupList", "groups": [group]}))
    server.on("/apis/example.com/v1beta1", answer_json({"resources": [widgets]}))


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        ("V1PodList", "V1PodList is a list; pass the class of its items"),
        ("V1PodSpec", "V1PodSpec is no API object"),
        ("V1PodTemplateSpec", "V1PodTemplateSpec is no API object"),
        ("V1ObjectMeta", "V1ObjectMeta is no API object"),
        ("VersionInfo", "VersionInfo is no API object"),
    ],
)
def test_a_model_that_is_no_object_is_refused(model: str, problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        FakeClient().resource(getattr(kubernetes, model))


def test_a_model_is_created_and_comes_back_as_a_model() -> None:
    client = FakeClient()

    created = client.create(deployment())

    assert isinstance(created, kubernetes.V1Deployment)
    assert (created.api_version, created.kind) == ("apps/v1", "Deployment")
    stored = client.resource(apps_v1.Deployment).namespace("ns").get("web")
    assert stored.spec.template.spec.containers[0].image == "a"


def test_a_model_is_written_in_every_way() -> None:
    client = FakeClient(field_manager="me")
    read = client.create(deployment())

    read.spec.replicas = 2
    read = client.update(read)
    read = client.patch(read, {"metadata": {"labels": {"a": "b"}}})
    read = client.patch(read, kubernetes.V1Deployment(spec=deployment().spec), PatchKind.STRATEGIC)
    client.apply(deployment(), force=True)
    client.delete(read)

    assert [str(action) for action in client.actions()] == [
        "create deployments ns/web",
        "update deployments ns/web",
        "patch deployments ns/web",
        "patch deployments ns/web",
        "patch deployments ns/web",
        "delete deployments ns/web",
    ]


def test_the_namespace_of_a_call_is_for_objects_that_have_none() -> None:
    client = FakeClient()

    client.create(deployment(namespace=None), namespace="other")
    client.create(deployment(), namespace="other")

    assert [action.namespace for action in client.actions()] == ["other", "ns"]
    with pytest.raises(RequestError, match="needs a namespace"):
        client.create(deployment(namespace=None))


def test_a_dict_is_written_where_it_says_and_comes_back_as_a_dict() -> None:
    client = FakeClient()

    created = client.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ns"}}
    )

    assert type(created) is dict
    assert created["metadata"]["name"] == "a"
    unstructured = client.update(Unstructured.from_dict(created))
    assert isinstance(unstructured, Unstructured)
    declared = client.create(
        apps_v1.ControllerRevision(metadata=ObjectMeta(name="r"), revision=1), namespace="ns"
    )
    assert type(declared) is apps_v1.ControllerRevision


def test_a_dict_of_a_custom_resource_is_found_by_discovery() -> None:
    widget = {
        "apiVersion": "example.com/v1beta1",
        "kind": "Widget",
        "metadata": {"name": "a", "namespace": "ns"},
        "spec": {
            "template": kubernetes.V1PodTemplateSpec(metadata=kubernetes.V1ObjectMeta(name="t"))
        },
    }
    with ScriptedServer() as server:
        serve_widgets(server)
        server.on("/apis/example.com/v1beta1/namespaces/ns/widgets", answer_json(POD))
        with Client(server.url) as client:
            client.create(widget)

        (sent,) = (request for request in server.requests if request.method == "POST")
    assert sent.json()["spec"] == {"template": {"metadata": {"name": "t"}}}


@pytest.mark.parametrize(
    ("obj", "problem"),
    [
        ({"metadata": {"name": "a"}}, "does not say what it is"),
        ({"kind": "Pod", "metadata": {"name": "a"}}, "apiVersion None, kind 'Pod'"),
        ({"apiVersion": "a/b/c", "kind": "K", "metadata": {}}, "apiVersion 'a/b/c' of a K is none"),
        ({"apiVersion": 1, "kind": "K", "metadata": {}}, "apiVersion 1 of a K is none"),
        ({"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": []}, "one by one"),
    ],
)
def test_a_dict_that_does_not_say_what_it_is_is_refused(obj: dict[str, Any], problem: str) -> None:
    with pytest.raises(RequestError, match=problem):
        FakeClient().create(obj)


@pytest.mark.parametrize("value", [3, {}, kubernetes.V1PodSpec(containers=[]), None, "a: b"])
def test_what_is_no_object_is_refused(value: Any) -> None:
    with pytest.raises(NoMetadataError, match="has no object metadata"):
        FakeClient().create(value)


def test_a_time_without_a_time_zone_is_refused() -> None:
    lease = kubernetes.V1Lease(
        metadata=kubernetes.V1ObjectMeta(name="a", namespace="ns"),
        spec=kubernetes.V1LeaseSpec(renew_time=datetime(2026, 1, 2)),
    )
    with pytest.raises(ValueError, match=r"has no time zone.*timezone.utc"):
        FakeClient().create(lease)


def test_a_time_keeps_its_microseconds() -> None:
    time = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
    spec = kubernetes.V1LeaseSpec(renew_time=time, acquire_time=time.replace(microsecond=0))

    assert to_plain(kubernetes.V1Lease(spec=spec))["spec"] == {
        "renewTime": "2026-01-02T03:04:05.000678Z",
        "acquireTime": "2026-01-02T03:04:05Z",
    }


@pytest.fixture
def server() -> Any:
    with ScriptedServer() as server:
        server.on("/api/v1/namespaces/ns/pods/web", answer_json(POD), answer_json(POD))
        yield server


def test_a_model_is_read(server: ScriptedServer) -> None:
    with Client(server.url) as client:
        pod = client.resource(kubernetes.V1Pod).namespace("ns").get("web")

    assert isinstance(pod, kubernetes.V1Pod)
    assert pod.spec.containers[0].image == "a"
    assert pod.metadata.creation_timestamp == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    "copied",
    [lambda pod: pod, copy.copy, copy.deepcopy, lambda pod: pickle.loads(pickle.dumps(pod))],
)
def test_what_a_model_does_not_know_goes_back_to_the_server(
    server: ScriptedServer, copied: Any
) -> None:
    """FIELD-69."""
    with Client(server.url) as client:
        pods = client.resource(kubernetes.V1Pod).namespace("ns")
        pod = copied(pods.get("web"))
        pod.spec.containers[0].image = "b"
        pod.metadata.labels = {"x": "y"}
        pods.update(pod)

    expected: Any = copy.deepcopy(POD)
    expected["spec"]["containers"][0]["image"] = "b"
    expected["metadata"]["labels"] = {"x": "y"}
    assert server.requests[1].json() == expected


def test_a_list_has_models_which_know_their_kind() -> None:
    items = [{key: value for key, value in POD.items() if key not in ("kind", "apiVersion")}]
    page = {"kind": "PodList", "apiVersion": "v1", "metadata": {"continue": "c"}, "items": items}
    with ScriptedServer() as server:
        server.on("/api/v1/pods", answer_json(page))
        with Client(server.url) as client:
            found = client.resource(kubernetes.V1Pod).list()

    assert found.metadata.continue_ == "c"
    assert [(pod.kind, pod.api_version, pod.metadata.name) for pod in found.items] == [
        ("Pod", "v1", "web")
    ]


def test_an_object_that_is_no_model_is_reported_beside_the_others() -> None:
    bad = {"metadata": {"name": "bad"}, "spec": {"containers": "secret-word"}}
    page = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [bad, POD]}
    with ScriptedServer() as server:
        server.on("/api/v1/pods", answer_json(page))
        server.on("/api/v1/namespaces/ns/pods/bad", answer_json(bad))
        with Client(server.url) as client:
            pods = client.resource(kubernetes.V1Pod)
            found = pods.list()
            with pytest.raises(DecodeError) as raised:
                pods.namespace("ns").get("bad")

    assert [pod.metadata.name for pod in found.items] == ["web"]
    assert [item.metadata.name for item in found.undecodable] == ["bad"]
    for text in (found.undecodable[0].reason, str(raised.value)):
        assert text.startswith("V1Pod 'bad' does not fit its declared type: ")
        assert "secret-word" not in text


def test_what_a_subresource_answers_is_of_its_own_kind(server: ScriptedServer) -> None:
    """An eviction that was carried out must not look like one that failed."""
    pod = "/api/v1/namespaces/ns/pods/web"
    done = {"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Success"}
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}}
    server.on(f"{pod}/eviction", answer_json(done, status=201))
    server.on("/apis/apps/v1/namespaces/ns/deployments/web/scale", answer_json(scale))
    eviction = kubernetes.V1Eviction(metadata=kubernetes.V1ObjectMeta(name="web"))
    with Client(server.url) as client:
        pods = client.resource(kubernetes.V1Pod).namespace("ns")
        answer: Any = pods.create(eviction, name="web", subresource="eviction")
        deployments = client.resource(kubernetes.V1Deployment).namespace("ns")
        scaled: Any = deployments.get("web", subresource="scale")

    assert (type(answer), answer["status"]) == (Unstructured, "Success")
    assert (type(scaled), scaled.kind) == (Unstructured, "Scale")


def test_a_watch_has_models_and_bookmarks() -> None:
    bookmark = {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}}
    lines = (
        {"type": "ADDED", "object": POD},
        {"type": "MODIFIED", "object": {**POD, "spec": 1}},
        {"type": "BOOKMARK", "object": bookmark},
    )
    codec = ModelCodec(kubernetes.V1Pod)

    events, error = codec.decode_events([msgspec.json.encode(line) for line in lines])

    assert error is None
    assert [event.type for event in events] == ["ADDED", "MODIFIED", "BOOKMARK"]
    assert [type(event.object) for event in events] == [
        kubernetes.V1Pod,
        Undecodable,
        Unstructured,
    ]
    assert codec.decode_event(msgspec.json.encode(lines[0])) == events[0]
