"""A write as webhooks and policies are told of it: the ``request`` of an AdmissionReview.

Upstream: apiserver ``admission/plugin/webhook/request``, ``admission/plugin/cel/condition.go``.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from clientgo.testcluster.server.objects.admission import Review
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.storage import Object

LabelsOf = Callable[[str], Mapping[str, str]]
"""Returns the labels of a namespace."""


def request_of(review: Review, matched: Resource) -> Object:
    """Return the ``request`` of an AdmissionReview, without its objects.

    ``matched`` is the version of the resource that the rules of a webhook or policy name.
    """
    requested = review.resource
    request: dict[str, Any] = {
        "uid": str(uuid.uuid4()),
        "kind": _kind(matched),
        "resource": _resource(matched),
        "requestKind": _kind(requested),
        "requestResource": _resource(requested),
        "name": review.name,
        "operation": str(review.operation),
        "userInfo": review.user.info(),
        "dryRun": review.dry_run,
        "options": review.options or None,
    }
    if review.namespace:
        request["namespace"] = review.namespace
    if review.subresource:
        request["subResource"] = request["requestSubResource"] = review.subresource
    return request


def _kind(resource: Resource) -> dict[str, str]:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _resource(resource: Resource) -> dict[str, str]:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}


def namespace_labels(review: Review, labels_of: LabelsOf) -> Mapping[str, str] | None:
    """Return the labels of a write's namespace; None for cluster-scoped objects."""
    if review.resource.collection_key == ("", "namespaces"):
        state = review.obj or review.old or {"metadata": {}}
        labels: Mapping[str, str] = state["metadata"].get("labels") or {}
        return labels
    return labels_of(review.namespace) if review.namespace else None
