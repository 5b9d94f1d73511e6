"""Parts of objects that have requests of their own: evictions, tokens, bindings, scales."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clientgo.api.apps_v1 import Deployment
from clientgo.api.core_v1 import ConfigMap, Node, Pod, ServiceAccount
from clientgo.api.policy_v1 import PodDisruptionBudget
from clientgo.meta import NotFoundError, ObjectMeta, Unstructured
from clientgo.meta.errors import TooManyRequestsError
from clientgo.operator.client import LiveClient
from clientgo.operator.errors import OperatorError
from tests.operator.test_create_or_update import deployment, described
from tests.operator.test_selected_writes import lagging
from tests.operator.world import World, gadget

EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction"}
TOKEN = {
    "apiVersion": "authentication.k8s.io/v1",
    "kind": "TokenRequest",
    "spec": {"audiences": ["a"], "expirationSeconds": 600},
}


def pod(name: str = "a", **spec: Any) -> Unstructured:
    plain = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "spec": {"containers": [{"name": "c", "image": "i"}], **spec},
    }
    return Unstructured.from_dict(plain)


@pytest.fixture
def live(world: World) -> LiveClient:
    return world.manager.live


def test_a_pod_is_evicted(live: LiveClient) -> None:
    """OP-CLI-14: the answer is what the server says, a Status."""
    live.create(pod())
    found = live.get(Pod, "a", "default")
    answer = live.subresource("eviction").create(found, EVICTION)
    assert (answer.kind, answer["status"]) == ("Status", "Success")
    assert live.find(Pod, "a", "default") is None


def test_an_eviction_that_a_budget_does_not_allow_is_refused(
    live: LiveClient, world: World
) -> None:
    """OP-CLI-14: immediately; when to try again is for the caller to say."""
    live.create(pod())
    budget = described(
        "policy/v1", "PodDisruptionBudget", spec={"selector": {"matchLabels": {"app": "a"}}}
    )
    live.create(budget)
    found = live.get(Pod, "a", "default")
    running = live.status.patch(found, {"status": {"phase": "Running"}})
    assert live.get(PodDisruptionBudget, "a", "default").metadata.uid
    world.asked.clear()
    with pytest.raises(TooManyRequestsError):
        live.subresource("eviction").create(running, EVICTION)
    assert len(world.asked.writes()) == 1
    assert live.find(Pod, "a", "default") is not None


def test_a_token_is_requested(live: LiveClient) -> None:
    """OP-CLI-14"""
    account = live.create(ServiceAccount(metadata=ObjectMeta(name="sa", namespace="default")))
    for body in (TOKEN, Unstructured.from_dict({**TOKEN, "metadata": {"name": "sa"}})):
        answer = live.subresource("token").create(account, body)
        assert (answer.kind, answer["status"]["token"] != "") == ("TokenRequest", True)


def test_a_pod_is_bound_to_a_node(live: LiveClient) -> None:
    """OP-CLI-14"""
    live.create(Node(metadata=ObjectMeta(name="n")))
    live.create(pod())
    target = {"apiVersion": "v1", "kind": "Node", "name": "n"}
    binding = {"apiVersion": "v1", "kind": "Binding", "target": target}
    live.subresource("binding").create(live.get(Pod, "a", "default"), binding)
    assert live.get(Pod, "a", "default").spec.node_name == "n"


def test_a_scale_is_read_and_changed(live: LiveClient) -> None:
    """OP-CLI-14: it is an object of its own kind."""
    live.create(deployment({}))
    found = live.get(Deployment, "a", "default")
    scale = live.subresource("scale").get(found)
    assert (scale.kind, scale["spec"]["replicas"]) == ("Scale", 1)
    live.subresource("scale").patch(found, {"spec": {"replicas": 3}})
    assert live.subresource("scale").get(found)["spec"]["replicas"] == 3


def test_a_dry_run_evicts_nothing(live: LiveClient) -> None:
    """OP-CLI-14"""
    live.create(pod())
    found = live.get(Pod, "a", "default")
    live.dry_run().subresource("eviction").create(found, EVICTION)
    assert live.find(Pod, "a", "default") is not None


def test_what_is_created_under_an_object_is_guarded_and_intercepted(
    live: LiveClient, world: World
) -> None:
    """OP-CLI-14: as other writes, with the body; reads with the kind."""
    found = live.create(pod())
    calls: list[tuple[str, Any]] = []

    def refuse() -> None:
        raise OperatorError("this process does not lead")

    world.asked.clear()
    with pytest.raises(OperatorError, match="does not lead"):
        live.guarded(refuse).subresource("eviction").create(found, EVICTION)
    assert world.asked.actions() == []
    client = live.intercepted(lambda verb, subject: calls.append((verb, subject)))
    client.subresource("eviction").create(live.get(Pod, "a", "default"), EVICTION)
    live.create(deployment({}))
    client.subresource("scale").get(live.get(Deployment, "a", "default"))
    (verb, body), read = calls
    assert (verb, body.kind) == ("create", "Eviction")
    assert read == ("get", Deployment)


def test_a_subresource_is_in_the_namespace_of_its_client(live: LiveClient) -> None:
    """OP-CLI-14, OP-CLI-09"""
    live.create(pod())
    found = live.get(Pod, "a", "default")
    with pytest.raises(OperatorError, match="this client is for namespace 'other'"):
        live.namespaced("other").subresource("eviction").create(found, EVICTION)


def test_a_subresource_that_is_not_served_is_told_from_an_object_that_is_not_there(
    live: LiveClient, world: World
) -> None:
    """OP-CLI-14"""
    world.create(gadget())
    with pytest.raises(OperatorError, match="has no subresource 'eviction'"):
        live.subresource("eviction").create(world.get(type(gadget())), EVICTION)
    with pytest.raises(NotFoundError):
        live.subresource("eviction").create(pod("b"), EVICTION)


def test_what_a_subresource_answers_is_remembered_if_it_is_the_object(
    make_world: Callable[..., World],
) -> None:
    """OP-CLI-14, OP-CLI-06: a Scale has the version of its Deployment, and is none."""
    world = make_world()
    world.client.resource(Pod).create(pod())
    world.client.resource(Deployment).create(deployment({}))
    with lagging(world, Deployment, Pod) as client:
        found = client.get(Deployment, "a", "default")
        client.subresource("scale").patch(found, {"spec": {"replicas": 3}})
        assert client.get(Deployment, "a", "default").to_dict()["kind"] == "Deployment"
        debug = {"spec": {"ephemeralContainers": [{"name": "debug", "image": "i"}]}}
        client.subresource("ephemeralcontainers").patch(client.get(Pod, "a", "default"), debug)
        containers = client.get(Pod, "a", "default").spec.ephemeral_containers
        assert [container.name for container in containers or ()] == ["debug"]


def test_an_object_that_was_written_untyped_is_read_as_the_cache_has_it(
    world: World,
) -> None:
    """OP-CLI-06: and the other way round; one of another version is left to the watch."""
    config_map = described("v1", "ConfigMap", data={"a": "b"})
    with lagging(world, ConfigMap) as client:
        client.create(config_map)
        assert client.get(ConfigMap, "a", "default").data == {"a": "b"}
