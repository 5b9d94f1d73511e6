"""One pass over the dependents of one primary.

Promises that one that depends on another is written after that is ready, and deleted before it.
What fails holds up only what depends on it; all failures are raised in one error. Requests of
dependents that do not depend on each other are made at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import Any, Final, TypeAlias

from clientgo.meta import (
    ObjectName,
    Unstructured,
    annotations_of,
    deep_copy,
    labels_of,
    metadata_of,
)
from clientgo.operator.addons.dependents.declared_dependents import Node
from clientgo.operator.addons.dependents.writers import Write, Writer
from clientgo.operator.cache.object_cache import api_resource
from clientgo.operator.client.configured_client import kind_of
from clientgo.operator.client.events import OUTSIDE_CACHE
from clientgo.operator.client.ownership import controller_of
from clientgo.operator.client.reading_client import OutsideCache
from clientgo.operator.context import ALL_READY, Context, DependentsOutcome
from clientgo.operator.errors import (
    AlreadyOwnedError,
    CancelledError,
    DependentErrors,
    OperatorError,
    OwnershipError,
    TerminalDependentErrors,
    TerminalError,
)
from clientgo.operator.mappers import default_key

MOST_REQUESTS: Final = 8
"""At the same time, for one primary."""

_Request: TypeAlias = Callable[[], object]


@dataclass(eq=False, kw_only=True)
class WorkflowPass:
    """For the thread of one run. ``watch(node, stop)`` waits for a node that may be inactive."""

    controller: str
    nodes: Sequence[Node]
    writers: Mapping[str, Writer]
    watch: Callable[[Node, Event], object]
    ctx: Context[Any]
    obj: Any
    _objects: dict[str, ObjectsOfPrimary] = field(default_factory=dict, init=False)
    _failed: dict[str, Exception] = field(default_factory=dict, init=False)
    _waiting: list[str] = field(default_factory=list, init=False)
    _unwanted: list[Node] = field(default_factory=list, init=False)
    _inactive: list[Node] = field(default_factory=list, init=False)

    def keep(self, level: Sequence[Node]) -> None:
        """Write dependents of one level; the levels before are done."""
        kept = [node for node in level if self._is_to_be_kept(node)]
        requests: list[tuple[Node, _Request]] = []
        for node in kept:
            with self._failures_of(node):
                requests += [(node, request) for request in self._requests(node)]
        self._make(requests)
        for node in kept:
            with self._failures_of(node):
                if node.name not in self._failed and not self._is_ready(node):
                    self._waiting.append(node.name)

    def want_nothing(self) -> None:
        """Want nothing that the garbage collector would leave, because the primary is being
        deleted."""
        for node in self.nodes:
            with self._failures_of(node):
                if node.is_deleted_by_us and self._is_active(node):
                    self._unwanted.append(node)

    def remove_unwanted(self) -> None:
        """Delete what is not wanted, that which depends on others before those."""
        for node in reversed(self.nodes):
            if node not in self._unwanted or node in self._inactive or node.name in self._failed:
                continue
            if any(self._is_held_up(other) for other in node.needed_by):
                self._waiting.append(node.name)
                continue
            with self._failures_of(node):
                if not self._is_removed(node):
                    self._waiting.append(node.name)

    def outcome(self) -> DependentsOutcome:
        """Return what is left to do. Raises ``DependentErrors``, and ``CancelledError`` if the run
        ends."""
        for error in self._failed.values():
            if isinstance(error, CancelledError):
                raise error
        if self._failed:
            only_terminal = all(isinstance(e, TerminalError) for e in self._failed.values())
            kind = TerminalDependentErrors if only_terminal else DependentErrors
            raise kind(self._failed) from next(iter(self._failed.values()))
        return DependentsOutcome(tuple(self._waiting)) if self._waiting else ALL_READY

    # Deciding

    def _is_to_be_kept(self, node: Node) -> bool:
        if any(needed in self._unwanted for needed in node.needs):
            self._unwanted.append(node)
            with self._failures_of(node):
                self._is_active(node)
            return False
        if any(self._is_held_up(needed) for needed in node.needs):
            self._waiting.append(node.name)
            return False
        with self._failures_of(node):
            if self._is_active(node) and node.dependent.wanted(self.ctx, self.obj):
                return True
            self._unwanted.append(node)
        return False

    def _is_active(self, node: Node) -> bool:
        if not node.dependent.has("active"):
            return True
        if not node.dependent.active(self.ctx, self.obj):
            self._inactive.append(node)
            return False
        self.watch(node, self.ctx.cancelled)
        return True

    def _is_held_up(self, node: Node) -> bool:
        return node.name in self._waiting or node.name in self._failed

    def _requests(self, node: Node) -> Iterator[_Request]:
        """What has to be sent so that the objects of a dependent are as desired."""
        dependent, objects = node.dependent, self._objects_of(node)
        writer = self.writers[node.name]
        desired = objects.desired(dependent.desired(self.ctx, self.obj))
        for key, wanted in desired.items():
            actual = objects.actual(key)
            if not (dependent.creates if actual is None else dependent.updates):
                continue
            if actual is not None and metadata_of(actual).deletion_timestamp:
                continue
            write = writer.due(actual, wanted, self.controller)
            if write is not None:
                yield partial(self._write, objects, write)
        if dependent.deletes:
            for extra in objects.not_among(desired):
                yield self._deletion(node, extra)

    def _is_ready(self, node: Node) -> bool:
        objects = self._objects_of(node)
        return all(
            actual is not None
            and not metadata_of(actual).deletion_timestamp
            and node.dependent.ready(self.ctx, self.obj, actual)
            for actual in objects.wanted()
        )

    def _is_removed(self, node: Node) -> bool:
        if not node.dependent.deletes:
            return True
        self._make([(node, self._deletion(node, obj)) for obj in self._objects_of(node).existing()])
        if node.name in self._failed:
            return False
        left = ObjectsOfPrimary(node, self.ctx, self.obj).existing()
        return not left and node.dependent.gone(self.ctx, self.obj)

    # Doing

    def _write(self, objects: ObjectsOfPrimary, write: Write) -> None:
        objects.stored(write(self.ctx.client))

    def _deletion(self, node: Node, obj: Any) -> _Request:
        def delete() -> None:
            if not metadata_of(obj).deletion_timestamp:
                self.ctx.client.delete(obj, only_this=True)
            self.writers[node.name].forget(ObjectName.of(obj))

        return delete

    def _make(self, requests: Sequence[tuple[Node, _Request]]) -> None:
        """Make requests, several at the same time."""
        if len(requests) < 2:
            for node, request in requests:
                with self._failures_of(node):
                    request()
            return
        with ThreadPoolExecutor(
            min(len(requests), MOST_REQUESTS), f"{self.controller}-dependents"
        ) as pool:
            # Each with the fields of this run, by which log lines and own writes are known.
            started = [
                (node, pool.submit(copy_context().run, request)) for node, request in requests
            ]
        for node, future in started:
            with self._failures_of(node):
                future.result()

    def _objects_of(self, node: Node) -> ObjectsOfPrimary:
        found = self._objects.get(node.name)
        if found is None:
            found = ObjectsOfPrimary(node, self.ctx, self.obj)
            self._objects[node.name] = found
        return found

    @contextmanager
    def _failures_of(self, node: Node) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 - kept, and raised with the others
            self._failed.setdefault(node.name, error)


class ObjectsOfPrimary:
    """For one pass. Reads the caches only."""

    def __init__(self, node: Node, ctx: Context[Any], obj: Any) -> None:
        self._node = node
        self._ctx = ctx
        self._obj = obj
        kind: Any = node.dependent.kind
        self._existing = {
            ObjectName.of(found): found
            for found in ctx.secondaries(kind, source=node.source)
            if _has(labels_of(found), node.dependent.labels)
        }
        self._desired: dict[ObjectName, Any] = {}

    def existing(self) -> list[Any]:
        return list(self._existing.values())

    def desired(self, answer: Any) -> dict[ObjectName, Any]:
        """What a dependent desires, complete: with namespace, labels and owner.

        Raises ``TerminalError`` for what is no object of the kind, and ``OwnershipError``.
        """
        is_one = isinstance(answer, Unstructured) or not isinstance(answer, Mapping)
        answers = {"": answer} if is_one else answer
        for obj in answers.values():
            if obj is not None:
                prepared = self._prepared(obj)
                self._desired[ObjectName.of(prepared)] = prepared
        return self._desired

    def actual(self, key: ObjectName) -> Any | None:
        """Return the object of that name. Raises ``AlreadyOwnedError``, ``OwnershipError`` if it
        has another owner, ``OperatorError`` if it must go first and the cache will not say when."""
        found = self._existing.get(key)
        if found is None:
            kind: Any = self._node.dependent.kind
            found = self._ctx.client.find(kind, key.name, key.namespace)
            outside = found is None and self._ctx.client.find_outside_cache(
                kind, key.name, key.namespace
            )
            if outside:
                found = outside.obj
            if found is not None:
                self._check_has_no_other_owner(found)
                self._existing[key] = found
            if outside and outside.limits:
                self._report(key, outside)
        return found

    def _report(self, key: ObjectName, outside: OutsideCache) -> None:
        what = f"{self._node.resource.kind} {key} exists, but the cache has only objects"
        if metadata_of(outside.obj).deletion_timestamp:
            raise OperatorError(f"{what} {outside.limits}, and it is being deleted; trying again")
        self._ctx.events.warning(
            OUTSIDE_CACHE, f"{what} {outside.limits}; it was read from the API server"
        )

    def stored(self, obj: Any) -> None:
        """This was the answer to a write."""
        self._existing[ObjectName.of(obj)] = obj

    def wanted(self) -> list[Any | None]:
        """Return the objects that are desired, as they are now."""
        return [self._existing.get(key) for key in self._desired]

    def not_among(self, desired: Collection[ObjectName]) -> list[Any]:
        return [found for key, found in self._existing.items() if key not in desired]

    def _prepared(self, obj: Any) -> Any:
        node = self._node
        try:
            kind = kind_of(obj)
        except TypeError as error:
            raise TerminalError(
                f"{node.name} desires {obj!r:.100}, which is no {node.resource.kind}: return an "
                "object, a mapping of names to objects for several, or None"
            ) from error
        resource = kind if node.resource is kind else api_resource(kind)
        if resource.gvk != node.resource.gvk:
            raise TerminalError(
                f"{node.name} is declared for {node.resource.kind}, and desires a {resource.kind}"
            )
        obj = deep_copy(obj)
        metadata = metadata_of(obj)
        if node.resource.namespaced and not metadata.namespace:
            metadata.namespace = self._ctx.key.namespace
        metadata.labels = {**(metadata.labels or {}), **node.dependent.labels}
        if node.owned:
            try:
                return self._ctx.own(obj)
            except OwnershipError as error:
                raise TerminalError(
                    f"{error}; or, as this is a dependent, say owned = False in {node.name}"
                ) from error
        metadata.annotations = {**(metadata.annotations or {}), **self._marks()}
        return obj

    def _marks(self) -> dict[str, str]:
        """Return the annotations by which an object without an owner is found again."""
        primary, key = self._ctx.primary, self._ctx.key
        marks = {default_key(primary, "name"): key.name}
        if primary.namespaced:
            marks[default_key(primary, "namespace")] = key.namespace
        return marks

    def _check_has_no_other_owner(self, found: Any) -> None:
        owner = controller_of(found)
        if owner is not None and owner.uid != metadata_of(self._obj).uid:
            raise AlreadyOwnedError(found, owner)
        marked = annotations_of(found)
        for name, value in self._marks().items():
            if not self._node.owned and marked.get(name, value) != value:
                raise OwnershipError(
                    f"{self._node.resource.kind} {ObjectName.of(found)} belongs to another "
                    f"{self._ctx.primary.kind}, as its annotation {name} says: {marked[name]!r}; "
                    "choose another name"
                )


def _has(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(labels.get(name) == value for name, value in wanted.items())
