"""The sample controller may do what it does, and no more."""

from __future__ import annotations

import threading

from clientgo.api.apps_v1 import Deployment
from clientgo.meta import ObjectMeta
from clientgo.testing.fake_client import FakeClient
from clientgo.testing.fakes.actions import Action
from examples.production_controller.permissions import IN_CLUSTER
from sample_controller.controller import new_deployment
from sample_controller.demo import run_controller, running
from sample_controller.types import Foo, FooSpec

_RARE = {
    ("samplecontroller.k8s.io", "foos/finalizers", "update"),  # asked for by some clusters alone
    ("", "events", "patch"),  # an event that is repeated
}
"""What is granted, and need not happen while this test runs."""


def _foo(name: str, replicas: int) -> Foo:
    return Foo(
        metadata=ObjectMeta(name=name, namespace="default", uid=name),
        spec=FooSpec(deployment_name=name, replicas=replicas),
    )


def _deployment(foo: Foo, replicas: int) -> Deployment:
    deployment = new_deployment(foo)
    deployment.spec.replicas = deployment.status.available_replicas = replicas
    return deployment


def _asked(action: Action) -> tuple[str, str, str]:
    resource = action.resource.resource
    if action.subresource:
        resource += f"/{action.subresource}"
    return action.resource.group, resource, str(action.verb)


def test_the_sample_is_granted_what_it_asks_for_and_nothing_else() -> None:
    granted = {
        (permission.group, permission.resource, verb)
        for permission in IN_CLUSTER
        for verb in permission.verbs
    }
    new, scaled, ready = _foo("new", 1), _foo("scaled", 2), _foo("ready", 3)
    asked: set[tuple[str, str, str]] = set()
    changed = threading.Condition()

    def note(action: Action) -> None:
        with changed:
            asked.add(_asked(action))
            changed.notify_all()

    with FakeClient(new, scaled, ready, _deployment(scaled, 1), _deployment(ready, 3)) as client:
        client.prepend_reactor("*", "*", note)
        with running("controller", lambda stop: run_controller(client, stop)), changed:
            assert changed.wait_for(lambda: granted - _RARE <= asked, timeout=30), asked

    assert asked <= granted
