"""Several dependents of one kind."""

from __future__ import annotations

from typing import Any

from clientgo.meta import ObjectMeta
from clientgo.operator import Context
from clientgo.operator.addons.dependents import Dependent
from tests.operator.addons.dependents.running import Piece, resized, settle, settled
from tests.operator.world import Gadget, Part, World, gadget

# Several


class Many(Dependent[Part, Gadget]):
    kind = Part

    def desired(self, ctx: Context[Gadget], primary: Gadget) -> dict[str, Part]:
        names = [f"a-{number}" for number in range(primary.spec.size)]
        return {name: Part(metadata=ObjectMeta(name=name)) for name in names}


def test_several_objects_are_kept_and_those_too_many_removed(world: World) -> None:
    """OP-DEP-08"""
    with settled(world, Many) as recording:
        world.patch(gadget(), resized(3))
        settle(world, recording, 2)
        parts = world.client.resource(Part).namespace("default")
        assert [part.metadata.name for part in parts.list().items] == ["a-0", "a-1", "a-2"]
        world.patch(gadget(), resized(1))
        settle(world, recording, 3)
        assert [part.metadata.name for part in parts.list().items] == ["a-0"]


def test_two_dependents_of_a_kind_keep_to_their_labels(world: World) -> None:
    """OP-DEP-10"""

    class Left(Piece):
        labels = {"side": "left"}

        def desired(self, ctx: Context[Gadget], primary: Gadget) -> Any:
            return Part(metadata=ObjectMeta(name=f"left-{primary.spec.size}"))

    class Right(Left):
        labels = {"side": "right"}

        def desired(self, ctx: Context[Gadget], primary: Gadget) -> Any:
            return Part(metadata=ObjectMeta(name="right"))

    with settled(world, Left, Right) as recording:
        world.patch(gadget(), resized(2))
        settle(world, recording, 2)
        parts = world.client.resource(Part).namespace("default").list().items
        assert {part.metadata.name: part.metadata.labels for part in parts} == {
            "left-2": {"side": "left"},
            "right": {"side": "right"},
        }
