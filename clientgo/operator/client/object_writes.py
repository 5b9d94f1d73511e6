"""What the framework itself writes to a primary: results, finalizers, statuses.

Promises that nothing is sent where nothing has changed, and that a write says which version it was
decided on unless the result waives that.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from clientgo.client import PatchKind
from clientgo.meta import (
    ConflictError,
    InvalidError,
    NotFoundError,
    deep_copy,
    metadata_of,
    to_plain,
)
from clientgo.meta.patches import create_merge_patch
from clientgo.operator.client.live_client import LiveClient
from clientgo.operator.result import Result, Write

_REMOVAL_ATTEMPTS = 10


def write_result(client: LiveClient, before: Any, result: Result) -> Any:
    """Write what a result says; returns the object as it is stored now.

    ``before`` is the object as it was read.
    """
    if result.write is Write.NOTHING:
        return before
    current = before
    if result.write in (Write.RESOURCE, Write.BOTH):
        current = _write_resource(client, current, result)
    if result.write in (Write.STATUS, Write.BOTH):
        current = write_status(
            client, current, result.obj, mode=result.mode, optimistic=result.optimistic
        )
    return current


def write_status(
    client: LiveClient, current: Any, wanted: Any, *, mode: str = "patch", optimistic: bool = True
) -> Any:
    """Make the status of ``current`` that of ``wanted``; no request if it is."""
    status = to_plain(wanted).get("status")
    patch = create_merge_patch(
        {"status": to_plain(current).get("status") or {}}, {"status": status or {}}
    )
    if not patch:
        return current
    if mode == "apply":
        versioned = _versioned(wanted, current, optimistic=optimistic)
        return client.apply(versioned, optimistic=optimistic, subresource="status")
    if mode == "update":
        versioned = _versioned(wanted, current, optimistic=optimistic)
        return client.update(versioned, subresource="status")
    assert isinstance(patch, dict)
    return client.patch(current, _guarded(patch, current, optimistic), subresource="status")


def add_finalizers_now(client: LiveClient, obj: Any, names: Sequence[str]) -> Any:
    """Add missing finalizers; a conflict if the object has changed since it was read."""
    metadata = metadata_of(obj)
    patch: list[dict[str, Any]] = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": metadata.resource_version}
    ]
    if metadata.finalizers:
        path = "/metadata/finalizers/-"
        patch += [{"op": "add", "path": path, "value": name} for name in names]
    else:
        patch.append({"op": "add", "path": "/metadata/finalizers", "value": list(names)})
    return client.patch(obj, patch, PatchKind.JSON)


def remove_finalizers_now(client: LiveClient, obj: Any, names: Collection[str]) -> None:
    """Remove finalizers; after a conflict the object is read and tried again, up to ten times.

    An object that is gone has no finalizers any more.
    """
    for attempt in range(1, _REMOVAL_ATTEMPTS + 1):
        metadata = metadata_of(obj)
        left = [name for name in metadata.finalizers if name not in names]
        if len(left) == len(metadata.finalizers):
            return
        patch = {"metadata": {"resourceVersion": metadata.resource_version, "finalizers": left}}
        try:
            client.patch(obj, patch)
        except NotFoundError:
            return
        except (ConflictError, InvalidError):
            if attempt == _REMOVAL_ATTEMPTS:
                raise
            live = client.live if hasattr(client, "live") else client
            found = live.find(type(obj), metadata.name, metadata.namespace or "")
            if found is None or metadata_of(found).uid != metadata.uid:
                return
            obj = found
        else:
            return


def _write_resource(client: LiveClient, current: Any, result: Result) -> Any:
    wanted = to_plain(result.obj)
    there = to_plain(current)
    patch = create_merge_patch(_without_status(there), _without_status(wanted))
    if not patch:
        return current
    if result.mode == "apply":
        versioned = _versioned(result.obj, current, optimistic=result.optimistic)
        return client.apply(versioned, optimistic=result.optimistic)
    if result.mode == "update":
        return client.update(_versioned(result.obj, current, optimistic=result.optimistic))
    assert isinstance(patch, dict)
    return client.patch(current, _guarded(patch, current, result.optimistic))


def _versioned(wanted: Any, current: Any, *, optimistic: bool) -> Any:
    """What is wanted, as a change of the version that is there now, or of whichever is."""
    copied = deep_copy(wanted)
    metadata = metadata_of(copied)
    metadata.resource_version = metadata_of(current).resource_version if optimistic else ""
    return copied


def _guarded(patch: dict[str, Any], current: Any, optimistic: bool) -> dict[str, Any]:
    metadata = dict(patch.get("metadata") or {})
    metadata.pop("resourceVersion", None)
    if optimistic:
        metadata["resourceVersion"] = metadata_of(current).resource_version
    return (
        {**patch, "metadata": metadata}
        if metadata
        else {name: value for name, value in patch.items() if name != "metadata"}
    )


def _without_status(plain: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in plain.items() if name != "status"}
