"""What a study shows: a controller, what it needs on the server, and what one can do to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.client import Client
from clientgo.rest import RestConfig
from clientgo.tools.study.actions import Action
from clientgo.tools.study.actions.foos import FooActions
from clientgo.tools.study.actions.objects import ObjectActions
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


def foo_target() -> Target:
    """Return the sample controller, which is installed beside this package."""
    # By name, as a user's controller is: the library does not import its sample.
    demo = import_module("sample_controller.demo")
    code = import_module("sample_controller.controller")
    actions = FooActions()
    return Target(
        title="the sample controller: it keeps a Deployment for each Foo",
        run=demo.controller,
        informers=("Foo", "Deployment"),
        definitions=[demo.artifact("crd-status-subresource.yaml")],
        objects=[actions.new_foo()],
        actions=actions.all(),
        code={
            "handler.call Foo": code.Controller.enqueue_foo,
            "handler.call Deployment": code.Controller.handle_object,
            "sync": code.FooSyncer.sync,
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
