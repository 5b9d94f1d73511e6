"""What has to be sent so that an object becomes what is wanted.

Promises that what only a server can say, and what it fills in where nothing is said, makes no
difference.

Source: controller-runtime pkg/client MergeFrom, pkg/controller/controllerutil CreateOrPatch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from clientgo.meta import deep_copy, metadata_of, to_plain
from clientgo.meta.patches import create_merge_patch


def merge_from(base: Any, changed: Any, *, optimistic: bool = False) -> dict[str, Any]:
    """The merge patch from one state of an object to another; empty if they are equal.

    With ``optimistic`` it applies only to the very version that ``base`` is.
    """
    patch: Any = create_merge_patch(to_plain(base), to_plain(changed))
    if patch and optimistic:
        patch.setdefault("metadata", {})["resourceVersion"] = metadata_of(base).resource_version
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


_SERVER_SIDE = ("managedFields", "resourceVersion", "uid", "creationTimestamp", "generation")


def to_apply(obj: Any, *, optimistic: bool) -> dict[str, Any]:
    """An object, perhaps one that was read, as a server-side apply takes it."""
    plain = as_wanted(obj)
    if optimistic:
        plain["metadata"]["resourceVersion"] = metadata_of(obj).resource_version
    return plain


def as_wanted(obj: Any) -> dict[str, Any]:
    """An object without what only a server can say."""
    plain = to_plain(obj)
    metadata = {
        name: value for name, value in plain["metadata"].items() if name not in _SERVER_SIDE
    }
    return plain | {"metadata": metadata}


def patch_for(existing: Any, obj: Any, mutate: Callable[[Any], object] | None) -> dict[str, Any]:
    """The merge patch that makes of ``existing`` what ``mutate`` does or, without it, all that
    ``obj`` says. Raises like :func:`mutated_in_place`."""
    before = to_plain(existing)
    if mutate is None:
        return _missing_from(before, to_plain(obj)) or {}
    changed = deep_copy(existing)
    mutated_in_place(changed, mutate)
    return merge_from(existing, changed)


def mutated_in_place(obj: Any, mutate: Callable[[Any], object]) -> None:
    """Raises ``ValueError`` if ``mutate`` makes it another object."""
    metadata = metadata_of(obj)
    before = metadata.namespace, metadata.name
    mutate(obj)
    if (metadata_of(obj).namespace, metadata_of(obj).name) != before:
        raise ValueError(f"mutate must not change the name or namespace of {before[1]!r}")


def _missing_from(there: Any, wanted: Any) -> Any:
    """What a merge patch has to say so that everything ``wanted`` is so; None for nothing."""
    if isinstance(there, dict) and isinstance(wanted, dict):
        changes = {}
        for name, value in wanted.items():
            change = _missing_from(there.get(name), value)
            if change is not None:
                changes[name] = change
        return changes or None
    if isinstance(there, list) and isinstance(wanted, list) and len(there) == len(wanted):
        same = all(
            _missing_from(one, other) is None for one, other in zip(there, wanted, strict=True)
        )
        return None if same else wanted
    return None if there == wanted or wanted in ({}, [], None) else wanted
