"""All dependents of a controller, looked after in the order in which they depend on each other.

Promises that they are checked when they are declared, and that their kinds are watched: from the
start, or where a dependent may be inactive from the moment when it first is not.

Source: Java Operator SDK ``processing.dependent.workflow``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from clientgo.clock import Clock
from clientgo.meta import APIResource
from clientgo.operator.dependents.declared_dependents import (
    Node,
    connect,
    levels_of,
    nodes_in_order,
)
from clientgo.operator.dependents.outcome import DependentsOutcome
from clientgo.operator.dependents.upkeep import Upkeep, upkeep_of
from clientgo.operator.dependents.workflow_pass import WorkflowPass
from clientgo.operator.dependents.written_objects import WrittenObjects
from clientgo.operator.errors import OperatorError
from clientgo.operator.sources.kind_source import KindSource
from clientgo.operator.sources.source import Source

if TYPE_CHECKING:
    from clientgo.operator.context import Context
    from clientgo.operator.controller import Controller

_LATE_SYNC_TIMEOUT: Final = 10.0
"""Seconds that a run waits for the objects of a kind that has just begun to be watched."""


class Workflow:
    """The dependents of one controller. Thread-safe: runs of different primaries share it.

    Raises :class:`~clientgo.operator.errors.DeclarationError` for dependents that do not go
    together.
    """

    def __init__(
        self, declared: Iterable[Any], primary: APIResource, controller: str, clock: Clock
    ) -> None:
        self._controller = controller
        self.nodes = nodes_in_order(declared, primary, controller)
        self.levels = levels_of(self.nodes)
        self._upkeep = {
            node.name: upkeep_of(
                node.dependent, node.resource, WrittenObjects(f"{controller}: {node.name}", clock)
            )
            for node in self.nodes
        }
        self._lock = threading.Lock()
        self._late: dict[str, KindSource] = {}
        self._watched_late: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self.nodes)

    @property
    def needs_finalizer(self) -> bool:
        """Whether the garbage collector cannot do all of the cleaning."""
        return any(node.is_deleted_by_us for node in self.nodes)

    def sources(self, declared: Sequence[Source]) -> list[KindSource]:
        """What has to be watched from the start, besides what is declared.

        Raises :class:`~clientgo.operator.errors.DeclarationError`.
        """
        missing = connect(self.nodes, declared, self._controller)
        at_once = {node.source for node in self.nodes if not node.dependent.has("active")}
        self._late = {source.name: source for source in missing if source.name not in at_once}
        return [source for source in missing if source.name in at_once]

    def reconcile(
        self, controller: Controller[Any], ctx: Context[Any], obj: Any
    ) -> DependentsOutcome:
        """Bring what there is to what is desired.

        Blocks on the API server. Raises :class:`~clientgo.operator.errors.DependentErrors`.
        """
        current = WorkflowPass(self, controller, ctx, obj)
        for level in self.levels:
            current.keep(level)
        current.remove_unwanted()
        return current.outcome()

    def clean_up(self, controller: Controller[Any], ctx: Context[Any], obj: Any) -> bool:
        """Delete what the garbage collector would not; whether all of it is gone.

        Blocks on the API server. Raises :class:`~clientgo.operator.errors.DependentErrors`.
        """
        current = WorkflowPass(self, controller, ctx, obj)
        current.want_nothing()
        current.remove_unwanted()
        return current.outcome().all_ready

    # For its passes

    def upkeep_of(self, node: Node) -> Upkeep:
        return self._upkeep[node.name]

    def watch_late(self, node: Node, controller: Controller[Any], stop: threading.Event) -> None:
        """See to it that the objects of a dependent that may be inactive are known.

        Raises ``OperatorError`` if they are not listed soon, or at ``stop``.
        """
        source = self._late.get(node.source)
        if source is None:
            return
        with self._lock:
            if source.name not in self._watched_late:
                controller.add_source(source)
                self._watched_late.add(source.name)
        if not source.wait_synced(_LATE_SYNC_TIMEOUT, stop):
            raise OperatorError(
                f"{self._controller}: the {node.resource.kind} objects of {node.name} are not "
                f"listed yet: {source.healthy() or 'still waiting'}"
            )
