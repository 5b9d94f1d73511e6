"""``create_or_update`` and what the API server stores in its own form, hides, or shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clientgo.api.apps_v1 import Deployment
from clientgo.api.core_v1 import ConfigMap, ResourceRequirements, Secret, Service
from clientgo.meta import Codec, ObjectMeta, Unstructured, encode_plain
from clientgo.operator import CacheScope
from clientgo.operator.client import CachedClient, Change, LiveClient, set_controller_reference
from clientgo.operator.errors import AlreadyOwnedError
from tests.operator.test_cache import reading
from tests.operator.test_selected_writes import lagging, secret
from tests.operator.world import Gadget, Part, World, gadget, part


@pytest.fixture
def live(world: World) -> LiveClient:
    return world.manager.live


def described(api_version: str, kind: str, **body: Any) -> Unstructured:
    metadata = {"name": "a", "namespace": "default"}
    plain = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}
    return Unstructured.from_dict(plain)


def deployment(container: dict[str, Any], **spec: Any) -> Unstructured:
    labels = {"app": "a"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "i", **container}], **spec},
    }
    body = {"selector": {"matchLabels": labels}, "template": template}
    return described("apps/v1", "Deployment", spec=body)


def container(**change: Any) -> dict[str, Any]:
    """A patch of the container of a deployment."""
    return {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i", **change}]}}}}


FORMS: dict[str, tuple[Unstructured, dict[str, Any]]] = {
    "an empty text": (
        deployment({"env": [{"name": "A", "value": ""}]}),
        container(env=[{"name": "A", "value": "x"}]),
    ),
    "a quantity that is a number": (
        deployment({"resources": {"limits": {"cpu": 1}}}),
        container(resources={"limits": {"cpu": "2"}}),
    ),
    "a quantity in other units": (
        deployment({"resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}}}),
        container(resources={"requests": {"cpu": "1", "memory": "2Gi"}}),
    ),
    "a fraction": (
        deployment({"resources": {"limits": {"cpu": 0.5}}}),
        container(resources={"limits": {"cpu": "1"}}),
    ),
    "a false that is left out": (
        deployment({"tty": False}, hostNetwork=False),
        {"spec": {"template": {"spec": {"hostNetwork": True}}}},
    ),
    "a zero that is left out": (
        described("v1", "Service", spec={"ports": [{"port": 80}], "externalName": ""}),
        {"spec": {"externalName": "x.y"}},
    ),
    "a port without its protocol": (
        described("v1", "Service", spec={"ports": [{"port": 80}]}),
        {"spec": {"ports": [{"port": 81}]}},
    ),
    "text of a Secret": (
        described("v1", "Secret", stringData={"a": "b"}),
        {"data": {"a": "eA=="}},
    ),
    "a time in another zone": (
        described(
            "coordination.k8s.io/v1",
            "Lease",
            spec={"renewTime": "2026-01-01T01:00:00.000000+01:00"},
        ),
        {"spec": {"renewTime": "2027-01-01T00:00:00.000000Z"}},
    ),
    "a field that is not known": (
        described("v1", "ConfigMap", data={"a": "b"}, unknown="x"),
        {"data": {"a": "c"}},
    ),
    "a null": (
        described("v1", "ConfigMap", data={"a": "b"}, immutable=None),
        {"data": {"a": "c"}},
    ),
}
DESIRED = {name: desired for name, (desired, _) in FORMS.items()}


@pytest.mark.parametrize("desired", DESIRED.values(), ids=DESIRED.keys())
def test_what_the_server_stores_in_its_own_form_is_written_once(
    live: LiveClient, world: World, desired: Unstructured
) -> None:
    """OP-CLI-08"""
    assert live.create_or_update(desired)[1] is Change.CREATED
    world.asked.clear()
    assert live.create_or_update(desired)[1] is Change.UNCHANGED
    assert world.asked.writes() == []


@pytest.mark.parametrize("desired", DESIRED.values(), ids=DESIRED.keys())
def test_after_a_restart_it_is_written_once_more_and_nothing_changes(
    live: LiveClient, world: World, desired: Unstructured
) -> None:
    """OP-CLI-08: the answer has the version that was there."""
    live.create_or_update(desired)
    other = LiveClient(live.base, live._cache)
    changes = [other.create_or_update(desired)[1] for _ in range(2)]
    world.asked.clear()
    assert other.create_or_update(desired)[1] is Change.UNCHANGED
    assert (changes, world.asked.writes()) == ([Change.UNCHANGED] * 2, [])


@pytest.mark.parametrize(("desired", "change"), FORMS.values(), ids=FORMS.keys())
def test_what_another_client_changes_is_brought_back(
    live: LiveClient, desired: Unstructured, change: dict[str, Any]
) -> None:
    """OP-CLI-08: only the form in which it was stored counts as equal."""
    stored, _ = live.create_or_update(desired)
    live.patch(stored, change)
    assert live.create_or_update(desired)[1] is Change.UPDATED
    assert live.create_or_update(desired)[1] is Change.UNCHANGED


def test_a_mutation_that_comes_to_nothing_is_sent_once(live: LiveClient, world: World) -> None:
    """OP-CLI-08: not the same one after another change, nor one that undoes what others did."""
    wanted, _ = live.create_or_update(
        Codec(Deployment).decode(encode_plain(deployment({}).to_dict()))
    )

    def mutate(obj: Deployment) -> None:
        limits = ResourceRequirements(limits={"cpu": "1000m"})
        obj.spec.template.spec.containers[0].resources = limits

    assert live.create_or_update(wanted, mutate)[1] is Change.UPDATED
    world.asked.clear()
    assert live.create_or_update(wanted, mutate)[1] is Change.UNCHANGED
    assert world.asked.writes() == []
    live.patch(wanted, container(resources={"limits": {"cpu": "2"}}))
    assert live.create_or_update(wanted, mutate)[1] is Change.UPDATED


def test_a_value_with_which_a_mutation_creates_is_not_sent_again(
    live: LiveClient, world: World
) -> None:
    """OP-CLI-08: though the server has not stored it so."""

    def mutate(obj: Service) -> None:
        obj.spec.external_name = ""

    service = described("v1", "Service", spec={"ports": [{"port": 80}]})
    wanted = Codec(Service).decode(encode_plain(service.to_dict()))
    assert live.create_or_update(wanted, mutate)[1] is Change.CREATED
    world.asked.clear()
    assert live.create_or_update(wanted, mutate)[1] is Change.UNCHANGED
    assert world.asked.writes() == []


def test_a_mutation_that_counts_is_sent_each_time(live: LiveClient) -> None:
    """OP-CLI-08"""
    live.create_or_update(gadget())

    def grow(obj: Gadget) -> None:
        obj.spec.size += 1

    sizes = [live.create_or_update(gadget(), grow)[0].spec.size for _ in range(3)]
    assert sizes == [2, 3, 4]


def test_a_mutation_may_give_text_to_a_secret(live: LiveClient, world: World) -> None:
    """OP-CLI-08"""
    live.create_or_update(secret("a", "Opaque"))

    def mutate(obj: Secret) -> None:
        obj.string_data = {"tls.crt": "new"}

    assert live.create_or_update(secret("a", "Opaque"), mutate)[1] is Change.UPDATED
    world.asked.clear()
    assert live.create_or_update(secret("a", "Opaque"), mutate)[1] is Change.UNCHANGED
    assert world.asked.writes() == []


def test_a_removal_that_the_server_undoes_is_sent_once(live: LiveClient, world: World) -> None:
    """OP-CLI-08: and again when another client has set the field."""
    service = described("v1", "Service", spec={"ports": [{"port": 80}]})
    live.create_or_update(service)

    def mutate(obj: Service) -> None:
        obj.spec.session_affinity = None

    wanted = Service(metadata=ObjectMeta(name="a", namespace="default"))
    assert {live.create_or_update(wanted, mutate)[1] for _ in range(2)} == {Change.UNCHANGED}
    world.asked.clear()
    live.create_or_update(wanted, mutate)
    assert world.asked.writes() == []
    live.patch(live.get(Service, "a", "default"), {"spec": {"sessionAffinity": "ClientIP"}})
    assert live.create_or_update(wanted, mutate)[1] is Change.UPDATED


def test_a_dry_run_changes_nothing_and_is_not_remembered(live: LiveClient) -> None:
    """OP-CLI-08"""
    desired = DESIRED["an empty text"]
    assert live.dry_run().create_or_update(desired)[1] is Change.CREATED
    live.create_or_update(deployment({}))
    assert live.dry_run().create_or_update(desired)[1] is Change.UPDATED
    assert live.create_or_update(desired)[1] is Change.UPDATED


def test_what_was_tried_on_the_server_is_not_tried_again(live: LiveClient, world: World) -> None:
    """OP-CLI-08, BP-29"""

    def replace(obj: Service) -> None:
        obj.spec.session_affinity = None

    live.create_or_update(described("v1", "Service", spec={"ports": [{"port": 80}]}))
    wanted = Service(metadata=ObjectMeta(name="a", namespace="default"))
    live.create_or_update(wanted, replace, ask_server=True)
    world.asked.clear()
    assert live.create_or_update(wanted, replace, ask_server=True)[1] is Change.UNCHANGED
    assert world.asked.writes() == []


def test_a_client_for_a_namespace_knows_its_own_writes(live: LiveClient, world: World) -> None:
    """OP-CLI-08, OP-CLI-09: the object does not say its namespace."""
    plain = {**DESIRED["an empty text"].to_dict(), "metadata": {"name": "a"}}
    client = live.namespaced("default")
    client.create_or_update(Unstructured.from_dict(plain))
    world.asked.clear()
    assert client.create_or_update(Unstructured.from_dict(plain))[1] is Change.UNCHANGED
    assert world.asked.writes() == []


# Whose it is


def test_owners_and_finalizers_of_others_stay(live: LiveClient, world: World) -> None:
    """OP-CLI-08, OP-OWN-04"""
    world.create(gadget("one"), gadget("two"))
    one, two = (world.get(Gadget, name) for name in ("one", "two"))
    held = part("a", finalizers=("example.com/theirs",))
    live.create(set_controller_reference(one, held))
    desired = part("a", finalizers=("example.com/ours",))
    desired.metadata.owner_references = (
        *set_controller_reference(two, part("a")).metadata.owner_references,
    )
    desired.metadata.owner_references[0].controller = None
    after, change = live.create_or_update(desired)
    assert change is Change.UPDATED
    assert [ref.name for ref in after.metadata.owner_references] == ["one", "two"]
    assert after.metadata.finalizers == ("example.com/theirs", "example.com/ours")
    assert live.create_or_update(desired)[1] is Change.UNCHANGED


def test_an_object_with_another_controller_is_refused(live: LiveClient, world: World) -> None:
    """OP-CLI-08, OP-OWN-05"""
    world.create(gadget("one"), gadget("two"))
    one, two = (world.get(Gadget, name) for name in ("one", "two"))
    live.create(set_controller_reference(one, part("a")))
    with pytest.raises(AlreadyOwnedError, match="controlled by Gadget 'one'"):
        live.create_or_update(set_controller_reference(two, part("a")))


# What a cache does not have


@pytest.mark.parametrize(
    ("scope", "desired"),
    [
        (CacheScope(fields="type=kubernetes.io/tls"), secret("a", "Opaque")),
        (CacheScope(labels="ours=1"), secret("a", "Opaque")),
    ],
)
def test_what_a_limited_cache_does_not_have_is_read_at_the_server(
    make_world: Callable[..., World], scope: CacheScope, desired: Secret
) -> None:
    """OP-CLI-08, OP-CLI-06c: each time, as long as the cache does not have it."""
    with lagging(make_world(cache_by_kind={Secret: scope}), Secret) as client:
        assert client.create_or_update(desired)[1] is Change.CREATED
        assert client.create_or_update(desired)[1] is Change.UNCHANGED


def test_a_label_that_was_removed_is_put_back(make_world: Callable[..., World]) -> None:
    """OP-CLI-08: the object comes back into the cache."""
    ours = ConfigMap(metadata=ObjectMeta(name="a", namespace="default", labels={"ours": "1"}))
    world = make_world(ours, cache_by_kind={ConfigMap: CacheScope(labels="ours=1")})
    reading(world, ConfigMap)
    with world.running():
        client: CachedClient = world.manager.client
        world.patch(ours, {"metadata": {"labels": {"ours": None}}})
        world.clock.wait_for(lambda: client.list(ConfigMap) == [])
        assert client.create_or_update(ours)[1] is Change.UPDATED
        assert [obj.metadata.labels for obj in client.list(ConfigMap)] == [{"ours": "1"}]


def test_what_a_transform_removes_is_written_once(make_world: Callable[..., World]) -> None:
    """OP-CLI-08"""

    def without_colour(obj: Part) -> Part:
        obj.spec.colour = ""
        return obj

    scope = CacheScope(transform=without_colour)
    with lagging(make_world(cache_by_kind={Part: scope}), Part) as client:
        desired = part("a")
        desired.spec.colour = "red"
        assert client.create_or_update(desired)[1] is Change.CREATED
        assert client.create_or_update(desired)[1] is Change.UNCHANGED
        desired.spec.colour = "blue"
        assert client.create_or_update(desired)[1] is Change.UPDATED
