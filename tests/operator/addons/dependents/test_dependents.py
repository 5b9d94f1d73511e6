"""Dependents that are made, compared and brought in line."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from clientgo.api.apps_v1 import Deployment, DeploymentSpec
from clientgo.api.core_v1 import (
    ConfigMap,
    Container,
    PodSpec,
    PodTemplateSpec,
    ResourceRequirements,
    Secret,
)
from clientgo.api.meta_v1 import LabelSelector
from clientgo.client import Client
from clientgo.meta import ObjectMeta, Unstructured, get_controller_of
from clientgo.operator import Context, Manager, controller
from clientgo.operator.addons.dependents import Dependent
from clientgo.operator.client import set_controller_reference
from clientgo.operator.errors import DependentErrors
from clientgo.rest import HTTPTransport, RestConfig
from clientgo.testing.recording_transport import RecordingTransport
from tests.operator.addons.dependents.running import (
    Piece,
    Settings,
    Telling,
    config_map,
    is_gone,
    resized,
    settle,
    settled,
    start,
)
from tests.operator.world import Gadget, Part, Recording, World, gadget


def start_anew(world: World) -> None:
    """Another manager in the place of the one that has stopped, as in another process."""
    config = RestConfig(server=world.server.url, qps=-1)
    world.asked = RecordingTransport(HTTPTransport(config))
    world.manager = Manager(Client(config, transport=world.asked), metrics="0", clock=world.clock)


# What a declaration gives


@pytest.mark.parametrize("dependent", [Settings, Settings(), Piece])
def test_a_described_object_is_made_and_owned_before_reconcile(
    world: World, dependent: Any
) -> None:
    """OP-DEP-01: it is watched too: when somebody deletes it, it comes again."""
    found: list[Any] = []
    with settled(
        world, dependent, answer=lambda ctx, obj: found.append(ctx.secondary(dependent.kind))
    ) as recording:
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
    with settled(world, dependent) as recording:
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
    with settled(world, dependent) as recording:
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
    with settled(world, Settings) as recording:
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

    with settled(world, Password) as recording:
        world.manager.controllers()[0].trigger(recording.runs[0])
        settle(world, recording, 2)
        assert len(world.writes()) == 1
        world.patch(gadget(), resized(2))
        settle(world, recording, 3)
        assert world.get(Secret).data == {"password": b"2"}


def test_a_field_of_a_config_map_that_the_server_drops_is_sent_once(world: World) -> None:
    """OP-DEP-02"""

    class Odd(Dependent[Any, Gadget]):
        kind = ConfigMap

        def desired(self, ctx: Context[Gadget], primary: Gadget) -> Any:
            plain = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
            return Unstructured.from_dict({**plain, "data": {"a": "b"}, "unknown": "x"})

    with settled(world, Odd) as recording:
        for runs in (2, 3, 4):
            world.manager.controllers()[0].trigger(recording.runs[0])
            settle(world, recording, runs)
        assert len(world.writes()) <= 2
        world.patch(world.get(ConfigMap), {"data": {"a": "c"}})
        settle(world, recording, 5)
        assert world.get(ConfigMap).data == {"a": "b"}


def test_a_field_that_is_not_desired_any_more_goes_and_that_of_another_stays(
    world: World,
) -> None:
    """OP-DEP-02: server-side apply by the controller's name."""

    class Labelled(Piece):
        def desired(self, ctx: Context[Gadget], primary: Gadget) -> Part:
            labels = {"ours": "1"} if primary.spec.size == 1 else {}
            return Part(metadata=ObjectMeta(name="a", labels=labels))

    with settled(world, Labelled) as recording:
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
    with settled(world, Pods) as recording:
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

    with settled(world, OnlyTheFirst) as recording:
        world.patch(gadget(), resized(2))
        settle(world, recording, 2)
        assert world.get(Part).spec.size == 1


def test_a_fight_over_an_object_is_told_of(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """OP-DEP-02: the same write ten times within a minute means that somebody undoes it."""
    recording = start(world, Piece)
    world.create(gadget())
    with caplog.at_level(logging.WARNING, "clientgo.operator.addons.dependents"), world.running():
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
