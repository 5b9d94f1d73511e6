"""All dependents of a controller, in the order in which they depend on each other.

Promises that their kinds are watched: from the start or, for one that may be inactive, from when it
first is active. The controller sees nothing of it: :func:`with_dependents` puts the work into the
reconciler's methods.

Source: Java Operator SDK ``processing.dependent.workflow``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from clientgo.meta import APIResource
from clientgo.operator.addons.dependents.declared_dependents import (
    Node,
    connect,
    levels_of,
)
from clientgo.operator.addons.dependents.workflow_pass import WorkflowPass
from clientgo.operator.addons.dependents.writers import Writer
from clientgo.operator.cache.object_cache import api_resource
from clientgo.operator.context import Context, DependentsOutcome
from clientgo.operator.controller.declaration import Declaration
from clientgo.operator.errors import DeclarationError, OperatorError
from clientgo.operator.reconciler import Shape
from clientgo.operator.result import Result
from clientgo.operator.sources.kind_source import KindSource
from clientgo.operator.sources.source import Source
from clientgo.util.clock import Clock

_SYNC_TIMEOUT: Final = 10.0
"""Seconds that a run waits for the objects of a kind that has just begun to be watched."""

_DELETION_PERIOD: Final = 5.0
"""Seconds between checks of dependents that are being deleted, in addition to their events."""


def with_dependents(shape: Shape, declaration: Declaration, controller: str, clock: Clock) -> Shape:
    """Return a reconciler that writes the declared dependents before ``reconcile``.

    Its ``cleanup`` deletes what the garbage collector would not, after the reconciler's own. Raises
    ``DeclarationError``.
    """
    if not declaration.dependents:
        return shape
    inner = shape.reconcile
    if inner is None:
        raise DeclarationError(
            f"controller {controller}: dependents are described for an object; write "
            "reconcile(self, ctx, obj), not reconcile_key"
        )
    primary = api_resource(declaration.primary)
    workflow = Workflow(declaration.dependents, primary, controller, clock)

    own_sources = shape.sources

    def sources(services: Any) -> list[Source]:
        own = [] if own_sources is None else list(own_sources(services))
        return [*own, *workflow.sources([*declaration.sources, *own])]

    def reconcile(ctx: Context[Any], obj: Any) -> Any:
        if not ctx.deleted:
            ctx.dependents = workflow.reconcile(ctx, obj)
        return inner(ctx, obj)

    own_cleanup = shape.cleanup

    def cleanup(ctx: Context[Any], obj: Any) -> Any:
        return None if own_cleanup is None else own_cleanup(ctx, obj)

    def after_cleanup(ctx: Context[Any], obj: Any, result: Result) -> Result:
        if workflow.clean_up(ctx, obj):
            return result
        return Result.requeue(_DELETION_PERIOD).keep_finalizer()

    shape = replace(shape, sources=sources, reconcile=reconcile)
    if shape.cleanup is None and not workflow.needs_finalizer:
        return shape
    return replace(shape, cleanup=cleanup, after_cleanup=after_cleanup)


class Workflow:
    """The dependents of one controller. Thread-safe. Raises ``DeclarationError``."""

    def __init__(
        self, declared: Iterable[Any], primary: APIResource, controller: str, clock: Clock
    ) -> None:
        self._controller = controller
        self._levels = levels_of(declared, primary, controller)
        self._nodes = [node for level in self._levels for node in level]
        self._writers = {
            node.name: Writer(node.dependent, node.resource, f"{controller}: {node.name}", clock)
            for node in self._nodes
        }
        self._sources: dict[str, KindSource] = {}

    @property
    def needs_finalizer(self) -> bool:
        """Return True if the garbage collector cannot do all of the cleaning."""
        return any(node.is_deleted_by_us for node in self._nodes)

    def sources(self, declared: Sequence[Source]) -> list[KindSource]:
        """Return the additional sources. Raises ``DeclarationError``."""
        missing = connect(self._nodes, declared, self._controller)
        always = {node.source for node in self._nodes if not node.dependent.has("active")}
        for source in missing:
            source.starts_later = source.name not in always
        self._sources = {source.name: source for source in missing}
        return missing

    def reconcile(self, ctx: Context[Any], obj: Any) -> DependentsOutcome:
        """Bring what exists to what is desired. Blocks; raises ``DependentErrors``."""
        current = self._new_pass(ctx, obj)
        for level in self._levels:
            current.keep(level)
        current.remove_unwanted()
        return current.outcome()

    def clean_up(self, ctx: Context[Any], obj: Any) -> bool:
        """Delete what the garbage collector would not; return True if all of it is gone.

        Blocks on the API server; raises ``DependentErrors``.
        """
        current = self._new_pass(ctx, obj)
        current.want_nothing()
        current.remove_unwanted()
        return current.outcome().all_ready

    def _new_pass(self, ctx: Context[Any], obj: Any) -> WorkflowPass:
        return WorkflowPass(
            controller=self._controller,
            nodes=self._nodes,
            writers=self._writers,
            watch=self._watch,
            ctx=ctx,
            obj=obj,
        )

    def _watch(self, node: Node, stop: threading.Event) -> None:
        """Watch the objects of a dependent that may be inactive.

        Raises ``OperatorError`` if they are not listed soon, or at ``stop``.
        """
        source = self._sources.get(node.source)
        if source is None:
            return
        source.begin()
        if not source.wait_synced(_SYNC_TIMEOUT, stop):
            raise OperatorError(
                f"{self._controller}: the {node.resource.kind} objects of {node.name} are not "
                f"listed yet: {source.healthy() or 'still waiting'}"
            )
