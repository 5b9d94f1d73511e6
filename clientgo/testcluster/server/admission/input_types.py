"""The types of what the expressions of policies and webhooks read, where they are known.

Objects and parameters can have any fields. An expression that names an unknown field of the others
does not compile.

Upstream: ``BuildRequestType`` and ``BuildNamespaceType`` in apiserver ``admission/plugin/cel``.
"""

from __future__ import annotations

from typing import Final

from clientgo.testcluster.cel import BOOL, DYN, STRING
from clientgo.testcluster.cel.types import INT, ObjectType, list_of, map_of

_TEXTS = list_of(STRING)
_KIND = ObjectType(
    "kubernetes.GroupVersionKind", fields=dict.fromkeys(("group", "version", "kind"), STRING)
)
_RESOURCE = ObjectType(
    "kubernetes.GroupVersionResource",
    fields=dict.fromkeys(("group", "version", "resource"), STRING),
)
_USER = ObjectType(
    "kubernetes.UserInfo",
    fields={
        "username": STRING,
        "uid": STRING,
        "groups": _TEXTS,
        "extra": map_of(STRING, _TEXTS),
    },
)

REQUEST: Final = ObjectType(
    "kubernetes.AdmissionRequest",
    fields={
        "kind": _KIND,
        "resource": _RESOURCE,
        "subResource": STRING,
        "requestKind": _KIND,
        "requestResource": _RESOURCE,
        "requestSubResource": STRING,
        "name": STRING,
        "namespace": STRING,
        "operation": STRING,
        "userInfo": _USER,
        "dryRun": BOOL,
        "options": DYN,
    },
)

_METADATA = ObjectType(
    "kubernetes.NamespaceMetadata",
    fields={
        **dict.fromkeys(("name", "generateName", "namespace", "UID", "resourceVersion"), STRING),
        **dict.fromkeys(("labels", "annotations"), map_of(STRING, STRING)),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), DYN),
        **dict.fromkeys(("deletionGracePeriodSeconds", "generation"), INT),
        "finalizers": _TEXTS,
    },
)
_CONDITION = ObjectType(
    "kubernetes.NamespaceCondition",
    fields={
        **dict.fromkeys(("status", "type", "message", "reason"), STRING),
        "lastTransitionTime": DYN,
    },
)

NAMESPACE: Final = ObjectType(
    "kubernetes.Namespace",
    fields={
        "metadata": _METADATA,
        "spec": ObjectType("kubernetes.NamespaceSpec", fields={"finalizers": _TEXTS}),
        "status": ObjectType(
            "kubernetes.NamespaceStatus",
            fields={"conditions": list_of(_CONDITION), "phase": STRING},
        ),
    },
)
