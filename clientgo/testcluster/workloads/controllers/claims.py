"""Claims: what an owner adopts, and what it releases.

Promises the rules of a cluster: an object without a controller is adopted if the selector of its
new owner matches its labels and it is not being deleted; an owned object whose labels do not match
any more is released.

Upstream: ``pkg/controller/controller_ref_manager.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from clientgo.api.core_v1 import ReplicationController
from clientgo.meta import (
    ObjectName,
    Selector,
    get_controller_of,
    new_controller_ref,
    selector_from_labels,
    selector_from_object,
    to_plain,
)
from clientgo.operator import watch
from clientgo.operator.mappers import MapContext
from clientgo.operator.sources import Source


def selector_of(obj: Any) -> Selector:
    """Return what selects the objects of a workload; an empty selector selects nothing."""
    selector = to_plain(obj)["spec"].get("selector")
    if isinstance(obj, ReplicationController):
        return selector_from_labels(selector) if selector else selector_from_object(None)
    return selector_from_object(selector or None)


def orphans(kind: type[Any], adopted_by: type[Any]) -> Source:
    """Return the source of a kind that adopts: objects without a controller."""

    def map_orphan(context: MapContext, orphan: Any) -> Iterable[ObjectName]:
        if get_controller_of(orphan) is not None:
            return ()
        metadata = orphan.metadata
        return [
            ObjectName.of(each)
            for each in context.client.list(adopted_by, namespace=metadata.namespace)
            if selector_of(each).matches(metadata.labels)
        ]

    return watch(kind, mapper=map_orphan, name="orphans")


def claim(
    obj: Any, owned: Iterable[Any], unowned: Iterable[Any]
) -> Sequence[tuple[Any, dict[str, Any]]]:
    """Return the patches that adopt or release objects."""
    selector = selector_of(obj)
    released = [
        (each, _owners(each, [ref for ref in _references(each) if ref.uid != obj.metadata.uid]))
        for each in owned
        if not selector.matches(each.metadata.labels)
    ]
    adopted = [
        (each, _owners(each, [*_references(each), new_controller_ref(obj)]))
        for each in unowned
        if not each.metadata.deletion_timestamp and selector.matches(each.metadata.labels)
    ]
    return released + adopted


def _references(obj: Any) -> Sequence[Any]:
    return obj.metadata.owner_references or ()


def _owners(obj: Any, references: list[Any]) -> dict[str, Any]:
    """Return a patch that fails if another object has the name by now."""
    owners = msgspec.to_builtins(references) or None
    return {"metadata": {"uid": obj.metadata.uid, "ownerReferences": owners}}
