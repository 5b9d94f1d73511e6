"""Cells of volumes, claims, storage classes and drivers.

Upstream: ``pkg/printers/internalversion/printers.go``.
"""

from __future__ import annotations

from clientgo.testcluster.server.kinds.columns.readers import (
    NONE,
    UNSET,
    find,
    is_deleted,
)
from clientgo.testcluster.server.resources.columns import CellReader
from clientgo.testcluster.server.storage.storage import Object

_ACCESS_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}

_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


def access_modes(path: str) -> CellReader:
    """Read access modes in their short form."""
    return lambda obj: ",".join(_ACCESS_MODES.get(mode, mode) for mode in find(obj, path) or ())


def volume_phase(obj: Object) -> str:
    """Return the phase, or Terminating."""
    return "Terminating" if is_deleted(obj) else str(find(obj, "status.phase") or "")


def volume_claim(volume: Object) -> str:
    """Return namespace and name of the claim."""
    claim = volume["spec"].get("claimRef")
    return f"{claim.get('namespace')}/{claim.get('name')}" if claim else ""


def storage_class_name(storage_class: Object) -> str:
    """Return the name, and whether the class is the default."""
    metadata = storage_class["metadata"]
    is_default = metadata.get("annotations", {}).get(_DEFAULT_CLASS) == "true"
    return f"{metadata.get('name', '')} (default)" if is_default else metadata.get("name", "")


def driver_audiences(driver: Object) -> str:
    """Return the audiences of the tokens that a driver gets."""
    requests = driver["spec"].get("tokenRequests") or ()
    return ",".join(item.get("audience", "") for item in requests) or UNSET


def driver_modes(driver: Object) -> str:
    """Return the volume life cycle modes."""
    return ",".join(driver["spec"].get("volumeLifecycleModes") or ()) or NONE


def claim_capacity(claim: Object) -> str:
    """Return the capacity of the volume of a claim."""
    if not find(claim, "spec.volumeName"):
        return ""
    return str(find(claim, "status.capacity.storage") or "0")
