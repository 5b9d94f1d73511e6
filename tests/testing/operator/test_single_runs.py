"""One run of a reconciler without threads."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from clientgo.api.core_v1 import ConfigMap
from clientgo.meta import InvalidError, ObjectMeta, StatusError
from clientgo.operator import Context, Manager, Result, TerminalError, controller
from clientgo.operator.addons.dependents import Dependent
from clientgo.operator.errors import DeclarationError, KindNotCachedError
from clientgo.testing import FakeClock
from clientgo.testing.operator import replay, run_once
from tests.operator.world import Gadget, GadgetSpec, GadgetStatus, Part, Planet, Watcher, gadget


def config_map(name: str = "a", **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=data)


@controller(Gadget, owns=[ConfigMap])
class Keeping:
    """Keeps a ConfigMap for each gadget."""

    def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> Result:
        wanted = config_map(obj.metadata.name, size=str(obj.spec.size))
        ctx.client.create_or_update(ctx.own(wanted))
        obj.status = GadgetStatus(ready=len(ctx.secondaries(ConfigMap)))
        ctx.events.normal("Kept", "it is there")
        return Result.status(obj).after(30)


def test_a_run_tells_its_result_its_requests_its_events_and_what_is_there_then() -> None:
    """OP-TST-02"""
    record = run_once(Keeping(), gadget())
    assert record.error is None
    assert record.result is not None
    assert record.result.delay == record.next_look == 30
    assert record.writes == ["create configmaps default/a", "patch gadgets/status default/a"]
    assert record.obj.status.ready == 1
    made = record.get(ConfigMap, "a")
    assert made is not None
    assert made.data == {"size": "1"}
    assert [event.reason for event in record.events] == ["Kept"]


def test_no_thread_is_started() -> None:
    """OP-TST-02: dependents that are written at the same time have theirs for that long."""
    before = threading.active_count()
    record = run_once(Keeping(), gadget(), world=[config_map("other")])
    assert threading.active_count() == before
    assert len(record.all(ConfigMap)) == 2


def test_an_idempotent_reconciler_writes_nothing_when_it_runs_again() -> None:
    """OP-TST-02, OP-REC-09"""
    first, second = replay(Keeping(), gadget())
    assert first.writes
    assert second.writes == []
    assert second.result == Result.status(second.result and second.result.obj).after(30)


def test_what_is_wrong_with_a_reconciler_shows_when_it_runs_again() -> None:
    """OP-REC-09"""

    class Forgetful:
        def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None:
            obj.spec.size += 1
            ctx.client.update(obj)

    assert [record.writes for record in replay(Forgetful(), gadget(), times=3)] == [
        ["update gadgets default/a"]
    ] * 3


def test_the_world_is_read_through_the_caches_that_were_declared() -> None:
    """OP-TST-02: what is not declared cannot be read, as in a manager."""

    class Reading:
        def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None:
            ctx.client.get(Part, "p", "default")

    world = [Part(metadata=ObjectMeta(name="p"))]
    assert isinstance(run_once(Reading(), gadget(), world=world).error, KindNotCachedError)
    declared = controller(Gadget, reads=[Part])(Reading)()
    assert run_once(declared, gadget(), world=world).error is None


def test_what_a_reconciler_sets_up_is_there() -> None:
    """OP-TST-01: it declares its indexes so."""
    found: list[list[str]] = []

    @controller(Gadget, owns=[ConfigMap])
    class Indexed:
        def setup(self, manager: Manager) -> None:
            manager.index(ConfigMap, "size", lambda text: [(text.data or {}).get("size", "")])

        def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None:
            listed = ctx.client.list(ConfigMap, fields={"size": str(obj.spec.size)})
            found.append([text.metadata.name for text in listed])

    world = [config_map("same", size="1"), config_map("other", size="2")]
    assert run_once(Indexed(), gadget(), world=world).error is None
    assert found == [["same"]]


def test_the_framework_does_its_part() -> None:
    """OP-TST-02: the finalizer before the first reconcile, and the generation in the status."""

    class Cleaning:
        def reconcile(self, ctx: Context[Watcher], obj: Watcher) -> None: ...

        def cleanup(self, ctx: Context[Watcher], obj: Watcher) -> None: ...

    record = run_once(Cleaning(), Watcher(metadata=ObjectMeta(name="a")))
    assert record.obj.metadata.finalizers == ("watchers.example.com/finalizer",)
    assert record.obj.status.observed_generation == 1
    assert record.writes == ["patch watchers default/a", "patch watchers/status default/a"]


def test_an_object_that_is_being_deleted_is_cleaned_up() -> None:
    """OP-TST-02"""

    class Cleaning:
        done = False

        def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None:
            raise AssertionError("never for an object that is being deleted")

        def cleanup(self, ctx: Context[Gadget], obj: Gadget) -> Result | None:
            return None if self.done else Result.requeue(5).keep_finalizer()

    reconciler = Cleaning()
    deleted = gadget(deletion_timestamp="2026-01-01T00:00:00Z")
    record = run_once(reconciler, deleted)
    assert record.obj is not None
    assert record.next_look == 5
    reconciler.done = True
    assert run_once(reconciler, deleted).obj is None


def test_a_failure_is_told_with_what_follows_from_it() -> None:
    """OP-TST-02"""

    class Failing:
        error: Exception = ValueError("no")

        def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None:
            raise self.error

    reconciler = Failing()
    record = run_once(reconciler, gadget())
    assert record.error is reconciler.error
    assert record.result is None
    assert record.next_look == 2
    reconciler.error = TerminalError("never")
    assert run_once(reconciler, gadget(), max_interval=None).next_look is None


def test_a_refusal_by_the_api_server_is_one_here() -> None:
    """OP-TST-01: schemas are checked, for what the world is made of and for what is written."""

    class Writing:
        def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None:
            ctx.client.patch(obj, {"spec": {"size": "big"}})

    assert isinstance(run_once(Writing(), gadget()).error, InvalidError)
    with pytest.raises(StatusError):
        run_once(Writing(), gadget("Not A Name"))


def test_the_clock_is_the_tests() -> None:
    """OP-TST-03"""
    told: list[Any] = []

    class Telling:
        def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None:
            told.append((ctx.now().year, obj.metadata.creation_timestamp[:4]))

    run_once(Telling(), gadget(), clock=FakeClock(wall=5e8))
    assert told == [(1985, "1985")]


def test_statuses_and_namespaces_of_the_world_are_as_given() -> None:
    """OP-TST-02"""
    seen: list[Any] = []

    class Seeing:
        def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None:
            seen.append((obj.metadata.namespace, obj.status and obj.status.ready))

    ready = Gadget(metadata=ObjectMeta(name="a"), status=GadgetStatus(ready=3))
    record = run_once(Seeing(), ready, world=[Planet(metadata=ObjectMeta(name="mars"))])
    assert seen == [("default", 3)]
    assert record.get(Planet, "mars") is not None
    assert record.get(Planet, "venus") is None


def test_dependents_are_looked_after() -> None:
    """OP-TST-02, OP-DEP-01: those that need not be there from the start too."""

    class Piece(Dependent[Part, Gadget]):
        kind = Part

        def desired(self, ctx: Context[Gadget], primary: Gadget) -> Part:
            return Part(metadata=ObjectMeta(name="a"), spec=GadgetSpec(size=primary.spec.size))

        def active(self, ctx: Context[Gadget], primary: Gadget) -> bool:
            return True

    class Settings(Dependent[ConfigMap, Gadget]):
        kind = ConfigMap

        def desired(self, ctx: Context[Gadget], primary: Gadget) -> ConfigMap:
            return config_map()

    @controller(Gadget, dependents=[Piece, Settings])
    class Nothing:
        def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None: ...

    first, second = replay(Nothing(), gadget())
    assert sorted(first.writes) == ["create configmaps default/a", "patch parts default/a"]
    assert second.writes == []


def test_a_reconciler_that_no_manager_takes_is_refused() -> None:
    """OP-TST-02"""
    with pytest.raises(DeclarationError):
        run_once(object(), gadget())
