"""Cells of role bindings, admission policies, API services, certificate requests, flow schemas.

Upstream: ``pkg/printers/internalversion/printers.go``.
"""

from __future__ import annotations

from clientgo.testcluster.server.kinds.columns.readers import (
    NONE,
    UNSET,
    conditions,
    find,
)
from clientgo.testcluster.server.resources.columns import CellReader, human_duration
from clientgo.testcluster.server.storage.storage import Object


def binding_role(binding: Object) -> str:
    """Return kind and name of the role."""
    return f"{binding['roleRef'].get('kind', '')}/{binding['roleRef'].get('name', '')}"


def binding_subjects(kind: str) -> CellReader:
    """Read the subjects of a kind."""

    def read(binding: Object) -> str:
        names = []
        for subject in binding.get("subjects") or ():
            if subject.get("kind") == kind:
                namespace = subject.get("namespace")
                names.append(f"{namespace}/{subject['name']}" if namespace else subject["name"])
        return ", ".join(names)

    return read


def policy_param_kind(policy: Object) -> str:
    """Return apiVersion and kind of the parameters."""
    kind = find(policy, "spec.paramKind")
    return f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else UNSET


def policy_param_ref(binding: Object) -> str:
    """Return the name of the parameters."""
    reference = find(binding, "spec.paramRef")
    if not reference:
        return UNSET
    if not reference.get("name"):
        return "*"  # chosen by labels
    namespace = reference.get("namespace")
    return f"{namespace}/{reference['name']}" if namespace else str(reference["name"])


def api_service(api_service: Object) -> str:
    """Return namespace and name of the service, or Local."""
    service = find(api_service, "spec.service")
    return f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"


def api_available(api_service: Object) -> str:
    """Return the status of the condition Available."""
    for condition in find(api_service, "status.conditions") or ():
        if condition["type"] == "Available" and condition["status"] != "True":
            return f"{condition['status']} ({condition.get('reason', '')})"
    return conditions(api_service).get("Available", "Unknown")


# -- certificate signing requests


def requested_duration(request: Object) -> str:
    """Return the life of the certificate that a request asks for."""
    seconds = find(request, "spec.expirationSeconds")
    return NONE if seconds is None else human_duration(seconds)


def request_condition(request: Object) -> str:
    """Return the decision on a request, and what became of it."""
    found = conditions(request)
    decision = next((kind for kind in ("Denied", "Approved") if kind in found), "Pending")
    failed = ["Failed"] if "Failed" in found else []
    issued = ["Issued"] if find(request, "status.certificate") else []
    return ",".join([decision, *failed, *issued])


def missing_level(schema: Object) -> str:
    """Return the status of the condition Dangling."""
    return conditions(schema).get("Dangling", "?")
