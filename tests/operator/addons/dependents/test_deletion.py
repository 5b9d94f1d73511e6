"""Dependents when their primary is deleted."""

from __future__ import annotations

from typing import Any

from clientgo.api.core_v1 import ConfigMap, Namespace
from clientgo.meta import ObjectMeta
from clientgo.operator import Context, Result
from clientgo.operator.addons.dependents import Dependent
from tests.operator.addons.dependents.running import (
    Notes,
    Settings,
    config_map,
    seen,
    settle,
    settled,
    start,
)
from tests.operator.world import Gadget, Planet, Recording, World, gadget

# Deleting


class Star(Dependent[Planet, Gadget]):
    """Cannot be owned: it has no namespace."""

    kind = Planet

    def desired(self, ctx: Context[Gadget], primary: Gadget) -> Planet:
        return Planet(metadata=ObjectMeta(name="star"))


def test_an_object_that_can_be_owned_needs_no_finalizer(world: World) -> None:
    """OP-DEP-03, OP-FIN-01: the garbage collector deletes it."""
    with settled(world, Settings):
        assert not world.get(Gadget).metadata.finalizers
        world.delete(gadget())
        assert seen(world, ConfigMap, lambda found: not found)


def test_an_object_that_cannot_be_owned_is_deleted_before_the_primary_goes(world: World) -> None:
    """OP-DEP-03, OP-FIN-01: for which the finalizer is managed, without any cleanup."""
    with settled(world, Star) as recording:
        star = world.client.resource(Planet).get("star")
        assert not star.metadata.owner_references
        world.client.resource(Planet).delete("star")
        settle(world, recording, 2)
        world.delete(gadget())
        assert seen(world, Gadget, lambda found: not found)
        assert seen(world, Planet, lambda found: not found)


def test_an_object_in_another_namespace_is_deleted_explicitly(world: World) -> None:
    """OP-DEP-03"""

    class Far(Settings):
        owned = False

        def desired(self, ctx: Context[Gadget], primary: Gadget) -> Any:
            far = config_map("far", size=str(primary.spec.size))
            far.metadata.namespace = "elsewhere"
            return far

    world.create(Namespace(metadata=ObjectMeta(name="elsewhere")), gadget())
    recording = start(world, Far)
    with world.running():
        settle(world, recording)
        assert world.get(ConfigMap, "far", "elsewhere").data == {"size": "1"}
        world.delete(gadget())
        assert seen(world, Gadget, lambda found: not found)
    assert world.client.resource(ConfigMap).namespace("elsewhere").list().items == []


def test_cleanup_comes_first_and_may_keep_the_dependents(world: World) -> None:
    """OP-DEP-03, OP-DEP-06: the reverse of what happens before reconcile."""
    stars = Notes()

    class Careful(Recording):
        def cleanup(self, ctx: Context[Gadget], obj: Gadget) -> Result | None:
            stars.append(len(ctx.secondaries(Planet)))
            return None if len(stars) > 1 else Result.requeue(30).keep_finalizer()

    recording = Careful()
    world.manager.controller(Gadget).dependents(Star).build(recording)
    world.create(gadget())
    with world.running():
        settle(world, recording)
        world.delete(gadget())
        stars.wait_for(1)
        world.wait_for_timer()
        world.clock.step(30)  # less than own writes are remembered
        assert seen(world, Gadget, lambda found: not found)
    assert stars[:2] == [1, 1]
