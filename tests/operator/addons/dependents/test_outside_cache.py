"""Dependents whose objects have left a cache that is limited by labels or fields."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.api.core_v1 import ConfigMap, Secret
from clientgo.api.events_v1 import Event
from clientgo.meta import ObjectMeta
from clientgo.operator import CacheScope, Context
from clientgo.operator.addons.dependents import Dependent
from clientgo.operator.client import set_controller_reference
from clientgo.operator.errors import DependentErrors
from clientgo.testing.operator import eventually
from tests.operator.addons.dependents.running import Telling, seen
from tests.operator.world import Gadget, Part, Recording, World, gadget

OURS = {"ours": "1"}


def dependent_of(kind: Any, **body: Any) -> type[Dependent[Any, Gadget]]:
    class Labelled(Dependent[Any, Gadget]):
        labels = OURS

        def desired(self, ctx: Context[Gadget], primary: Gadget) -> Any:
            return kind(metadata=ObjectMeta(name="a"), **body)

    Labelled.kind = kind
    return Labelled


def run(world: World, reconciler: Any, dependent: Any) -> None:
    builder = world.manager.controller(Gadget).owns(dependent.kind, labels=OURS)
    builder.dependents(dependent).build(reconciler)


@pytest.mark.parametrize(
    ("kind", "body"),
    [(ConfigMap, {"data": {"a": "b"}}), (Secret, {"string_data": {"a": "b"}}), (Part, {})],
)
def test_a_label_that_was_removed_is_put_back(world: World, kind: Any, body: Any) -> None:
    """OP-DEP-02: the cache does not have the object any more, and an Event says so."""
    run(world, Recording(), dependent_of(kind, **body))
    world.create(gadget())

    def has_label(labels: Any) -> bool:
        return seen(world, kind, lambda objs: [o.metadata.labels == labels for o in objs] == [True])

    with world.running():
        assert has_label(OURS)
        before = world.get(kind)
        world.patch(before, {"metadata": {"labels": {"ours": None, "theirs": "1"}}})
        assert has_label({**OURS, "theirs": "1"})
        assert world.get(kind).metadata.uid == before.metadata.uid
        eventually(lambda: events(world))
    (event,) = events(world)
    assert (event.type, event.regarding.kind) == ("Warning", "Gadget")
    assert event.note == (
        f"{kind.__name__} default/a exists, but the cache has only objects with labels ours=1; it "
        "was read from the API server"
    )


def events(world: World) -> list[Event]:
    found = world.client.resource(Event).namespace("default").list().items
    return [event for event in found if event.reason == "OutsideCache"]


def test_an_object_that_the_fields_of_a_cache_do_not_match_is_not_created_again(
    make_world: Any,
) -> None:
    """OP-DEP-02: it is read at the API server in each run."""
    scope = CacheScope(fields="type=kubernetes.io/tls")
    world = make_world(gadget(), cache_by_kind={Secret: scope})
    recording = Recording()

    class Opaque(Dependent[Secret, Gadget]):
        kind = Secret

        def desired(self, ctx: Context[Gadget], primary: Gadget) -> Any:
            data = {"size": str(primary.spec.size)}
            return Secret(metadata=ObjectMeta(name="a"), string_data=data)

    world.manager.controller(Gadget).dependents(Opaque).build(recording)
    with world.running():
        for size in (2, 3):
            recording.wait_for_runs(size - 1)
            world.patch(gadget(), {"spec": {"size": size}})
        assert seen(world, Secret, lambda found: [s.data for s in found] == [{"size": b"3"}])


@pytest.mark.parametrize("kind", [ConfigMap, Part])
def test_an_object_of_another_that_the_cache_does_not_have_is_not_touched(
    world: World, kind: Any
) -> None:
    """OP-DEP-01, OP-OWN-05"""
    world.create(gadget("other"))
    foreign = kind(metadata=ObjectMeta(name="a", namespace="default"))
    world.create(set_controller_reference(world.get(Gadget, "other"), foreign), gadget())
    before, telling = world.get(kind), Telling()
    run(world, telling, dependent_of(kind))
    with world.running():
        telling.errors.wait_for(1)
    assert isinstance(telling.errors[0], DependentErrors)
    assert "is controlled by Gadget 'other'" in str(telling.errors[0])
    assert world.get(kind).metadata.resource_version == before.metadata.resource_version


def test_an_object_that_is_being_deleted_outside_of_the_cache_is_waited_for(world: World) -> None:
    """OP-DEP-02: no event will say that it is gone, so the run fails, and is tried again."""
    held = ObjectMeta(name="a", namespace="default", finalizers=("example.com/held",))
    world.create(gadget(), ConfigMap(metadata=held))
    world.delete(world.get(ConfigMap))
    telling = Telling()
    run(world, telling, dependent_of(ConfigMap))
    with world.running():
        telling.errors.wait_for(1)
        assert "with labels ours=1, and it is being deleted" in str(telling.errors[0])
        world.patch(world.get(ConfigMap), {"metadata": {"finalizers": []}})
        world.wait_for_timer()
        world.clock.step(60.0)
        assert seen(world, ConfigMap, lambda found: [o.metadata.labels for o in found] == [OURS])


def test_a_whole_cache_is_believed(world: World) -> None:
    """OP-DEP-02: it costs no request to learn that there is nothing."""
    recording = Recording()
    world.manager.controller(Gadget).dependents(dependent_of(Part)).build(recording)
    world.create(gadget())
    with world.running():
        recording.wait_for_runs(1)
    assert [a for a in world.asked.actions() if a.verb == "get" and "parts" in str(a)] == []
