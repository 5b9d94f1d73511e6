"""Dependents: described objects, made, kept and removed against an embedded API server."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.api.apps_v1 import Deployment, DeploymentSpec
from clientgo.api.core_v1 import (
    ConfigMap,
    Container,
    Namespace,
    PodSpec,
    PodTemplateSpec,
    ResourceRequirements,
    Secret,
)
from clientgo.api.meta_v1 import LabelSelector
from clientgo.client import Client
from clientgo.meta import NotFoundError, ObjectMeta, Resource, get_controller_of, resource
from clientgo.operator import Context, Manager, Result, TerminalError, controller
from clientgo.operator.client import set_controller_reference
from clientgo.operator.dependents import Dependent
from clientgo.operator.errors import CancelledError, DependentErrors
from clientgo.rest import HTTPTransport, RestConfig
from clientgo.testing.observer import Observer
from clientgo.testing.recording_transport import RecordingTransport
from tests.operator.world import (
    PATIENCE,
    Gadget,
    GadgetSpec,
    Part,
    Planet,
    Recording,
    World,
    gadget,
)


def config_map(name: str = "a", **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name), data=data)


class Settings(Dependent[ConfigMap, Gadget]):
    kind = ConfigMap

    def desired(self, ctx: Context[Gadget], primary: Gadget) -> Any:
        return config_map(primary.metadata.name, size=str(primary.spec.size))


class Piece(Dependent[Part, Gadget]):
    kind = Part

    def desired(self, ctx: Context[Gadget], primary: Gadget) -> Any:
        name = primary.metadata.name
        return Part(metadata=ObjectMeta(name=name), spec=GadgetSpec(size=primary.spec.size))


class Notes(list[Any]):
    """What a test's own code was told; the test waits for so many entries."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = threading.Condition()

    def append(self, entry: Any) -> None:
        with self._changed:
            super().append(entry)
            self._changed.notify_all()

    def wait_for(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self) >= count, PATIENCE), self


class Telling(Recording):
    """Notes what its runs fail with."""

    def __init__(self) -> None:
        super().__init__()
        self.errors = Notes()

    def on_error(self, ctx: Context[Gadget], obj: Gadget, error: Exception) -> None:
        self.errors.append(error)


def start(world: World, *dependents: Any, answer: Any = None, **options: Any) -> Recording:
    recording = Recording(answer)
    builder = world.manager.controller(Gadget).dependents(*dependents).options(**options)
    builder.build(recording)
    return recording


def settle(world: World, recording: Recording, runs: int = 1) -> None:
    """Wait for so many runs, and until nothing more happens."""
    recording.wait_for_runs(runs)
    world.wait_for_timer()


def start_anew(world: World) -> None:
    """Another manager in the place of the one that has stopped, as in another process."""
    config = RestConfig(server=world.server.url, qps=-1)
    world.asked = RecordingTransport(HTTPTransport(config))
    world.manager = Manager(Client(config, transport=world.asked), metrics="0", clock=world.clock)


def seen(world: World, kind: Any, condition: Callable[[Any], object]) -> bool:
    """Whether the objects of a kind come to fulfil a condition."""
    with Observer(world.client, kind) as observer:
        return observer.wait_until(lambda: condition(observer.lister(kind).list()), PATIENCE)


def resized(size: int) -> dict[str, Any]:
    return {"spec": {"size": size}}


def is_gone(world: World, kind: Any, name: str = "a") -> bool:
    try:
        world.get(kind, name)
    except NotFoundError:
        return True
    return False


# What a declaration gives


@pytest.mark.parametrize("dependent", [Settings, Settings(), Piece])
def test_a_described_object_is_made_and_owned_before_reconcile(
    world: World, dependent: Any
) -> None:
    """OP-DEP-01: it is watched too: when somebody deletes it, it comes again."""
    found: list[Any] = []
    recording = start(
        world, dependent, answer=lambda ctx, obj: found.append(ctx.secondary(dependent.kind))
    )
    world.create(gadget())
    with world.running():
        settle(world, recording)
        made = world.get(dependent.kind)
        owner = get_controller_of(made)
        assert owner is not None
        assert (owner.kind, owner.name) == ("Gadget", "a")
        assert found[0].metadata.uid == made.metadata.uid
        world.delete(made)
        settle(world, recording, 2)
        assert world.get(dependent.kind).metadata.uid != made.metadata.uid


def test_what_is_declared_at_the_class_is_looked_after(world: World) -> None:
    """OP-DEP-01: the decorator declares what the builder does."""

    @controller(Gadget, dependents=[Settings])
    class Declared(Recording):
        """With nothing of its own."""

    reconciler = Declared()
    world.manager.register(reconciler)
    world.create(gadget())
    with world.running():
        settle(world, reconciler)
        assert world.get(ConfigMap).data == {"size": "1"}


@pytest.mark.parametrize("dependent", [Settings, Piece])
def test_what_is_as_desired_costs_no_request(world: World, dependent: Any) -> None:
    """OP-DEP-02: however often the reconciler runs, and not in a new process either."""
    recording = start(world, dependent)
    world.create(gadget())
    with world.running():
        settle(world, recording)
        asked = len(world.asked.actions())
        for runs in range(2, 5):
            world.manager.controllers()[0].trigger(recording.runs[0])
            settle(world, recording, runs)
        assert len(world.asked.actions()) == asked
    assert len(world.writes()) == 1


@pytest.mark.parametrize("dependent", [Settings, Piece])
def test_what_another_process_made_is_left_as_it_is(world: World, dependent: Any) -> None:
    """OP-DEP-02: what is as desired is known from the object, not from having written it."""
    first = start(world, dependent)
    world.create(gadget())
    with world.running():
        settle(world, first)
    start_anew(world)
    recording = start(world, dependent)
    with world.running():
        settle(world, recording)
    assert world.writes() == []


@pytest.mark.parametrize("dependent", [Settings, Piece])
def test_a_change_of_the_primary_and_a_change_by_somebody_else_are_brought_in_line(
    world: World, dependent: Any
) -> None:
    """OP-DEP-02"""
    recording = start(world, dependent)
    world.create(gadget())
    with world.running():
        settle(world, recording)
        world.patch(gadget(), resized(2))
        settle(world, recording, 2)
        before = world.get(dependent.kind)
        assert "2" in str(before.to_dict().get("data") or before.to_dict()["spec"])
        world.patch(before, {"data": {"size": "9"}, "spec": {"size": 9}})
        settle(world, recording, 3)
        after = world.get(dependent.kind).to_dict()
        assert (after.get("data"), after.get("spec")) == (
            before.to_dict().get("data"),
            before.to_dict().get("spec"),
        )


def test_what_a_config_map_has_besides_is_removed(world: World) -> None:
    """OP-DEP-02: ConfigMaps and Secrets are compared by their data; others' labels stay."""
    recording = start(world, Settings)
    world.create(gadget())
    with world.running():
        settle(world, recording)
        world.patch(
            world.get(ConfigMap), {"data": {"more": "x"}, "metadata": {"labels": {"its": "own"}}}
        )
        settle(world, recording, 2)
        after = world.get(ConfigMap)
        assert after.data == {"size": "1"}
        assert after.metadata.labels == {"its": "own"}


def test_a_secret_may_be_given_as_text(world: World) -> None:
    """OP-DEP-02"""

    class Password(Dependent[Secret, Gadget]):
        kind = Secret

        def desired(self, ctx: Context[Gadget], primary: Gadget) -> Secret:
            return Secret(
                metadata=ObjectMeta(name="a"), string_data={"password": str(primary.spec.size)}
            )

    recording = start(world, Password)
    world.create(gadget())
    with world.running():
        settle(world, recording)
        world.manager.controllers()[0].trigger(recording.runs[0])
        settle(world, recording, 2)
        assert len(world.writes()) == 1
        world.patch(gadget(), resized(2))
        settle(world, recording, 3)
        assert world.get(Secret).data == {"password": b"2"}


def test_a_field_that_is_not_desired_any_more_goes_and_that_of_another_stays(
    world: World,
) -> None:
    """OP-DEP-02: server-side apply by the controller's name."""

    class Labelled(Piece):
        def desired(self, ctx: Context[Gadget], primary: Gadget) -> Part:
            labels = {"ours": "1"} if primary.spec.size == 1 else {}
            return Part(metadata=ObjectMeta(name="a", labels=labels))

    recording = start(world, Labelled)
    world.create(gadget())
    with world.running():
        settle(world, recording)
        world.patch(world.get(Part), {"metadata": {"labels": {"theirs": "1"}}})
        settle(world, recording, 2)
        world.patch(gadget(), resized(2))
        settle(world, recording, 3)
    assert world.get(Part).metadata.labels == {"theirs": "1"}
    applied = [action for action in world.asked.writes() if action.resource.resource == "parts"]
    assert [action.options["fieldManager"] for action in applied] == ["gadget", "gadget"]


class Pods(Dependent[Deployment, Gadget]):
    """A Deployment, whose answer from the server is not what was sent."""

    kind = Deployment

    def desired(self, ctx: Context[Gadget], primary: Gadget) -> Deployment:
        labels = {"app": "a"}
        limits = ResourceRequirements(limits={"cpu": "1000m"})
        container = Container(name="main", image="busybox", resources=limits)
        return Deployment(
            metadata=ObjectMeta(name="a"),
            spec=DeploymentSpec(
                replicas=primary.spec.size,
                selector=LabelSelector(match_labels=labels),
                template=PodTemplateSpec(
                    metadata=ObjectMeta(labels=labels), spec=PodSpec(containers=[container])
                ),
            ),
        )


def test_defaults_and_statuses_of_others_are_no_difference(world: World) -> None:
    """OP-DEP-02, BP-29: a Deployment gets many fields from the server, and a status."""
    recording = start(world, Pods)
    world.create(gadget())
    with world.running():
        settle(world, recording)
        world.patch(
            world.get(Deployment),
            {"status": {"replicas": 1, "readyReplicas": 1}},
            subresource="status",
        )
        settle(world, recording, 2)
        assert len(world.writes()) == 1
        world.patch(gadget(), resized(3))
        settle(world, recording, 3)
        assert world.get(Deployment).spec.replicas == 3


def test_a_custom_comparison_decides(world: World) -> None:
    """OP-DEP-02: ``matches``"""

    class OnlyTheFirst(Piece):
        def matches(self, actual: Part, desired: Part) -> bool:
            return True

    recording = start(world, OnlyTheFirst)
    world.create(gadget())
    with world.running():
        settle(world, recording)
        world.patch(gadget(), resized(2))
        settle(world, recording, 2)
        assert world.get(Part).spec.size == 1


def test_a_fight_over_an_object_is_told_of(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """OP-DEP-02: the same write ten times within a minute means that somebody undoes it."""
    recording = start(world, Piece)
    world.create(gadget())
    with caplog.at_level(logging.WARNING, "clientgo.operator.dependents"), world.running():
        for runs in range(1, 10):
            settle(world, recording, runs)
            assert caplog.messages == []
            world.patch(world.get(Part), {"spec": {"size": 9}})
        settle(world, recording, 10)
    (message,) = caplog.messages
    assert "10 times" in message
    assert message.startswith("gadget: Piece: ")


def test_what_belongs_to_somebody_else_is_not_touched(world: World) -> None:
    """OP-DEP-01, OP-OWN-05"""
    other = config_map("other")
    other.metadata.namespace = "default"
    world.create(other, gadget())
    owned = Part(metadata=ObjectMeta(name="a", namespace="default"))
    world.create(set_controller_reference(world.get(ConfigMap, "other"), owned))
    telling = Telling()
    world.manager.controller(Gadget).dependents(Piece).build(telling)
    with world.running():
        telling.errors.wait_for(1)
    assert isinstance(telling.errors[0], DependentErrors)
    assert "controlled by ConfigMap 'other'" in str(telling.errors[0])
    assert world.writes() == []


# Abilities


def test_what_may_not_be_updated_or_deleted_is_not(world: World) -> None:
    """OP-DEP-01"""

    class Once(Settings):
        updates = False

        def desired(self, ctx: Context[Gadget], primary: Gadget) -> Any:
            return super().desired(ctx, primary)

    class Kept(Piece):
        deletes = False

        def wanted(self, ctx: Context[Gadget], primary: Gadget) -> bool:
            return primary.spec.size == 1

    class NeverMade(Dependent[Secret, Gadget]):
        kind = Secret
        creates = False

        def desired(self, ctx: Context[Gadget], primary: Gadget) -> Secret:
            return Secret(metadata=ObjectMeta(name="a"))

    recording = start(
        world,
        Once,
        Kept,
        NeverMade,
        answer=lambda ctx, obj: waiting.append(ctx.dependents.waiting),
    )
    waiting: list[Any] = []
    world.create(gadget())
    with world.running():
        settle(world, recording)
        world.patch(gadget(), resized(2))
        settle(world, recording, 2)
        assert world.get(ConfigMap).data == {"size": "1"}
        assert world.get(Part).metadata.owner_references in ((), None)
        assert is_gone(world, Secret)
    assert waiting[0] == ("NeverMade",)


# Deleting


class Star(Dependent[Planet, Gadget]):
    """Cannot be owned: it has no namespace."""

    kind = Planet

    def desired(self, ctx: Context[Gadget], primary: Gadget) -> Planet:
        return Planet(metadata=ObjectMeta(name="star"))


def test_an_object_that_can_be_owned_needs_no_finalizer(world: World) -> None:
    """OP-DEP-03, OP-FIN-01: the garbage collector deletes it."""
    recording = start(world, Settings)
    world.create(gadget())
    with world.running():
        settle(world, recording)
        assert not world.get(Gadget).metadata.finalizers
        world.delete(gadget())
        assert seen(world, ConfigMap, lambda found: not found)


def test_an_object_that_cannot_be_owned_is_deleted_before_the_primary_goes(world: World) -> None:
    """OP-DEP-03, OP-FIN-01: for which the finalizer is managed, without any cleanup."""
    recording = start(world, Star)
    world.create(gadget())
    with world.running():
        settle(world, recording)
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


# Order


class ReadyPiece(Piece):
    def ready(self, ctx: Context[Gadget], primary: Gadget, actual: Part) -> bool:
        return (actual.metadata.labels or {}).get("colour") == "green"


def test_what_depends_on_another_waits_until_that_is_ready(world: World) -> None:
    """OP-DEP-04, OP-DEP-05: and reconcile is told what is not ready."""

    class After(Settings):
        depends_on = (ReadyPiece,)

    outcomes: list[Any] = []
    recording = start(
        world, After, ReadyPiece, answer=lambda ctx, obj: outcomes.append(ctx.dependents)
    )
    world.create(gadget())
    with world.running():
        settle(world, recording)
        assert is_gone(world, ConfigMap)
        assert outcomes[0].waiting == ("ReadyPiece", "After")
        world.patch(world.get(Part), {"metadata": {"labels": {"colour": "green"}}})
        settle(world, recording, 2)
        assert world.get(ConfigMap).data == {"size": "1"}
        assert outcomes[1].all_ready


def test_what_does_not_depend_on_each_other_is_written_at_the_same_time(world: World) -> None:
    """OP-DEP-04: neither request is answered before both have been sent."""
    both = threading.Barrier(2, timeout=PATIENCE)
    world.asked.before = lambda action: both.wait() if action.verb in ("create", "patch") else None
    recording = start(world, Settings, Piece)
    world.create(gadget())
    with world.running():
        settle(world, recording)
        assert world.get(ConfigMap)
        assert world.get(Part)


def test_the_events_of_writes_at_the_same_time_wake_nobody(world: World) -> None:
    """OP-DEP-04, OP-SRC-22: they are known as this controller's own."""
    recording = start(world, Settings, Piece)
    world.create(gadget())
    with world.running():
        settle(world, recording)
        assert seen(world, Part, len)
        settle(world, recording)
    assert len(recording.runs) == 1


def test_what_is_not_wanted_is_deleted_after_what_depends_on_it(world: World) -> None:
    """OP-DEP-05, OP-DEP-06"""

    class Optional(Piece):
        def wanted(self, ctx: Context[Gadget], primary: Gadget) -> bool:
            return primary.spec.size == 1

    class After(Settings):
        depends_on = (Optional,)

    recording = start(world, Optional, After)
    world.create(gadget())
    with world.running():
        settle(world, recording)
        world.patch(gadget(), resized(2))
        assert seen(world, Part, lambda found: not found)
    deletions = [str(a) for a in world.asked.writes() if a.verb == "delete"]
    assert deletions == ["delete configmaps default/a", "delete parts default/a"]


def test_nothing_is_deleted_before_what_depends_on_it_is_really_gone(world: World) -> None:
    """OP-DEP-06: a finalizer may hold it for long."""

    class Optional(Piece):
        def wanted(self, ctx: Context[Gadget], primary: Gadget) -> bool:
            return primary.spec.size == 1

    class After(Settings):
        depends_on = (Optional,)

    recording = start(world, Optional, After)
    world.create(gadget())
    with world.running():
        settle(world, recording)
        world.patch(world.get(ConfigMap), {"metadata": {"finalizers": ["example.com/held"]}})
        settle(world, recording, 2)
        world.patch(gadget(), resized(2))
        settle(world, recording, 3)
        assert world.get(ConfigMap).metadata.deletion_timestamp
        assert not world.get(Part).metadata.deletion_timestamp
        world.patch(world.get(ConfigMap), {"metadata": {"finalizers": []}})
        assert seen(world, Part, lambda found: not found)


def test_a_kind_that_is_not_there_is_not_watched_until_it_is_active(world: World) -> None:
    """OP-DEP-05: no start waits for a definition that may never come."""

    @resource(group="example.com", version="v1", plural="missings")
    class Missing(Resource):
        """Its definition is not installed."""

    class Elsewhere(Dependent[Any, Gadget]):
        kind = Missing

        def active(self, ctx: Context[Gadget], primary: Gadget) -> bool:
            return False

    class Perhaps(Settings):
        def active(self, ctx: Context[Gadget], primary: Gadget) -> bool:
            return primary.spec.size == 2

    recording = start(world, Elsewhere, Perhaps)
    world.create(gadget())
    with world.running():
        settle(world, recording)
        assert is_gone(world, ConfigMap)
        world.patch(gadget(), resized(2))
        settle(world, recording, 2)
        assert world.get(ConfigMap).data == {"size": "2"}
        world.delete(world.get(ConfigMap))
        assert seen(world, ConfigMap, len)


def test_the_primary_stays_until_what_an_object_stands_for_is_gone(world: World) -> None:
    """OP-DEP-05: ``gone`` is asked again every few seconds."""
    asked = Notes()
    begun = world.clock.monotonic()

    class Slow(Piece):
        def gone(self, ctx: Context[Gadget], primary: Gadget) -> bool:
            asked.append(ctx.key)
            return world.clock.monotonic() > begun

    recording = start(world, Slow)
    world.create(gadget())
    with world.running():
        settle(world, recording)
        world.delete(gadget())
        asked.wait_for(1)
        world.wait_for_timer()
        assert world.get(Gadget).metadata.finalizers
        world.clock.step(5)
        assert seen(world, Gadget, lambda found: not found)
    assert is_gone(world, Part)


# Failures


class Broken(Settings):
    def desired(self, ctx: Context[Gadget], primary: Gadget) -> Any:
        raise ValueError("no idea")


def failing(world: World, *dependents: Any) -> list[Exception]:
    """What a gadget's run fails with."""
    telling = Telling()
    world.manager.controller(Gadget).dependents(*dependents).build(telling)
    world.create(gadget())
    with world.running():
        telling.errors.wait_for(1)
        world.wait_for_timer()
    return telling.errors


def test_a_failure_holds_up_only_what_depends_on_it(world: World) -> None:
    """OP-DEP-07: and everything that failed is in one error."""

    class AlsoBroken(Dependent[Secret, Gadget]):
        kind = Secret

        def desired(self, ctx: Context[Gadget], primary: Gadget) -> Any:
            return Part(metadata=ObjectMeta(name="a"))

    class After(Dependent[Deployment, Gadget]):
        kind = Deployment
        depends_on = (Broken,)

    (error,) = failing(world, Broken, AlsoBroken, After, Piece)
    assert isinstance(error, DependentErrors)
    assert set(error.errors) == {"Broken", "AlsoBroken"}
    assert str(error) == (
        "AlsoBroken: AlsoBroken is declared for Secret, and desires a Part; Broken: no idea"
    )
    assert isinstance(error.__cause__, ValueError)
    assert world.get(Part)


def test_nothing_is_deleted_because_a_question_failed(world: World) -> None:
    """OP-DEP-05, OP-DEP-07: what is not known to be unwanted stays, and what it depends on."""

    class Optional(Piece):
        def wanted(self, ctx: Context[Gadget], primary: Gadget) -> bool:
            return primary.spec.size == 1

    class Unsure(Settings):
        depends_on = (Optional,)

        def active(self, ctx: Context[Gadget], primary: Gadget) -> bool:
            if primary.spec.size == 2:
                raise ValueError("cannot tell")
            return True

    telling = Telling()
    world.manager.controller(Gadget).dependents(Optional, Unsure).build(telling)
    world.create(gadget())
    with world.running():
        settle(world, telling)
        world.patch(gadget(), resized(2))
        telling.errors.wait_for(1)
    assert [str(a) for a in world.asked.writes() if a.verb == "delete"] == []
    assert str(telling.errors[0]) == "Unsure: cannot tell"


def test_a_run_that_was_cut_short_is_no_failure_of_its_dependents(world: World) -> None:
    """OP-REC-14: so that nothing is reported when a controller stops."""

    class CutShort(Piece):
        def desired(self, ctx: Context[Gadget], primary: Gadget) -> Any:
            raise CancelledError("the request was cut short")

    (error,) = failing(world, Broken, CutShort)
    assert isinstance(error, CancelledError)


def test_a_failure_that_no_retry_can_cure_is_not_tried_again(world: World) -> None:
    """OP-DEP-07, OP-RTY-14"""

    class Hopeless(Settings):
        def desired(self, ctx: Context[Gadget], primary: Gadget) -> Any:
            raise TerminalError("never")

    (error,) = failing(world, Hopeless)
    assert isinstance(error, TerminalError)
    assert error.__class__.__name__ == "TerminalDependentErrors"


# Several


class Many(Dependent[Part, Gadget]):
    kind = Part

    def desired(self, ctx: Context[Gadget], primary: Gadget) -> dict[str, Part]:
        names = [f"a-{number}" for number in range(primary.spec.size)]
        return {name: Part(metadata=ObjectMeta(name=name)) for name in names}


def test_several_objects_are_kept_and_those_too_many_removed(world: World) -> None:
    """OP-DEP-08"""
    recording = start(world, Many)
    world.create(gadget())
    with world.running():
        settle(world, recording)
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

    recording = start(world, Left, Right)
    world.create(gadget())
    with world.running():
        settle(world, recording)
        world.patch(gadget(), resized(2))
        settle(world, recording, 2)
        parts = world.client.resource(Part).namespace("default").list().items
        assert {part.metadata.name: part.metadata.labels for part in parts} == {
            "left-2": {"side": "left"},
            "right": {"side": "right"},
        }
