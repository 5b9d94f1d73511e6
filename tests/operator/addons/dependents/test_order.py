"""Dependents that depend on each other."""

from __future__ import annotations

import threading
from typing import Any

from clientgo.api.core_v1 import ConfigMap
from clientgo.meta import Resource, resource
from clientgo.operator import Context
from clientgo.operator.addons.dependents import Dependent
from tests.operator.addons.dependents.running import (
    Notes,
    Piece,
    Settings,
    is_gone,
    resized,
    seen,
    settle,
    settled,
)
from tests.operator.world import PATIENCE, Gadget, Part, World, gadget

# Order


class ReadyPiece(Piece):
    def ready(self, ctx: Context[Gadget], primary: Gadget, actual: Part) -> bool:
        return (actual.metadata.labels or {}).get("colour") == "green"


def test_what_depends_on_another_waits_until_that_is_ready(world: World) -> None:
    """OP-DEP-04, OP-DEP-05: and reconcile is told what is not ready."""

    class After(Settings):
        depends_on = (ReadyPiece,)

    outcomes: list[Any] = []
    with settled(
        world, After, ReadyPiece, answer=lambda ctx, obj: outcomes.append(ctx.dependents)
    ) as recording:
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
    with settled(world, Settings, Piece):
        assert world.get(ConfigMap)
        assert world.get(Part)


def test_the_events_of_writes_at_the_same_time_wake_nobody(world: World) -> None:
    """OP-DEP-04, OP-SRC-22: they are known as this controller's own."""
    with settled(world, Settings, Piece) as recording:
        assert seen(world, Part, len)
        settle(world, recording)
    assert len(recording.runs) == 1


class OnlyOfSmallOnes(Piece):
    def wanted(self, ctx: Context[Gadget], primary: Gadget) -> bool:
        return primary.spec.size == 1


class AfterThat(Settings):
    depends_on = (OnlyOfSmallOnes,)


def test_what_is_not_wanted_is_deleted_after_what_depends_on_it(world: World) -> None:
    """OP-DEP-05, OP-DEP-06"""
    with settled(world, OnlyOfSmallOnes, AfterThat):
        world.patch(gadget(), resized(2))
        assert seen(world, Part, lambda found: not found)
    deletions = [str(a) for a in world.asked.writes() if a.verb == "delete"]
    assert deletions == ["delete configmaps default/a", "delete parts default/a"]


def test_nothing_is_deleted_before_what_depends_on_it_is_really_gone(world: World) -> None:
    """OP-DEP-06: a finalizer may hold it for long."""
    with settled(world, OnlyOfSmallOnes, AfterThat) as recording:
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

        def desired(self, _ctx: Context[Gadget], _primary: Gadget) -> None: ...

        def active(self, ctx: Context[Gadget], primary: Gadget) -> bool:
            return False

    class Perhaps(Settings):
        def active(self, ctx: Context[Gadget], primary: Gadget) -> bool:
            return primary.spec.size == 2

    with settled(world, Elsewhere, Perhaps) as recording:
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

    with settled(world, Slow):
        world.delete(gadget())
        asked.wait_for(1)
        world.wait_for_timer()
        assert world.get(Gadget).metadata.finalizers
        world.clock.step(5)
        assert seen(world, Gadget, lambda found: not found)
    assert is_gone(world, Part)
