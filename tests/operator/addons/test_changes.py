"""What has changed since the last run that succeeded: ``ctx.changes``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Annotated, Any

import pytest

from clientgo.meta import (
    ConflictError,
    Model,
    ObjectMeta,
    Resource,
    deep_copy,
    resource,
    resource_of,
)
from clientgo.operator import Context, Manager, Result, controller
from clientgo.operator.addons.changes import LastReconciled, StateKeeper, digest
from clientgo.operator.addons.changes.changes import fields_of
from clientgo.operator.change_events import UpdateEvent
from clientgo.operator.errors import ConfigError, DeclarationError, TerminalError
from clientgo.testcluster.server.faults import FailRequests, Requests
from clientgo.testing.operator import replay, run_once
from tests.operator.world import Gadget, GadgetSpec, Recording, World, gadget

ANNOTATION = "gadgets.example.com/gadget-last-reconciled"
SIZE = ("spec.size",)


class KeptStatus(LastReconciled):
    ready: int = 0


@resource(group="example.com", version="v1", plural="keepers")
class Keeper(Resource):
    """A kind whose status has the note."""

    spec: GadgetSpec = GadgetSpec()
    status: KeptStatus | None = None


def keeper() -> Keeper:
    return Keeper(metadata=ObjectMeta(name="a", namespace="default"), spec=GadgetSpec(size=1))


@controller(Gadget, changes=SIZE)
class Comparing(Recording):
    """Notes what each run is told of changes: sight, changed fields and the old size."""

    def __init__(self, answer: Callable[[Context[Any], Any], Result | None] | None = None) -> None:
        super().__init__(answer)
        self.seen: list[tuple[str, tuple[str, ...], Any]] = []

    def reconcile(self, ctx: Context[Any], obj: Any) -> Result | None:
        changes = ctx.changes
        sight = "first" if changes.first else "resumed" if changes.resumed else "known"
        self.seen.append((sight, changes.paths, changes.old("spec.size")))
        return super().reconcile(ctx, obj)


@controller(Keeper, changes=SIZE)
class ComparingKeepers(Comparing): ...


def compare(
    world: World, reconciler: Any, kind: Any = Gadget, fields: tuple[Any, ...] = SIZE, **more: Any
) -> Any:
    return world.manager.controller(kind).changes(*fields).options(**more).build(reconciler)


def resize(world: World, size: int, kind: Any = Gadget) -> None:
    world.patch(world.get(kind), {"spec": {"size": size}})


# What a run is told


def test_first_sight_change_and_no_change_are_told_apart(world: World) -> None:
    world.create(gadget())
    comparing = Comparing()
    gadgets = compare(world, comparing)
    with world.running():
        comparing.wait_for_runs(1)
        world.wait_for_timer()
        resize(world, 5)
        comparing.wait_for_runs(2)
        world.wait_for_timer()
        gadgets.trigger(comparing.runs[0])
        comparing.wait_for_runs(3)
        world.wait_for_timer()
    assert comparing.seen == [
        ("first", (), None),
        ("known", ("spec.size",), 1),
        ("known", (), 5),
    ]


def test_a_change_while_the_operator_was_down_is_seen_at_the_resume(world: World) -> None:
    world.create(gadget())
    before = Comparing()
    compare(world, before)
    with world.running():
        before.wait_for_runs(1)
        world.wait_for_timer()
    resize(world, 3)
    resize(world, 7)

    after = Comparing()
    manager = Manager(world.server.url, metrics="0", clock=world.clock)
    manager.controller(Gadget).changes(*SIZE).build(after)
    with manager:
        after.wait_for_runs(1)
    assert after.seen == [("resumed", ("spec.size",), 1)]


def test_a_change_is_shown_until_a_run_has_succeeded(world: World) -> None:
    world.create(gadget())
    failures = iter([None, TerminalError("no"), None, None])

    def answer(_ctx: Context[Any], _obj: Any) -> None:
        if (error := next(failures)) is not None:
            raise error

    comparing = Comparing(answer)
    gadgets = compare(world, comparing)
    with world.running():
        comparing.wait_for_runs(1)
        world.wait_for_timer()
        resize(world, 5)
        comparing.wait_for_runs(2)
        world.clock.wait_for(world.at_rest)
        for runs in (3, 4):
            gadgets.trigger(comparing.runs[0])
            comparing.wait_for_runs(runs)
            world.wait_for_timer()
    assert [paths for _, paths, _ in comparing.seen] == [(), SIZE, SIZE, ()]


def test_a_reaction_of_several_runs_keeps_the_change(world: World) -> None:
    world.create(gadget())

    def answer(ctx: Context[Any], obj: Gadget) -> Result | None:
        if len(comparing.runs) == 2:
            ctx.changes.keep()
            obj.metadata.annotations = {}  # the note itself must survive this
            return Result.resource(obj).after(10)
        return None

    comparing = Comparing(answer)
    compare(world, comparing)
    with world.running():
        comparing.wait_for_runs(1)
        world.wait_for_timer()
        resize(world, 5)
        comparing.wait_for_runs(2)
        world.wait_for_timer()
        world.run_for(10)
        comparing.wait_for_runs(3)
        world.wait_for_timer()
    assert [paths for _, paths, _ in comparing.seen] == [(), SIZE, SIZE]
    assert '"spec.size":5' in world.get(Gadget).metadata.annotations[ANNOTATION]


def test_a_copy_of_an_object_is_new_whatever_its_annotation_says() -> None:
    copied = run_once(Comparing(), gadget()).obj
    copied.metadata.name, copied.metadata.resource_version = "copy", ""
    copied.spec.size = 9
    comparing = Comparing()
    run_once(comparing, copied)
    assert comparing.seen == [("first", (), None)]


def test_a_note_that_was_edited_by_hand_is_as_none() -> None:
    comparing = Comparing()
    run_once(comparing, gadget(annotations={ANNOTATION: "{oops"}))
    assert comparing.seen == [("first", (), None)]


def test_a_field_that_a_new_release_compares_is_no_change() -> None:
    def keeper_of(*paths: str) -> StateKeeper:
        return StateKeeper(
            "gadget", resource_of(Gadget), Gadget, fields_of(paths, Gadget, "gadget")
        )

    obj, old, new = gadget(uid="u"), keeper_of(*SIZE), keeper_of(*SIZE, "spec.colour")
    old.put(old.compare(obj, resumed=False), obj)
    changes = new.compare(obj, resumed=True)
    assert changes.resumed
    assert not changes


def test_of_a_digest_the_old_value_is_not_known() -> None:
    seen: list[tuple[bool, tuple[str, ...]]] = []

    @controller(Gadget, changes=[digest("spec")])
    class Digesting:
        def reconcile(self, ctx: Context[Any], _obj: Any) -> None:
            seen.append((ctx.changes.changed("spec"), ctx.changes.paths))
            with pytest.raises(LookupError, match=r"ask changed\('spec'\)"):
                ctx.changes.old("spec")
            with pytest.raises(LookupError, match=r"spec.size is not compared, but spec"):
                ctx.changes.changed("spec.size")

    first, second = replay(Digesting(), gadget())
    assert seen == [(False, ()), (False, ())]
    assert "size" not in first.obj.metadata.annotations[ANNOTATION]
    assert second.writes == []


def test_labels_and_annotations_are_compared_by_their_names() -> None:
    path = "metadata.labels['example.com/tier']"
    seen: list[Any] = []

    @controller(Gadget, changes=[path])
    class Tiers:
        def reconcile(self, ctx: Context[Any], obj: Gadget) -> Result:
            seen.append((ctx.changes.changed(path), ctx.changes.old(path)))
            obj.metadata.labels = {"example.com/tier": "gold"}
            return Result.resource(obj)

    runs = replay(Tiers(), gadget(labels={"example.com/tier": "tin"}))
    assert seen == [(False, None), (True, "tin")]
    assert [run.error for run in runs] == [None, None]


# What it costs


def test_nothing_is_written_while_the_fields_are_the_same() -> None:
    first, second, third = replay(Comparing(), gadget(), times=3)
    assert first.writes == ["patch gadgets default/a"]
    assert second.writes == third.writes == []


def test_the_note_goes_with_the_resource_that_a_result_writes() -> None:
    def paint(_ctx: Context[Any], obj: Gadget) -> Result:
        obj.spec.colour = "red"
        return Result.both(obj)

    first, second = replay(Comparing(paint), gadget())
    assert first.writes == ["patch gadgets default/a"]
    assert second.writes == []


def test_a_status_that_has_the_field_keeps_the_note_in_the_same_request() -> None:
    def report(_ctx: Context[Any], obj: Keeper) -> Result:
        obj.status = KeptStatus(ready=3)
        return Result.status(obj)

    obj = keeper()
    obj.status = KeptStatus(last_reconciled={"other": "its note"})
    comparing = ComparingKeepers(report)
    first, second = replay(comparing, obj)
    assert first.writes == ["patch keepers/status default/a"]
    assert second.writes == []
    assert first.obj.status.ready == 3
    assert first.obj.status.observed_generation == 1
    assert first.obj.status.last_reconciled.keys() == {"keeper", "other"}
    assert not first.obj.metadata.annotations
    assert [sight for sight, _, _ in comparing.seen] == ["first", "resumed"]


@pytest.mark.parametrize("kind", [Gadget, Keeper])
def test_a_note_does_not_wake_its_own_controller(
    make_world: Callable[..., World], kind: Any
) -> None:
    """Not even one that every update passes, as those of kinds without a generation do."""
    world = make_world(kinds=(Gadget, Keeper))
    world.create(gadget() if kind is Gadget else keeper())
    comparing = Comparing()
    compare(world, comparing, kind, default_filter=False, generation_aware=False)
    with world.running():
        for size in (2, 3, 4):
            comparing.wait_for_runs(size - 1)
            world.wait_for_timer()
            resize(world, size, kind)
        comparing.wait_for_runs(4)
        world.wait_for_timer()
    assert [obj.spec.size for obj in comparing.objects] == [1, 2, 3, 4]


@pytest.mark.parametrize("kind", [Gadget, Keeper])
def test_an_update_of_more_than_the_note_wakes_the_controller(kind: Any) -> None:
    notes = StateKeeper("g", resource_of(kind), kind, fields_of(SIZE, kind, "g"))
    wakes = notes.wakes()
    old = kind(metadata=ObjectMeta(name="a", uid="u"), spec=GadgetSpec(size=1))

    def noted(obj: Any) -> Any:
        changed = deep_copy(obj)
        notes.put(notes.compare(changed, resumed=False), changed)
        return changed

    first, larger = noted(old), deep_copy(old)
    assert not wakes.passes(UpdateEvent(old, first))
    larger.spec.size = 2
    assert wakes.passes(UpdateEvent(old, larger))
    assert wakes.passes(UpdateEvent(first, noted(larger)))
    assert wakes.passes(UpdateEvent(first, old))  # another client has removed it


def test_a_note_that_could_not_be_written_fails_the_run(world: World) -> None:
    world.create(gadget())
    comparing = Comparing()
    compare(world, comparing)
    refused = Requests(verbs=("patch",), resource="gadgets")
    world.server.inject(FailRequests(requests=refused, status=500))
    with world.running():
        comparing.wait_for_runs(1)
        world.run_for(1)
        comparing.wait_for_runs(2)
        world.wait_for_timer()
    assert [sight for sight, _, _ in comparing.seen] == ["first", "first"]
    assert ANNOTATION in world.get(Gadget).metadata.annotations


def test_a_note_tells_what_was_reconciled_even_if_the_object_has_changed_since(
    world: World,
) -> None:
    world.create(gadget())
    keeper = StateKeeper("gadget", resource_of(Gadget), Gadget, fields_of(SIZE, Gadget, "gadget"))
    read = world.get(Gadget)
    resize(world, 2)
    noted = keeper.write(world.manager.live, keeper.compare(read, resumed=False), read)
    assert noted.spec.size == 2
    assert keeper.compare(noted, resumed=False).old("spec.size") == 1


def test_a_note_that_a_run_has_not_read_is_not_replaced(world: World) -> None:
    """The answer to the first note was lost, and the cache has the object without it."""
    world.create(gadget())
    keeper = StateKeeper("gadget", resource_of(Gadget), Gadget, fields_of(SIZE, Gadget, "gadget"))
    first = world.get(Gadget)
    resize(world, 2)
    cached = world.get(Gadget)
    keeper.write(world.manager.live, keeper.compare(first, resumed=False), first)

    changes = keeper.compare(cached, resumed=False)
    assert changes.first
    with pytest.raises(ConflictError, match="default/a has changed since the run read its note"):
        keeper.write(world.manager.live, changes, cached)
    assert keeper.compare(world.get(Gadget), resumed=False).changed("spec.size")


@pytest.mark.parametrize("recreated", [False, True])
def test_an_object_that_is_gone_needs_no_note(world: World, recreated: bool) -> None:
    world.create(gadget())
    keeper = StateKeeper("gadget", resource_of(Gadget), Gadget, fields_of(SIZE, Gadget, "gadget"))
    read = world.get(Gadget)
    world.delete(read)
    if recreated:
        world.create(gadget())
    assert keeper.write(world.manager.live, keeper.compare(read, resumed=False), read) is read
    assert not recreated or not world.get(Gadget).metadata.annotations


# Declaring


@pytest.mark.parametrize(
    "path", ["", "spec..size", "metadata", "metadata.annotations", "status", "spec.a b", 3]
)
def test_a_field_that_cannot_be_compared_is_refused(world: World, path: Any) -> None:
    with pytest.raises(ConfigError, match="is no field that can be compared"):
        compare(world, Comparing(), fields=(path,))


class Deep(Model):
    """Something in a spec."""

    any_labels: dict[str, str] = {}


@resource(group="example.com", version="v1", plural="deeps")
class Deeply(Resource):
    """A kind with fields in fields."""

    spec: GadgetSpec | None = None
    deep: Annotated[Deep, "as it is"] = Deep()


def test_a_field_that_the_kind_does_not_have_is_refused_with_what_it_has() -> None:
    """It would never change. Fields are named as in JSON; what a type leaves open will do."""

    for path, said in (
        ("spec.sizes", "GadgetSpec has no field 'sizes' in its JSON, but size"),
        ("specs.size", "DeeplyBody has no field 'specs' in its JSON, but spec"),
        ("deep.any_labels", "Deep has no field 'any_labels' in its JSON, but anyLabels"),
    ):
        with pytest.raises(ConfigError, match=f"changes='{path}': {said}"):
            fields_of([path], Deeply, "deep")
    good = ["spec.size", "deep.anyLabels.x.y", "metadata.labels['a']"]
    assert [field.path for field in fields_of(good, Deeply, "deep")] == good
    assert fields_of(["spec.whatever"], resource_of(Deeply), "deep"), "unstructured objects"


def test_what_is_not_declared_is_said() -> None:
    class Asking:
        def reconcile(self, ctx: Context[Any], _obj: Any) -> None:
            assert ctx.changes

    error = run_once(Asking(), gadget()).error
    assert isinstance(error, LookupError)
    assert "declare the fields with" in str(error)


def test_a_reconciler_by_key_has_no_changes(world: World) -> None:
    class ByKey:
        def reconcile_key(self, ctx: Context[Any], key: Any) -> None: ...

    with pytest.raises(DeclarationError, match="changes are those of an object"):
        compare(world, ByKey())


def test_a_name_that_is_too_long_for_the_annotation_is_refused(world: World) -> None:
    with pytest.raises(ConfigError, match="at most 47 letters"):
        compare(world, Comparing(), name="x" * 60)


def test_an_operator_imports_only_what_it_uses() -> None:
    code = "import sys, clientgo.operator, clientgo.workqueue; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "clientgo.operator.controller.controller" in loaded
    unused = {"clientgo.observe.debug", "clientgo.operator.manager.debugging"}
    operator = {module for module in loaded if module.startswith("clientgo.operator.")}
    explanations = {module for module in operator if module.endswith(".explanation")}
    addons = {module for module in operator if module.startswith("clientgo.operator.addons")}
    assert explanations | addons | (loaded & unused) == set()
