"""What dependents are refused when a controller is declared."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from clientgo.operator.addons.dependents import Dependent
from clientgo.operator.errors import DeclarationError
from clientgo.tools.scaffold.inferred_rules import controller_rules
from tests.operator.world import Gadget, Part, Planet, Recording, World


class One(Dependent[Part, Gadget]):
    kind = Part

    def desired(self, _ctx: Any, _primary: Gadget) -> None: ...


class Two(One):
    pass


class LabelledOne(One):
    labels = {"side": "left"}


class LabelledTwo(One):
    labels = {"side": "right"}


class LabelledOtherwise(One):
    labels = {"size": "big"}


class Star(Dependent[Planet, Gadget]):
    kind = Planet

    def desired(self, _ctx: Any, _primary: Gadget) -> None: ...


class Needy(Dependent[Planet, Gadget]):
    kind = Planet
    depends_on = (One,)

    def desired(self, _ctx: Any, _primary: Gadget) -> None: ...


class Kindless(Dependent[Any, Gadget]):
    pass


class Undesired(Dependent[Planet, Gadget]):
    kind = Planet


class NeedyInTheWrongWay(One):
    depends_on = One  # type: ignore[assignment]


def declare(world: World, *dependents: Any, reconciler: Any = None) -> None:
    world.manager.controller(Gadget).dependents(*dependents).build(reconciler or Recording())


@pytest.mark.parametrize(
    ("dependents", "message"),
    [
        ((One, Two), "One and Two would take each other's Part objects"),
        ((LabelledOne, LabelledOtherwise), "would take each other's"),
        ((LabelledOne, One), "would take each other's"),
        ((LabelledOne, LabelledOne), "two dependents called LabelledOne"),
        ((Needy,), "Needy depends on One, which is not among"),
        ((Kindless,), "Kindless needs a kind"),
        ((Undesired,), r"Undesired needs desired\(self, ctx, primary\)"),
        ((NeedyInTheWrongWay,), r"NeedyInTheWrongWay.depends_on must be a tuple .* as \(Other,\)"),
        ((Part,), "is no dependent"),
    ],
)
def test_dependents_that_cannot_work_are_refused(
    world: World, dependents: tuple[Any, ...], message: str
) -> None:
    """OP-DEP-01, OP-DEP-04, OP-DEP-10"""
    with pytest.raises(DeclarationError, match=message):
        declare(world, *dependents)


def test_dependents_in_a_circle_are_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """OP-DEP-04"""
    monkeypatch.setattr(One, "depends_on", (Needy,))
    with pytest.raises(DeclarationError, match="in a circle: One, Needy"):
        declare(world, One, Needy)


def test_a_kind_that_the_controller_owns_itself_needs_labels(world: World) -> None:
    """OP-DEP-10: else what the reconciler makes would be deleted as not desired."""
    builder = world.manager.controller(Gadget).owns(Part).dependents(One)
    with pytest.raises(DeclarationError, match="owns Part itself, and One would delete"):
        builder.build(Recording())
    world.manager.controller(Gadget).owns(Part).dependents(LabelledOne).build(Recording())


def test_a_reconciler_by_key_has_no_object_to_describe_for(world: World) -> None:
    """OP-DEP-01"""

    class ByKey:
        def reconcile_key(self, ctx: Any, key: Any) -> None: ...

    with pytest.raises(DeclarationError, match="write reconcile"):
        declare(world, One, reconciler=ByKey())


def test_dependents_that_have_to_be_deleted_need_a_finalizer(world: World) -> None:
    """OP-DEP-03"""
    builder = world.manager.controller(Gadget).dependents(Star).options(finalizer=None)
    with pytest.raises(DeclarationError, match="without a finalizer"):
        builder.build(Recording())


def test_two_dependents_with_labels_share_a_source(world: World) -> None:
    """OP-DEP-10: so that ``ctx.secondaries`` of the kind finds all of them."""
    declare(world, LabelledOne, LabelledTwo)
    (controller,) = world.manager.controllers()
    assert [source.name for source in controller.sources()] == ["primary", "part"]


def test_what_an_operator_may_do_follows_from_its_dependents(world: World) -> None:
    """OP-DEP-01, OP-GEN-14: it manages their objects, and the finalizer where that is needed."""
    declare(world, One, Star)
    (controller,) = world.manager.controllers()
    may = {
        resource: set(rule.verbs)
        for rule in controller_rules(controller)
        for resource in rule.resources
    }
    everything = {"get", "list", "watch", "create", "update", "patch", "delete"}
    assert may["parts"] == may["planets"] == everything
    assert "patch" in may["gadgets"]


@pytest.mark.parametrize("method", ["desired", "matches", "active", "wanted", "ready", "gone"])
def test_a_dependent_may_call_the_objects_as_it_likes(method: str) -> None:
    """A type checker refuses an override that renames what could be passed by keyword."""
    parameters = list(inspect.signature(getattr(Dependent, method)).parameters.values())

    assert {parameter.kind for parameter in parameters} == {inspect.Parameter.POSITIONAL_ONLY}
