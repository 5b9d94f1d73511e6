"""Dependents that take over what an older release of the controller has updated."""

from __future__ import annotations

from typing import Any

from clientgo.api.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta, Unstructured
from clientgo.meta.patches import upgrade_managed_fields_patch
from clientgo.operator import Context
from clientgo.operator.addons.dependents import Dependent
from clientgo.testing.fakes.actions import Action
from tests.operator.addons.dependents.running import Settings, Telling, settle
from tests.operator.addons.dependents.test_dependents import start_anew
from tests.operator.world import Gadget, GadgetSpec, Part, Recording, World, gadget


def release_1(world: World, kind: Any, **body: Any) -> None:
    """Make an object as a controller does that writes with ``create_or_update``."""

    def reconcile(ctx: Context[Gadget], obj: Gadget) -> None:
        metadata = ObjectMeta(name="a", namespace="default", labels={"old": "1"})
        ctx.client.create_or_update(ctx.own(kind(metadata=metadata, **body)))

    recording = Recording(reconcile)
    world.manager.controller(Gadget).owns(kind).build(recording)
    world.create(gadget())
    with world.running():
        settle(world, recording)
    start_anew(world)


class Plain(Dependent[Any, Gadget]):
    """Desires less than the release before."""

    kind = Part

    def desired(self, ctx: Context[Gadget], primary: Gadget) -> Any:
        return Unstructured.from_dict(
            {
                "apiVersion": "example.com/v1",
                "kind": "Part",
                "metadata": {"name": "a"},
                "spec": {"size": 1},
            }
        )


def run_release_2(world: World, dependent: Any, answer: Any = None) -> list[str]:
    """Start the next release, and return what it writes."""
    recording = Recording(answer)
    world.manager.controller(Gadget).dependents(dependent).build(recording)
    with world.running():
        settle(world, recording)
    writes = world.writes()
    start_anew(world)
    return writes


def owners_of_fields(world: World) -> list[tuple[str, str]]:
    entries = world.get(Part).to_dict()["metadata"]["managedFields"]
    return sorted((entry["manager"], entry["operation"]) for entry in entries)


def test_a_field_that_an_older_release_wrote_goes(world: World) -> None:
    """OP-DEP-02: what others have written stays, and the next start writes nothing."""
    release_1(world, Part, spec=GadgetSpec(size=1, colour="red"))
    world.patch(world.get(Part), {"metadata": {"labels": {"theirs": "1"}}}, field_manager="them")
    assert len(run_release_2(world, Plain)) == 2
    after = world.get(Part)
    assert (after.to_dict()["spec"], after.metadata.labels) == ({"size": 1}, {"theirs": "1"})
    assert owners_of_fields(world) == [("gadget", "Apply"), ("them", "Update")]
    assert run_release_2(world, Plain) == []


def test_a_field_that_another_manager_wrote_too_stays(world: World) -> None:
    """OP-DEP-02"""
    release_1(world, Part, spec=GadgetSpec(size=1, colour="red"))
    part = Unstructured.from_dict(
        {
            "apiVersion": "example.com/v1",
            "kind": "Part",
            "metadata": {"name": "a", "namespace": "default"},
            "spec": {"colour": "red"},
        }
    )
    world.client.resource(Part).namespace("default").apply(part, field_manager="them")
    run_release_2(world, Plain)
    assert world.get(Part).spec.colour == "red"


def test_what_a_reconciler_writes_beside_its_dependent_stays(world: World) -> None:
    """OP-DEP-02: only a manager that has never applied hands over what it has updated."""

    def mark(ctx: Context[Gadget], obj: Gadget) -> None:
        part = ctx.client.get(Part, "a", "default")
        ctx.client.patch(part, {"metadata": {"annotations": {"seen": "1"}}})

    world.create(gadget())
    run_release_2(world, Plain, mark)
    assert owners_of_fields(world) == [("gadget", "Apply"), ("gadget", "Update")]
    assert run_release_2(world, Plain) == []
    assert world.get(Part).metadata.annotations == {"seen": "1"}


def test_the_status_is_not_handed_over() -> None:
    """OP-DEP-02: its fields belong to another entry."""
    entry = {"operation": "Update", "manager": "gadget", "apiVersion": "v1"}
    fields: dict[str, Any] = {"f:status": {"f:ready": {}}}
    plain = {
        "metadata": {
            "resourceVersion": "1",
            "managedFields": [{**entry, "subresource": "status", "fieldsV1": fields}],
        }
    }
    assert upgrade_managed_fields_patch(plain, ("gadget",), "gadget") is None


def test_labels_of_a_config_map_that_an_older_release_wrote_go(world: World) -> None:
    """OP-DEP-02: its data is compared, and its labels are those of the manager."""
    release_1(world, ConfigMap, data={"old": "1"})
    world.patch(world.get(ConfigMap), {"metadata": {"labels": {"theirs": "1"}}}, field_manager="me")
    assert len(run_release_2(world, Settings)) == 1
    after = world.get(ConfigMap)
    assert (after.data, after.metadata.labels) == ({"size": "1"}, {"theirs": "1"})
    assert run_release_2(world, Settings) == []


def test_an_object_that_changes_meanwhile_is_upgraded_in_the_next_try(world: World) -> None:
    """OP-DEP-02: the version is a condition."""
    release_1(world, Part, spec=GadgetSpec(size=1, colour="red"))
    telling = Telling()
    patched: list[Action] = []

    def change(action: Action) -> None:
        if action.verb == "patch" and action.resource.resource == "parts" and not patched:
            patched.append(action)
            world.patch(world.get(Part), {"metadata": {"labels": {"theirs": "1"}}})

    world.asked.before = change
    world.manager.controller(Gadget).dependents(Plain).build(telling)
    with world.running():
        telling.errors.wait_for(1)
        world.wait_for_timer()
        world.clock.step(60.0)
        telling.wait_for_runs(1)
    assert world.get(Part).to_dict()["spec"] == {"size": 1}
