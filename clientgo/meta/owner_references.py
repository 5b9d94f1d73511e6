"""Which object controls another one.

An object has at most one controller: the reference with `controller` set. Owners are compared by
uid, so a deleted and recreated owner is another one. Takes our objects, the `kubernetes` package's
and plain dicts. Does not check that the owner exists. Source: apimachinery `meta/v1`
GetControllerOf, IsControlledBy, NewControllerRef.
"""

from __future__ import annotations

from typing import Any

from clientgo.meta.group_version import GroupVersionKind
from clientgo.meta.objects.accessor import metadata_of
from clientgo.meta.objects.object_meta import OwnerReference


def get_controller_of(obj: Any) -> OwnerReference | None:
    """Return the reference to the object's controller, or None; treat it as read-only."""
    for reference in metadata_of(obj).owner_references or ():
        if reference.controller:
            found: OwnerReference = reference
            return found
    return None


def is_controlled_by(obj: Any, owner: Any) -> bool:
    """Tell whether `owner` is the controller of `obj`."""
    reference = get_controller_of(obj)
    return reference is not None and reference.uid == metadata_of(owner).uid


def new_controller_ref(owner: Any, kind: GroupVersionKind | None = None) -> OwnerReference:
    """Return the reference that makes `owner` the controller of the object that carries it.

    The owner is not deleted in the foreground before that object. Without `kind`, the owner's own
    ``api_version`` and ``kind`` are used; an owner without them raises ``ValueError``, because the
    garbage collector would take the reference for a dangling one.
    """
    api_version = kind.api_version if kind else getattr(owner, "api_version", "")
    kind_name = kind.kind if kind else getattr(owner, "kind", "")
    metadata = metadata_of(owner)
    if kind is None and not (api_version and kind_name):
        raise ValueError(f"{metadata.name!r} does not say its kind; pass one to new_controller_ref")
    return OwnerReference(
        api_version=api_version,
        kind=kind_name,
        name=metadata.name,
        uid=metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )
