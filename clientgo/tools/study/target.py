"""What a study shows: a controller, what it needs on the server, and what one can do to it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Final

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.client import Client
from clientgo.codegen.crd import custom_resource_definition
from clientgo.meta import ObjectName
from clientgo.rest import RestConfig
from clientgo.tools.study.actions import Action, FooActions, ObjectActions
from clientgo.tools.study.foo_controller import Foo, FooController, Sync, foo_controller
from clientgo.util.copies import CopyableError

Runner = Callable[[RestConfig], AbstractContextManager[object]]
"""Runs a controller with a configuration until the end of the block."""

_DEFINITION: Final = "CustomResourceDefinition"


class TargetError(CopyableError, ValueError):
    """The controller that was asked for can't be studied."""


@dataclass(frozen=True)
class Target:
    """A controller to study.

    ``informers`` are their names, in the order of the picture; others follow. ``definitions`` are
    created before the controller runs, ``objects`` afterwards. ``code`` has its functions, by the
    hop or boundary that they belong to.
    """

    title: str
    run: Runner
    informers: Sequence[str] = ()
    definitions: Sequence[Mapping[str, Any]] = ()
    objects: Sequence[Mapping[str, Any]] = ()
    actions: Sequence[Action] = ()
    code: Mapping[str, Callable[..., object]] = field(default_factory=dict)


class _FailingSyncs:
    """Lets the next syncs of a controller fail."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left = 0

    def fail(self, times: int) -> None:
        with self._lock:
            self._left = times

    def wrap(self, sync: Sync) -> Sync:
        def failing_sync(name: ObjectName) -> None:
            with self._lock:
                fails, self._left = self._left > 0, max(self._left - 1, 0)
            if fails:
                raise RuntimeError("the study page asked for a failure")
            sync(name)

        return failing_sync


def foo_target() -> Target:
    """Return the Foo controller that is part of this package."""
    failing = _FailingSyncs()
    actions = FooActions(failing.fail)
    return Target(
        title="the Foo controller: it keeps a Deployment for each Foo",
        run=lambda config: foo_controller(config, failing.wrap),
        informers=("Foo", "Deployment"),
        definitions=[custom_resource_definition(Foo)],
        objects=[actions.new_foo()],
        actions=actions.all(),
        code={
            "handler.call Foo": FooController.enqueue,
            "handler.call Deployment": FooController.enqueue_owner,
            "sync": FooController.sync,
        },
    )


def own_target(title: str, run: Runner, manifests: Sequence[Mapping[str, Any]]) -> Target:
    """Return the user's controller, with the manifests of what it works on.

    Raises :class:`TargetError` if there is no object to work on.
    """
    definitions = [one for one in manifests if one.get("kind") == _DEFINITION]
    objects = [one for one in manifests if one.get("kind") != _DEFINITION]
    if not objects:
        raise TargetError("the manifests hold no object for the controller: add one to change")
    return Target(
        title=title,
        run=run,
        definitions=definitions,
        objects=objects,
        actions=ObjectActions(objects).all(),
    )


def create_definitions(client: Client, definitions: Sequence[Mapping[str, Any]]) -> None:
    """Create definitions; the embedded server serves their kinds when this returns."""
    for definition in definitions:
        client.resource(CustomResourceDefinition).create(definition)
