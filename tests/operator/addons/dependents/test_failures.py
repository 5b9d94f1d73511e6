"""Dependents that fail, and those that depend on them."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.api.apps_v1 import Deployment
from clientgo.api.core_v1 import Secret
from clientgo.meta import ObjectMeta
from clientgo.operator import Context, TerminalError, controller
from clientgo.operator.addons.dependents import Dependent
from clientgo.operator.errors import CancelledError, DependentErrors
from clientgo.testing.operator import run_once
from tests.operator.addons.dependents.running import Piece, Settings, Telling, resized, settle
from tests.operator.world import Gadget, Part, World, gadget

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

        def desired(self, _ctx: Context[Gadget], _primary: Gadget) -> None: ...

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


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([Part(metadata=ObjectMeta(name="a"))], "return an object, a mapping of names to objects"),
        ("a", "Wrong desires 'a', which is no Part"),
        (Part(metadata=ObjectMeta(name="a", namespace="other")), "say owned = False in Wrong"),
    ],
)
def test_an_answer_that_cannot_be_written_says_what_to_return(answer: Any, said: str) -> None:
    """OP-DEP-07: only another answer helps, so it is not asked for again."""

    class Wrong(Dependent[Part, Gadget]):
        kind = Part

        def desired(self, ctx: Context[Gadget], primary: Gadget) -> Any:
            return answer

    @controller(Gadget, dependents=[Wrong])
    class Describing:
        def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None: ...

    error = run_once(Describing(), gadget()).error
    assert isinstance(error, TerminalError)
    assert said in str(error)
