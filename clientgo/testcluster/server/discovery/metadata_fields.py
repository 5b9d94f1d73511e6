"""What ``kubectl explain`` says of the metadata of custom resources.

The published schemas have no descriptions; these are in our words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

_SUMMARY: Final = "ObjectMeta is the metadata that every stored object has."

_FIELDS: Final[Mapping[str, str]] = {
    "annotations": "Annotations is a map of texts for programs and people, which can't be "
    "selected by.",
    "creationTimestamp": "CreationTimestamp is a timestamp of when the server created the object. "
    "Clients can't set it.",
    "deletionGracePeriodSeconds": "Seconds that the object has to end after deletionTimestamp was "
    "set. Read-only.",
    "deletionTimestamp": "DeletionTimestamp is the time at which the object is to be gone. It is "
    "set when a client deletes an object that has finalizers or ends gracefully. Read-only.",
    "finalizers": "Names of what must be done before the object is removed. A controller removes "
    "its name when it is done; the object is removed with the last one.",
    "generateName": "Beginning of the name that the server makes if name is empty.",
    "generation": "Number of the present desired state; the server raises it when the spec "
    "changes. Read-only.",
    "labels": "Map of keys and values by which objects are organized and selected.",
    "managedFields": "Which manager has set which fields, for server-side apply. Clients seldom "
    "need it.",
    "name": "Name must be unique within a namespace, for its kind. It can't be changed.",
    "namespace": "Namespace that the object is in; empty for objects of the whole cluster. It "
    "can't be changed.",
    "ownerReferences": "Objects that this object depends on. When all of them are gone, the "
    "object is deleted. One of them may be its controller.",
    "resourceVersion": "Version of the stored object, which changes with every write. Clients "
    "compare it for equality, send it with updates, and watch from it.",
    "selfLink": "Not set any more.",
    "uid": "UID is unique in time and space: an object that is deleted and created again has "
    "another one. Read-only.",
}


def described(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of the metadata of objects, with descriptions."""
    fields = {
        name: {"description": _FIELDS[name], **field} if name in _FIELDS else field
        for name, field in schema["properties"].items()
    }
    return {"description": _SUMMARY, **schema, "properties": fields}
