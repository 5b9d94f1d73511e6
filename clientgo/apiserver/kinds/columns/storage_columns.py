"""The columns of volumes, claims, and the classes and drivers behind them.

Upstream: ``pkg/printers/internalversion/printers.go``.
"""

from __future__ import annotations

from clientgo.apiserver.kinds.columns.columns import (
    NONE,
    UNSET,
    column,
    count,
    find,
    is_deleted,
    text,
    yes_or_no,
)
from clientgo.apiserver.resources.columns import AGE, NAME, CellReader, Column
from clientgo.apiserver.storage.storage import Object

_ACCESS_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}

_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


def _access_modes(path: str) -> CellReader:
    return lambda obj: ",".join(_ACCESS_MODES.get(mode, mode) for mode in find(obj, path) or ())


def _phase(obj: Object) -> str:
    return "Terminating" if is_deleted(obj) else str(find(obj, "status.phase") or "")


def _claim(volume: Object) -> str:
    claim = volume["spec"].get("claimRef")
    return f"{claim.get('namespace')}/{claim.get('name')}" if claim else ""


def _class_name(storage_class: Object) -> str:
    metadata = storage_class["metadata"]
    is_default = metadata.get("annotations", {}).get(_DEFAULT_CLASS) == "true"
    return f"{metadata.get('name', '')} (default)" if is_default else metadata.get("name", "")


def _token_audiences(driver: Object) -> str:
    requests = driver["spec"].get("tokenRequests") or ()
    return ",".join(item.get("audience", "") for item in requests) or UNSET


def _modes(driver: Object) -> str:
    return ",".join(driver["spec"].get("volumeLifecycleModes") or ()) or NONE


_VOLUME_MODE = column(
    "VolumeMode", text("spec.volumeMode", "Filesystem"), "Files or blocks.", wide=True
)
_STORAGE_CLASS = column("StorageClass", text("spec.storageClassName"), "The class it is of.")
_ATTRIBUTES_CLASS = column(
    "VolumeAttributesClass",
    text("spec.volumeAttributesClassName", UNSET),
    "Its class of attributes.",
)

STORAGE_COLUMNS: dict[str, tuple[Column, ...]] = {
    "v1/persistentvolumeclaims": (
        NAME,
        column("Status", _phase, "Whether a volume was found."),
        column("Volume", text("spec.volumeName"), "The volume that was found."),
        column("Capacity", text("status.capacity.storage"), "How much it holds."),
        column("Access Modes", _access_modes("status.accessModes"), "How it may be mounted."),
        _STORAGE_CLASS,
        _ATTRIBUTES_CLASS,
        AGE,
        _VOLUME_MODE,
    ),
    "v1/persistentvolumes": (
        NAME,
        column("Capacity", text("spec.capacity.storage"), "How much it holds."),
        column("Access Modes", _access_modes("spec.accessModes"), "How it may be mounted."),
        column(
            "Reclaim Policy",
            text("spec.persistentVolumeReclaimPolicy"),
            "What becomes of it when it is released.",
        ),
        column("Status", _phase, "Whether it is claimed."),
        column("Claim", _claim, "The claim that has it."),
        _STORAGE_CLASS,
        _ATTRIBUTES_CLASS,
        column("Reason", text("status.reason"), "Why it has failed."),
        AGE,
        _VOLUME_MODE,
    ),
    "storage.k8s.io/v1/csidrivers": (
        NAME,
        column(
            "AttachRequired", yes_or_no("spec.attachRequired"), "Whether it attaches.", "boolean"
        ),
        column(
            "PodInfoOnMount",
            yes_or_no("spec.podInfoOnMount"),
            "Whether it is told pods.",
            "boolean",
        ),
        column(
            "StorageCapacity",
            yes_or_no("spec.storageCapacity"),
            "Whether it tells room.",
            "boolean",
        ),
        column("TokenRequests", _token_audiences, "Audiences of the tokens that it is given."),
        column(
            "RequiresRepublish",
            yes_or_no("spec.requiresRepublish"),
            "Whether it is called again and again.",
            "boolean",
        ),
        column("Modes", _modes, "Life cycles of volumes that it knows."),
        AGE,
    ),
    "storage.k8s.io/v1/csinodes": (
        NAME,
        column("Drivers", count("spec.drivers"), "Drivers on the node.", "integer"),
        AGE,
    ),
    "storage.k8s.io/v1/csistoragecapacities": (
        NAME,
        column("StorageClassName", text("storageClassName"), "The class that it is about."),
        column("Capacity", text("capacity", UNSET), "How much room there is."),
    ),
    "storage.k8s.io/v1/storageclasses": (
        Column("Name", "string", _class_name, "name", NAME.description),
        column("Provisioner", text("provisioner"), "Who makes the volumes."),
        column("ReclaimPolicy", text("reclaimPolicy", "Delete"), "What becomes of released ones."),
        column(
            "VolumeBindingMode",
            text("volumeBindingMode", "Immediate"),
            "When claims are given a volume.",
        ),
        column("AllowVolumeExpansion", yes_or_no("allowVolumeExpansion"), "Whether they can grow."),
        AGE,
    ),
    "storage.k8s.io/v1/volumeattachments": (
        NAME,
        column("Attacher", text("spec.attacher"), "Who attaches it."),
        column("PV", text("spec.source.persistentVolumeName"), "The volume."),
        column("Node", text("spec.nodeName"), "The node."),
        column("Attached", yes_or_no("status.attached"), "Whether it is done.", "boolean"),
        AGE,
    ),
    "storage.k8s.io/v1/volumeattributesclasses": (
        NAME,
        column("DriverName", text("driverName"), "Who makes the volumes."),
        AGE,
    ),
}
"""By API version and plural."""
