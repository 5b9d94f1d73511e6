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
from clientgo.operator.client.configured_client import kind_of
from clientgo.operator.client.differences import merge_patch_between
from clientgo.operator.client.live_client import LiveClient
from clientgo.operator.errors import is_gone
from clientgo.operator.result import Result, Write

_REMOVAL_ATTEMPTS = 10


def write_result(client: LiveClient, before: Any, result: Result) -> Any:
    """Write what a result says; return the object as it is stored now.

    ``before`` is the object as it was read.
    """
    current, mode, optimistic = before, result.mode, result.optimistic
    if result.write in (Write.RESOURCE, Write.BOTH):
        there, wanted = (_without(to_plain(obj), "status") for obj in (before, result.obj))
        patch = merge_patch_between(there, wanted)
        current = _write(client, before, result.obj, patch, mode, optimistic)
    if result.write in (Write.STATUS, Write.BOTH):
        current = write_status(client, current, result.obj, mode=mode, optimistic=optimistic)
    return current


def write_status(
    client: LiveClient, current: Any, wanted: Any, *, mode: str = "patch", optimistic: bool = True
) -> Any:
    """Make the status of ``current`` that of ``wanted``; no request if it is."""
    there, new = ({"status": to_plain(obj).get("status") or {}} for obj in (current, wanted))
    patch = merge_patch_between(there, new)
    return _write(client, current, wanted, patch, mode, optimistic, "status")


def _write(
    client: LiveClient,
    current: Any,
    wanted: Any,
    patch: dict[str, Any],
    mode: str,
    optimistic: bool,
    subresource: str = "",
) -> Any:
    """Write ``patch``, by which ``wanted`` differs from ``current``, in a mode."""
    version = metadata_of(current).resource_version if optimistic else ""
    if not patch:
        return current
    if mode == "patch":
        metadata = {**patch.get("metadata", {}), "resourceVersion": version}
        if not optimistic:
            del metadata["resourceVersion"]
        patch = {**patch, "metadata": metadata} if metadata else _without(patch, "metadata")
        return client.patch(current, patch, subresource=subresource)
    copied = deep_copy(wanted)
    metadata_of(copied).resource_version = version
    if mode == "apply":
        return client.apply(copied, optimistic=optimistic, subresource=subresource)
    return client.update(copied, subresource=subresource)


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
    try:
        return client.patch(obj, patch, PatchKind.JSON)
    except InvalidError as error:
        # So a server answers a test that fails, and anything else that it does not take.
        found = read_again(client, obj)
        if found is None or metadata_of(found).resource_version == metadata.resource_version:
            raise
        raise ConflictError.of(f"{metadata.name} has changed since it was read") from error


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
        except NotFoundError as error:
            if is_gone(error, metadata.name):
                return
            raise
        except (ConflictError, InvalidError):
            if attempt == _REMOVAL_ATTEMPTS:
                raise
            found = read_again(client, obj)
            if found is None or metadata_of(found).uid != metadata.uid:
                return
            obj = found
        else:
            return


def read_again(client: LiveClient, obj: Any) -> Any | None:
    """Return an object as the API server has it; None if it says that there is none."""
    metadata = metadata_of(obj)
    try:
        return client.live.get(kind_of(obj), metadata.name, metadata.namespace or "")
    except NotFoundError as error:
        if is_gone(error, metadata.name):
            return None
        raise


def _without(plain: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in plain.items() if key != name}
