"""What has to be sent so that an object becomes what is wanted.

Source: controller-runtime pkg/client MergeFrom, pkg/controller/controllerutil CreateOrPatch.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any

from clientgo.meta import deep_copy, metadata_of, to_plain
from clientgo.meta.json_values import without_nulls
from clientgo.meta.patches import create_merge_patch


def merge_from(base: Any, changed: Any, *, optimistic: bool = False) -> dict[str, Any]:
    """Return the merge patch from one state of an object to another; empty if they are equal.

    With ``optimistic`` it applies only to the very version that ``base`` is.
    """
    patch = merge_patch_between(to_plain(base), to_plain(changed))
    if patch and optimistic:
        patch.setdefault("metadata", {})["resourceVersion"] = metadata_of(base).resource_version
    return patch


def merge_patch_between(there: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the merge patch between two JSON objects; a null is the same as an absent field.

    API servers write nulls, for example into the conditions of pods.
    """
    patch: Any = create_merge_patch(there, wanted)
    if patch:
        patch = create_merge_patch(without_nulls(there), without_nulls(wanted))
    result: dict[str, Any] = patch
    return result


def changed_fields(old: Any, new: Any) -> list[str]:
    """Return the paths of the fields that differ, without what every write changes."""
    return sorted(_paths(create_merge_patch(as_wanted(old), as_wanted(new)), ""))


def _paths(patch: Any, path: str) -> Iterator[str]:
    if not isinstance(patch, dict):
        yield path
        return
    for name, value in patch.items():
        plain = name.replace("_", "").isalnum()
        step = (f".{name}" if path else name) if plain else f"[{name!r}]"
        yield from _paths(value, path + step)


_SHARED_LISTS = ("ownerReferences", "finalizers")
_SERVER_SIDE = ("managedFields", "resourceVersion", "uid", "creationTimestamp", "generation")


def to_apply(obj: Any, *, optimistic: bool) -> dict[str, Any]:
    """Return an object, perhaps one that was read, as a server-side apply takes it."""
    plain = as_wanted(obj)
    if optimistic:
        plain["metadata"]["resourceVersion"] = metadata_of(obj).resource_version
    return plain


def as_wanted(obj: Any) -> dict[str, Any]:
    """Return an object without what only a server can say."""
    plain = to_plain(obj)
    metadata = {
        name: value for name, value in plain["metadata"].items() if name not in _SERVER_SIDE
    }
    return plain | {"metadata": metadata}


def patch_for(existing: Any, obj: Any, mutate: Callable[[Any], object] | None) -> dict[str, Any]:
    """The merge patch that makes of ``existing`` what ``mutate`` does or, without it, all that
    ``obj`` says. Raises like :func:`mutated_in_place`."""
    there = to_plain(existing)
    if mutate is None:
        wanted = with_data(to_plain(obj))
        metadata = metadata_patch(there["metadata"], wanted["metadata"])
        patch = patch_to(there, {name: wanted[name] for name in wanted if name != "metadata"})
        return patch | ({"metadata": metadata} if metadata else {})
    changed = deep_copy(existing)
    mutated_in_place(changed, mutate)
    return merge_patch_between(there, with_data(to_plain(changed)))


def with_data(plain: dict[str, Any]) -> dict[str, Any]:
    """Return a Secret as the API server stores it: with its texts among its data."""
    texts = plain.get("stringData")
    if not texts or (plain.get("apiVersion"), plain.get("kind")) != ("v1", "Secret"):
        return plain
    encoded = {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()}
    rest = {name: value for name, value in plain.items() if name != "stringData"}
    return rest | {"data": {**(plain.get("data") or {}), **encoded}}


def metadata_patch(there: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """Return what is missing; owners and finalizers that others have added stay."""
    rest = {name: value for name, value in wanted.items() if name not in _SHARED_LISTS}
    patch = patch_to(there, rest)
    owners, ours = there.get("ownerReferences") or [], wanted.get("ownerReferences") or []
    if any(owner not in owners for owner in ours):
        uids = {owner["uid"] for owner in ours}
        patch["ownerReferences"] = [*(o for o in owners if o["uid"] not in uids), *ours]
    finalizers = there.get("finalizers") or []
    if missing := [name for name in wanted.get("finalizers") or [] if name not in finalizers]:
        patch["finalizers"] = [*finalizers, *missing]
    return patch


def mutated_in_place(obj: Any, mutate: Callable[[Any], object]) -> None:
    """Raises ``ValueError`` if ``mutate`` makes it another object."""
    metadata = metadata_of(obj)
    before = metadata.namespace, metadata.name
    mutate(obj)
    if (metadata_of(obj).namespace, metadata_of(obj).name) != before:
        raise ValueError(f"mutate must not change the name or namespace of {before[1]!r}")


def differences(actual: Any, desired: Any, path: str = "") -> dict[str, Any]:
    """Return, by path, what ``actual`` has where it is not as ``desired`` says.

    What is not desired is no difference, so neither are the server's defaults; null, ``{}`` and
    ``[]`` desire nothing. Lists of equal length are compared item by item, others as a whole.
    Source: apimachinery third_party/forked/golang/reflect, DeepDerivative.
    """
    if desired in ({}, [], None):
        return {}
    if isinstance(actual, dict) and isinstance(desired, dict):
        pairs = [(f"{path}.{name}", actual.get(name), value) for name, value in desired.items()]
    elif isinstance(actual, list) and isinstance(desired, list) and len(actual) == len(desired):
        both = enumerate(zip(actual, desired, strict=True))
        pairs = [(f"{path}[{position}]", one, other) for position, (one, other) in both]
    else:
        return {} if actual == desired else {path: actual}
    found: dict[str, Any] = {}
    for where, one, other in pairs:
        found |= differences(one, other, where)
    return found


def patch_to(actual: dict[str, Any], desired: dict[str, Any]) -> dict[str, Any]:
    """Return the merge patch after which there are no :func:`differences`; lists go as a whole."""
    patch: dict[str, Any] = {}
    for name, value in desired.items():
        there = actual.get(name)
        if isinstance(there, dict) and isinstance(value, dict):
            if below := patch_to(there, value):
                patch[name] = below
        elif differences(there, value):
            patch[name] = value
    return patch


def left_of(patch: dict[str, Any], stored: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a merge patch that an object does not have after it."""
    left: dict[str, Any] = {}
    for name, value in patch.items():
        there = stored.get(name)
        if isinstance(there, dict) and isinstance(value, dict):
            if below := left_of(value, there):
                left[name] = below
        elif there != value:
            left[name] = value
    return left
