"""What is told from the declarations is enough for what the framework does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clientgo.operator import LeaderElection, Result
from clientgo.operator.permissions import PolicyRule
from clientgo.testing.fakes.actions import Action, Verb
from clientgo.tools.scaffold.inferred_rules import controller_rules, lease_rule
from tests.operator.world import GadgetStatus, Part, World, gadget, part


class Making:
    """Uses all that the framework offers: a finalizer, an owned object, a status, an Event."""

    def reconcile(self, ctx: Any, obj: Any) -> Result:
        ctx.client.create_or_update(ctx.own(part(obj.metadata.name)))
        ctx.events.normal("Made", "a part was made")
        obj.status = GadgetStatus(ready=1)
        return Result.status(obj)

    def cleanup(self, ctx: Any, obj: Any) -> None: ...


def _is_granted(action: Action, rules: list[PolicyRule]) -> bool:
    resource = action.resource.resource
    if action.subresource:
        resource += f"/{action.subresource}"
    return any(
        action.resource.group in rule.groups
        and resource in rule.resources
        and action.verb in rule.verbs
        and rule.namespace in ("", action.namespace)
        for rule in rules
    )


def test_an_operator_asks_for_nothing_that_it_is_not_granted(
    make_world: Callable[..., World],
) -> None:
    """OP-GEN-13"""
    election = LeaderElection(id="making", namespace="default")
    world = make_world(real_time=True, namespaces=["default"], leader_election=election)
    controller = world.manager.controller(type(gadget())).owns(Part).build(Making())
    rules = [*controller_rules(controller), lease_rule("default")]

    def asked(verb: Verb, resource: str, subresource: str = "") -> Callable[[list[Action]], bool]:
        return lambda actions: any(
            (a.verb, a.resource.resource, a.subresource) == (verb, resource, subresource)
            for a in actions
        )

    with world.running():
        world.create(gadget())
        world.asked.wait_for(asked(Verb.PATCH, "gadgets", "status"))
        world.asked.wait_for(asked(Verb.CREATE, "events"))
        world.delete(gadget())
        world.asked.wait_for(
            lambda actions: sum(a.verb is Verb.PATCH and not a.subresource for a in actions) >= 2
        )

    reviews = "authorization.k8s.io"  # about the user itself, allowed for all users
    about = [a for a in world.asked.actions() if a.resource.group != reviews]
    assert {str(a) for a in about if not _is_granted(a, rules)} == set()
