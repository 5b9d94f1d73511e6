"""The columns of what says who may do what: roles, webhooks, admission policies, API services.

Upstream: ``pkg/printers/internalversion/printers.go``, and kube-aggregator for API services.
"""

from __future__ import annotations

from clientgo.apiserver.kinds.columns.columns import (
    NONE,
    UNSET,
    column,
    conditions,
    count,
    find,
    text,
)
from clientgo.apiserver.resources.columns import AGE, CREATED_AT, NAME, CellReader, Column
from clientgo.apiserver.storage.storage import Object


def _role(binding: Object) -> str:
    return f"{binding['roleRef'].get('kind', '')}/{binding['roleRef'].get('name', '')}"


def _subjects(kind: str) -> CellReader:
    def read(binding: Object) -> str:
        names = []
        for subject in binding.get("subjects") or ():
            if subject.get("kind") == kind:
                namespace = subject.get("namespace")
                names.append(f"{namespace}/{subject['name']}" if namespace else subject["name"])
        return ", ".join(names)

    return read


def _param_kind(policy: Object) -> str:
    kind = find(policy, "spec.paramKind")
    return f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else UNSET


def _param_ref(binding: Object) -> str:
    reference = find(binding, "spec.paramRef")
    if not reference:
        return UNSET
    if not reference.get("name"):
        return "*"  # chosen by labels
    namespace = reference.get("namespace")
    return f"{namespace}/{reference['name']}" if namespace else str(reference["name"])


def _service(api_service: Object) -> str:
    service = find(api_service, "spec.service")
    return f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"


def _available(api_service: Object) -> str:
    for condition in find(api_service, "status.conditions") or ():
        if condition["type"] == "Available" and condition["status"] != "True":
            return f"{condition['status']} ({condition.get('reason', '')})"
    return conditions(api_service).get("Available", "Unknown")


_BINDING = (
    NAME,
    column("Role", _role, "The role that is given."),
    AGE,
    column("Users", _subjects("User"), "Users who are given it.", wide=True),
    column("Groups", _subjects("Group"), "Groups that are given it.", wide=True),
    column("ServiceAccounts", _subjects("ServiceAccount"), "Accounts that have it.", wide=True),
)
_ROLE = (NAME, CREATED_AT)
_WEBHOOKS = (NAME, column("Webhooks", count("webhooks"), "How many webhooks.", "integer"), AGE)

POLICY_COLUMNS: dict[str, tuple[Column, ...]] = {
    "admissionregistration.k8s.io/v1/mutatingwebhookconfigurations": _WEBHOOKS,
    "admissionregistration.k8s.io/v1/validatingwebhookconfigurations": _WEBHOOKS,
    "admissionregistration.k8s.io/v1/validatingadmissionpolicies": (
        NAME,
        column("Validations", count("spec.validations"), "How many rules.", "integer"),
        column("ParamKind", _param_kind, "Kind of its parameters."),
        AGE,
    ),
    "admissionregistration.k8s.io/v1/validatingadmissionpolicybindings": (
        NAME,
        column("PolicyName", text("spec.policyName", NONE), "The policy that is put to use."),
        column("ParamRef", _param_ref, "Its parameters."),
        AGE,
    ),
    "apiregistration.k8s.io/v1/apiservices": (
        NAME,
        column("Service", _service, "Who serves the version."),
        column("Available", _available, "Whether it can be reached."),
        AGE,
    ),
    "rbac.authorization.k8s.io/v1/clusterrolebindings": _BINDING,
    "rbac.authorization.k8s.io/v1/rolebindings": _BINDING,
    "rbac.authorization.k8s.io/v1/clusterroles": _ROLE,
    "rbac.authorization.k8s.io/v1/roles": _ROLE,
}
"""By API version and plural."""
