"""Admission policies of tests, and their installation."""

from __future__ import annotations

from typing import Any

from tests.testcluster.server.http_api import Api

GROUP = "/apis/admissionregistration.k8s.io/v1"
VALIDATING = f"{GROUP}/validatingadmissionpolicies"
MUTATING = f"{GROUP}/mutatingadmissionpolicies"


def constraints(
    resource: str = "configmaps",
    group: str = "",
    operations: tuple[str, ...] = ("CREATE", "UPDATE"),
) -> dict[str, Any]:
    rule = {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "resources": [resource],
        "operations": list(operations),
    }
    return {"resourceRules": [rule]}


def policy(*expressions: str, name: str = "p", **spec: Any) -> dict[str, Any]:
    """A policy whose validations are the expressions."""
    validations = [{"expression": expression} for expression in expressions]
    return {
        "metadata": {"name": name},
        "spec": {"matchConstraints": constraints(), "validations": validations, **spec},
    }


def mutating(**mutation: Any) -> dict[str, Any]:
    """A policy with one mutation: ``apply`` or ``patch`` is its expression."""
    spec = {key: value for key, value in mutation.items() if key not in ("apply", "patch")}
    if "apply" in mutation:
        change = {
            "patchType": "ApplyConfiguration",
            "applyConfiguration": {"expression": mutation["apply"]},
        }
    else:
        change = {"patchType": "JSONPatch", "jsonPatch": {"expression": mutation["patch"]}}
    return {
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": constraints(),
            "reinvocationPolicy": "Never",
            "mutations": [change],
            **spec,
        },
    }


def install(api: Api, path: str, obj: dict[str, Any], **binding: Any) -> None:
    """Store a policy and a binding of it."""
    api.create(path, obj)
    spec = {"policyName": obj["metadata"]["name"], **binding}
    if path == VALIDATING:
        spec.setdefault("validationActions", ["Deny"])
    kind = path.removesuffix("policies") + "policybindings"
    api.create(kind, {"metadata": {"name": "b"}, "spec": spec})


def message_of(answer: Any) -> str:
    text: str = answer.body["message"]
    return text
