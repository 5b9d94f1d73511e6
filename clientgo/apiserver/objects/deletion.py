"""The rules of a deletion: preconditions, finalizers, and how a marked object looks.

Upstream: apiserver ``registry/rest.BeforeDelete`` and ``registry/generic/registry.Store``.
"""

from __future__ import annotations

from typing import Any

from clientgo.apiserver.objects.options import DeleteOptions, Propagation
from clientgo.apiserver.resources.errors import conflict
from clientgo.apiserver.resources.resource import Resource
from clientgo.apiserver.storage.storage import Object

FOREGROUND_FINALIZER = "foregroundDeletion"
ORPHAN_FINALIZER = "orphan"

_PROPAGATION_FINALIZERS = {
    Propagation.FOREGROUND: FOREGROUND_FINALIZER,
    Propagation.ORPHAN: ORPHAN_FINALIZER,
}


def check_preconditions(
    resource: Resource, name: str, options: DeleteOptions, metadata: dict[str, Any]
) -> None:
    """Compare the object with the uid and resourceVersion that the client expects.

    Raises:
        RequestError: 409, one is different.
    """
    for label, wanted, actual, hint in (
        (
            "UID",
            options.uid,
            metadata["uid"],
            "The object might have been deleted and then recreated",
        ),
        (
            "ResourceVersion",
            options.resource_version,
            metadata["resourceVersion"],
            "The object might have been modified",
        ),
    ):
        if wanted is not None and wanted != actual:
            raise conflict(
                resource,
                name,
                f"the {label} in the precondition ({wanted}) does not match the {label} in record "
                f"({actual}). {hint}",
                by_kind=True,
            )


def finalizers_of_deletion(
    resource: Resource, metadata: dict[str, Any], options: DeleteOptions
) -> list[str]:
    """Return the finalizers that the object has once its deletion has begun."""
    finalizers = list(metadata.get("finalizers") or ())
    if "deletionTimestamp" not in metadata:
        added = resource.strategy.deletion_finalizers
        finalizers += [item for item in added if item not in finalizers]
    if options.propagation is None:
        return finalizers
    kept = [item for item in finalizers if item not in _PROPAGATION_FINALIZERS.values()]
    if finalizer := _PROPAGATION_FINALIZERS.get(options.propagation):
        kept.append(finalizer)
    return kept


def mark_deleted(
    resource: Resource, obj: Object, finalizers: list[str], grace: int, deleted_at: str
) -> None:
    """Set the finalizers and the deletion's time and grace period, in place."""
    metadata = obj["metadata"]
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    if "deletionTimestamp" in metadata:
        if grace < metadata.get("deletionGracePeriodSeconds", 0):
            metadata["deletionGracePeriodSeconds"] = grace
        return
    metadata["deletionTimestamp"] = deleted_at
    metadata["deletionGracePeriodSeconds"] = grace
    if metadata.get("generation"):
        metadata["generation"] += 1
    resource.strategy.mark_deleted(obj)


def is_finished(resource: Resource, new: Object, old: Object) -> bool:
    """Return True if an update removes the last finalizer of an object that is being deleted."""
    metadata = new["metadata"]
    return bool(
        resource.strategy.may_go(new)
        and old["metadata"].get("deletionTimestamp")
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
    )
