"""A primary kind whose definition comes, changes and goes while the manager runs."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.codegen.crd import definitions_of
from clientgo.meta import ObjectMeta, ObjectName, deep_copy, resource
from clientgo.operator import Context, Result
from clientgo.operator.addons.polling import poll
from clientgo.operator.sources import inbound
from tests.operator.pages import ask
from tests.operator.world import (
    PATIENCE,
    Gadget,
    GadgetStatus,
    Part,
    Recording,
    World,
    gadget,
    part,
)

A = ObjectName("default", "a")
LONGEST_PAUSE = 12.0


@resource(group="example.com", version="v2", kind="Gadget", plural="gadgets")
class GadgetV2(Gadget):
    """The next version of the kind, with the same fields."""


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """A world without a definition of Gadget, whose manager can be probed."""
    return make_world(kinds=(Part,), health="127.0.0.1:0", cache_sync_timeout=PATIENCE)


def define(world: World) -> None:
    for definition in definitions_of((Gadget,)):
        world.client.resource(CustomResourceDefinition).create(definition)


def undefine(world: World) -> None:
    world.client.resource(CustomResourceDefinition).delete("gadgets.example.com")


def pass_pauses(world: World, condition: Callable[[], object]) -> None:
    """Let time go on whenever an informer waits to ask again, until a condition holds."""

    def held() -> bool:
        due = world.clock.next_deadline()
        left = float("inf") if due is None else due - world.clock.monotonic()
        if not condition() and left <= LONGEST_PAUSE:
            world.clock.step(left)
        return bool(condition())

    world.clock.wait_for(held)


def trouble(world: World, controller: str = "gadget") -> str:
    (health,) = [health for health in world.manager.health() if health.name == controller]
    (source,) = [source for source in health.sources if source.name == "primary"]
    return source.trouble or ""


def readiness(world: World) -> tuple[int, list[str]]:
    status, body = ask(f"{world.manager.bound.health}/readyz?verbose")
    return status, [line for line in body.splitlines() if line.startswith("[-]")]


def is_ready(world: World, size: int) -> bool:
    return ready(world) == size


def ready(world: World, kind: type[Gadget] = Gadget) -> int:
    status = world.get(kind).status
    return 0 if status is None else int(status.ready)


class Reporting(Recording):
    """Writes what it saw into the status."""

    def __init__(self) -> None:
        super().__init__(self._report)

    def _report(self, _ctx: Context[Any], obj: Gadget) -> Result:
        obj.status = GadgetStatus(ready=obj.spec.size)
        return Result.status(obj)


@pytest.mark.parametrize("sources", [[], [inbound()]], ids=["alone", "inbound"])
def test_a_controller_waits_for_its_kind_and_the_others_work(
    world: World, caplog: pytest.LogCaptureFixture, sources: list[Any]
) -> None:
    """OP-MGR-26: the manager starts; readiness, health, explain and one line in the log say which
    kind is missing."""
    waits, works = Recording(), Recording()
    builder = world.manager.controller(Gadget)
    for source in sources:
        builder.source(source)
    builder.source(poll(lambda _obj: [], period=60, per_resource=True))
    controller = builder.build(waits)
    world.register(works, Part)
    world.create(part("p"))
    with caplog.at_level(logging.INFO), world.running():
        assert works.wait_for_runs(1) == [ObjectName("default", "p")]
        why = "gadgets.example.com in version v1 is not served"
        pass_pauses(world, lambda: why in trouble(world))
        assert readiness(world) == (
            500,
            ["[-]caches failed: reason withheld", "[-]sources failed: reason withheld"],
        )
        explanation = controller.explain(A)
        assert explanation.has("not-synced")
        assert why in str(explanation)
        define(world)
        world.create(gadget())
        pass_pauses(world, lambda: waits.runs)
        assert waits.wait_for_runs(1) == [A]
        assert trouble(world) == ""
        assert readiness(world) == (200, [])
    said = [r for r in caplog.records if why in r.getMessage() and r.levelno >= logging.WARNING]
    assert len([r for r in said if "trying again" in r.getMessage()]) == 1


def test_a_definition_goes_and_comes_again(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """OP-MGR-26: what was known of its objects is forgotten, and nothing restarts."""
    define(world)
    world.create(gadget(), part("p"))
    recording, others = Reporting(), Recording()
    controller = world.register(recording)
    world.register(others, Part)
    with world.running():
        world.clock.wait_for(lambda: ready(world) == 1)
        informers = controller.primary_cache.informers()
        for size in (2, 3):
            undefine(world)
            pass_pauses(world, lambda: "is not served" in trouble(world))
            world.clock.wait_for(lambda: controller.queue.statistics().known == 0)
            assert controller.read_primary(A) is None
            assert world.manager.client.list(Gadget) == []
            assert readiness(world)[0] == 500
            define(world)
            again = gadget()
            again.spec.size = size
            world.create(again)
            pass_pauses(world, lambda: controller.read_primary(A) is not None)
            world.clock.wait_for(partial(is_ready, world, size))
            pass_pauses(world, lambda: readiness(world)[0] == 200)
        world.patch(part("p"), {"spec": {"size": 2}})
        others.wait_for_runs(2)
        assert controller.primary_cache.informers() == informers
    assert not [r for r in caplog.records if r.levelno >= logging.ERROR]


def test_the_stored_version_of_a_kind_changes(world: World) -> None:
    """OP-MGR-26: the operator goes on in its own version, reads its own writes in it, and each
    object of before is there; then the operator's version is no longer served."""
    define(world)
    world.create(gadget())
    definitions = world.client.resource(CustomResourceDefinition)
    recording = Reporting()
    controller = world.register(recording)

    def versions(**served: bool) -> None:
        current = definitions.get("gadgets.example.com")
        (first,) = [each for each in current.spec.versions if each.name == "v1"]
        current.spec.versions = []
        for name, is_served in served.items():
            version = deep_copy(first)
            version.name, version.served, version.storage = name, is_served, name == "v2"
            current.spec.versions.append(version)
        definitions.update(current)

    with world.running():
        world.clock.wait_for(lambda: ready(world) == 1)
        versions(v1=True, v2=True)
        assert world.get(GadgetV2).spec.size == 1
        newer = GadgetV2(metadata=ObjectMeta(name="b", namespace="default"))
        pass_pauses(world, lambda: not trouble(world))
        world.create(newer)
        world.patch(gadget(), {"spec": {"size": 2}})
        pass_pauses(world, lambda: ready(world, GadgetV2) == 2)
        pass_pauses(world, lambda: ObjectName("default", "b") in recording.runs)
        assert world.manager.client.get(Gadget, "b", "default").api_version == "example.com/v1"
        versions(v1=False, v2=True)
        pass_pauses(world, lambda: "serves v2" in trouble(world))
        assert controller.read_primary(A) is not None, "its objects exist all the same"
        versions(v1=True, v2=True)
        pass_pauses(world, lambda: not trouble(world))
        world.patch(gadget(), {"spec": {"size": 3}})
        pass_pauses(world, lambda: ready(world, GadgetV2) == 3)
