"""The dependents of a controller, checked and put in order when it is declared.

Dependents in a circle, or two of one kind that nothing distinguishes, are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from clientgo.meta import APIResource
from clientgo.operator.addons.dependents.dependent import Dependent
from clientgo.operator.cache.object_cache import api_resource
from clientgo.operator.errors import DeclarationError
from clientgo.operator.mappers import by_annotation, by_owner
from clientgo.operator.sources.kind_source import KindSource
from clientgo.operator.sources.source import Source


class Node:
    """One dependent among the others of its controller."""

    def __init__(self, dependent: Dependent[Any, Any], primary: APIResource) -> None:
        self.dependent = dependent
        self.name = str(dependent)
        self.resource = api_resource(dependent.kind)
        self.owned = (
            dependent.owned
            and dependent.deletes
            and (self.resource.namespaced or not primary.namespaced)
        )
        self.needs: list[Node] = []
        self.needed_by: list[Node] = []
        self.source = ""

    @property
    def is_deleted_by_us(self) -> bool:
        """Return True if the primary must not go before its objects have."""
        explicitly = not self.owned or self.dependent.has("gone")
        return self.dependent.deletes and (
            explicitly or any(node.is_deleted_by_us for node in self.needs)
        )


def levels_of(declared: Iterable[Any], primary: APIResource, controller: str) -> list[list[Node]]:
    """Return the dependents by level: those of one level depend only on those of levels before.

    Raises ``DeclarationError``.
    """
    nodes = [Node(_instance(item, controller), primary) for item in declared]
    _check_told_apart(nodes, controller)
    by_class = {type(node.dependent): node for node in nodes}
    for node in nodes:
        for needed in node.dependent.depends_on:
            if needed not in by_class:
                raise DeclarationError(
                    f"controller {controller}: {node.name} depends on {needed.__name__}, which is "
                    "not among the dependents"
                )
            node.needs.append(by_class[needed])
            by_class[needed].needed_by.append(node)
    sorter = TopologicalSorter({node: node.needs for node in nodes})
    try:
        sorter.prepare()
    except CycleError as error:
        names = ", ".join(node.name for node in nodes if node in error.args[1])
        raise DeclarationError(
            f"controller {controller}: dependents depend on each other in a circle: {names}"
        ) from None
    levels: list[list[Node]] = []
    while sorter.is_active():
        ready = sorter.get_ready()
        levels.append([node for node in nodes if node in ready])
        sorter.done(*ready)
    return levels


def connect(nodes: Iterable[Node], declared: Iterable[Source], controller: str) -> list[KindSource]:
    """Find the source of each node's objects; return those to be added.

    Raises ``DeclarationError`` where the controller owns objects of the kind itself, and the
    dependent's have no labels to distinguish them.
    """
    by_kind = {
        source.kind: source
        for source in declared
        if isinstance(source, KindSource) and source.owned
    }
    new: dict[str, KindSource] = {}
    for node in nodes:
        own = by_kind.get(node.dependent.kind) if node.owned else None
        if own is not None:
            if not node.dependent.labels:
                raise DeclarationError(
                    f"controller {controller} owns {node.resource.kind} itself, and {node.name} "
                    "would delete what it does not know: give the dependent labels, or remove owns"
                )
            node.source = own.name
            continue
        source = _source_of(node)
        node.source = source.name
        new.setdefault(source.name, source)
    return list(new.values())


def _source_of(node: Node) -> KindSource:
    kind = node.resource.kind.lower()
    return KindSource(
        node.dependent.kind,
        mapper=by_owner() if node.owned else by_annotation(),
        follow_namespaces=node.owned,
        owned=True,
        name=kind if node.owned else f"{kind}-elsewhere",
    )


def _instance(item: Any, controller: str) -> Dependent[Any, Any]:
    dependent = item() if isinstance(item, type) and issubclass(item, Dependent) else item
    if not isinstance(dependent, Dependent):
        raise DeclarationError(
            f"controller {controller}: {item!r} is no dependent; subclass Dependent"
        )
    if not hasattr(dependent, "kind"):
        raise DeclarationError(f"controller {controller}: {dependent} needs a kind")
    if not dependent.has("desired"):
        raise DeclarationError(
            f"controller {controller}: {dependent} needs desired(self, ctx, primary)"
        )
    if not isinstance(dependent.depends_on, Sequence):
        raise DeclarationError(
            f"controller {controller}: {dependent}.depends_on must be a tuple of dependents, as "
            f"(Other,), not {dependent.depends_on!r}"
        )
    return dependent


def _check_told_apart(nodes: Sequence[Node], controller: str) -> None:
    for position, node in enumerate(nodes):
        for other in nodes[:position]:
            if node.name == other.name:
                raise DeclarationError(
                    f"controller {controller} has two dependents called {node.name}; name one"
                )
            if node.resource.gvk == other.resource.gvk and not _differ(
                node.dependent.labels, other.dependent.labels
            ):
                raise DeclarationError(
                    f"controller {controller}: {other.name} and {node.name} would take each "
                    f"other's {node.resource.kind} objects for their own: give both labels with "
                    "one name and different values"
                )


def _differ(one: Any, other: Any) -> bool:
    """Return True if no object can have both labels."""
    return any(name in other and other[name] != value for name, value in one.items())
