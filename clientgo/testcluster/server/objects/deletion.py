"""The rules of a deletion: preconditions, finalizers, and how a marked object looks.

Upstream: apiserver ``registry/rest.BeforeDelete`` and ``registry/generic/registry.Store``.
"""

from __future__ import annotations

from typing import Any

import msgspec

from clientgo.meta.timestamps import format_time, parse_time
from clientgo.testcluster.server.objects.options import DeleteOptions, Propagation
from clientgo.testcluster.server.resources.errors import conflict
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.storage import Object

FOREGROUND_FINALIZER = "foregroundDeletion"
ORPHAN_FINALIZER = "orphan"

_GREATEST_GENERATION = 2**63 - 1

_PROPAGATION_FINALIZERS = {
    Propagation.FOREGROUND: FOREGROUND_FINALIZER,
    Propagation.ORPHAN: ORPHAN_FINALIZER,
}


def check_preconditions(
    resource: Resource, name: str, options: DeleteOptions, metadata: dict[str, Any]
) -> None:
    """Compare the object with the uid and resourceVersion that the client expects.

    Raises:
        FailedRequestError: 409, one is different.
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
    if not resource.strategy.has_dependents:
        return finalizers
    wanted = _propagation_finalizer(resource, finalizers, options)
    kept = [item for item in finalizers if item not in _PROPAGATION_FINALIZERS.values()]
    if wanted:
        kept.append(wanted)
    return finalizers if set(kept) == set(finalizers) else kept


def _propagation_finalizer(
    resource: Resource, finalizers: list[str], options: DeleteOptions
) -> str | None:
    """Return the finalizer of a propagation: the client's, the object's own or the default."""
    if options.propagation is not None:
        return _PROPAGATION_FINALIZERS.get(options.propagation)
    for finalizer in finalizers:
        if finalizer in _PROPAGATION_FINALIZERS.values():
            return finalizer
    return ORPHAN_FINALIZER if resource.strategy.orphans_dependents else None


class Grace(msgspec.Struct, frozen=True):
    """The grace period of a deletion."""

    seconds: int | None
    """None if the object has none: its kind has none, or its time is over."""
    pending: bool = False
    """The deletion has begun and is not shortened: nothing changes."""
    ends_sooner: bool = False
    """The deletion has begun and is shortened."""


def grace_of_deletion(resource: Resource, obj: Object, options: DeleteOptions) -> Grace:
    """Return the grace period of a deletion that begins or is shortened."""
    metadata, requested = obj["metadata"], options.grace_period
    if "deletionTimestamp" not in metadata:
        return Grace(resource.strategy.grace_period(obj, requested))
    current = metadata.get("deletionGracePeriodSeconds")
    if not current:
        return Grace(None)
    if requested is None or requested >= current:
        return Grace(current, pending=True)
    return Grace(requested, ends_sooner=True)


def _as_duration(seconds: int) -> float:
    """Return seconds as a Go Duration holds them, which starts again at -292 years after 292."""
    return ((seconds * 10**9 + 2**63) % 2**64 - 2**63) / 10**9


def marked_deleted(
    resource: Resource, obj: Object, finalizers: list[str], grace: Grace, now: float
) -> Object:
    """Return an object with the finalizers and the deletion's time and grace period."""
    metadata = dict(obj["metadata"])
    marked = obj | {"metadata": metadata}
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    seconds = grace.seconds or 0
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = format_time(now + _as_duration(seconds))
        metadata["deletionGracePeriodSeconds"] = seconds
        if metadata.get("generation"):
            # A client may have given the greatest one to an object of a kind that counts none.
            metadata["generation"] = min(metadata["generation"] + 1, _GREATEST_GENERATION)
        resource.strategy.mark_deleted(marked)
    elif grace.ends_sooner:
        began = parse_time(metadata["deletionTimestamp"]) - metadata["deletionGracePeriodSeconds"]
        metadata["deletionTimestamp"] = format_time(max(began + seconds, now))
        metadata["deletionGracePeriodSeconds"] = (
            seconds if began + seconds >= now else min(seconds, 1)
        )
    elif grace.seconds is None:
        metadata["deletionGracePeriodSeconds"] = 0
    return marked


def is_finished(resource: Resource, new: Object, old: Object) -> bool:
    """Return True if an update removes the last finalizer of an object that is being deleted."""
    metadata = new["metadata"]
    return bool(
        resource.strategy.may_go(new)
        and old["metadata"].get("deletionTimestamp")
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
    )
