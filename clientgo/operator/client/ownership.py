"""Owner references: whose object this is, for the garbage collector and for mappers.

Promises that a reference which the garbage collector would act wrongly on is refused, and that
other owners stay. Source: controller-runtime pkg/controller/controllerutil.
"""

from __future__ import annotations

from typing import Any, TypeVar

from clientgo.meta import GroupVersion, OwnerReference, metadata_of, resource_of
from clientgo.meta.owner_references import get_controller_of, new_controller_ref
from clientgo.operator.errors import AlreadyOwnedError, OwnershipError

S = TypeVar("S")


def set_controller_reference(owner: Any, obj: S, *, block: bool = True) -> S:
    """Make ``owner`` the controller of ``obj``, which is returned.

    With ``block`` the owner is not deleted in the foreground before the object is. Raises
    ``OwnershipError`` for a reference that cannot be, ``AlreadyOwnedError`` if another object
    controls this one.
    """
    existing = get_controller_of(obj)
    reference = _reference(owner, obj, controller=True, block=block)
    if existing is not None and not _same_object(existing, reference):
        raise AlreadyOwnedError(obj, existing)
    _upsert(obj, reference)
    return obj


def set_owner_reference(owner: Any, obj: S, *, block: bool = False) -> S:
    """Make ``owner`` an owner of ``obj``, beside those that it has. Raises ``OwnershipError``."""
    _upsert(obj, _reference(owner, obj, controller=None, block=block))
    return obj


def check_same_controller(existing: Any, obj: Any) -> None:
    """Raise ``AlreadyOwnedError`` if ``existing`` has another controller than ``obj`` asks for."""
    theirs, ours = get_controller_of(existing), get_controller_of(obj)
    if theirs is not None and ours is not None and theirs.uid != ours.uid:
        raise AlreadyOwnedError(existing, theirs)


def remove_owner_reference(owner: Any, obj: Any) -> bool:
    """Take ``owner`` from the owners of ``obj``; return True if it was one."""
    metadata = metadata_of(obj)
    kept = tuple(ref for ref in metadata.owner_references if ref.uid != metadata_of(owner).uid)
    changed = len(kept) != len(metadata.owner_references)
    metadata.owner_references = kept
    return changed


def has_owner_reference(owner: Any, obj: Any) -> bool:
    """Return True if ``owner`` is an owner of ``obj``."""
    uid = metadata_of(owner).uid
    return any(reference.uid == uid for reference in metadata_of(obj).owner_references or ())


controller_of = get_controller_of
"""The reference to an object's controller, or None."""


def _reference(owner: Any, obj: Any, *, controller: bool | None, block: bool) -> OwnerReference:
    objection = _objection(owner, obj)
    if objection is not None:
        raise OwnershipError(objection)
    reference = new_controller_ref(owner)
    reference.controller = controller
    reference.block_owner_deletion = block or None
    return reference


def _objection(owner: Any, obj: Any) -> str | None:
    owning, owned = metadata_of(owner), metadata_of(obj)
    pair = f"{_kind(owner)} {owning.name!r} cannot own {_kind(obj)} {owned.name!r}"
    if not owning.uid:
        return f"{pair}: the owner has no uid, it was not created yet"
    if not owning.namespace:
        return None
    if not owned.namespace:
        if _is_cluster_scoped(obj):
            return f"{pair}: an object without a namespace cannot have an owner in one"
        return f"{pair}: set the object's namespace first, to {owning.namespace!r}"
    if owned.namespace != owning.namespace:
        return f"{pair}: they are in different namespaces, use a finalizer instead"
    return None


def _upsert(obj: Any, reference: OwnerReference) -> None:
    metadata = metadata_of(obj)
    others = [ref for ref in metadata.owner_references or () if not _same_object(ref, reference)]
    metadata.owner_references = (*others, reference)


def _same_object(one: OwnerReference, other: OwnerReference) -> bool:
    """Return True for the same owner, even in another version of its group."""
    return (one.kind, one.name, _group(one)) == (other.kind, other.name, _group(other))


def _group(reference: OwnerReference) -> str:
    return GroupVersion.parse(reference.api_version).group


def _kind(obj: Any) -> str:
    return getattr(obj, "kind", "") or type(obj).__name__


def _is_cluster_scoped(obj: Any) -> bool:
    try:
        return not resource_of(type(obj)).namespaced
    except TypeError:
        return False
