"""The variable ``authorizer``: what may the user of a request do?

    authorizer.group('apps').resource('deployments').namespace('a').check('create').allowed()

Promises: the methods of the library of the API server. A check asks when it is made.

Upstream: ``k8s.io/apiserver/pkg/cel/library/authz.go``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final

from clientgo.testcluster.cel.errors import CelEvaluationError
from clientgo.testcluster.cel.functions import Overload, method
from clientgo.testcluster.cel.types import BOOL, STRING, CelType

AUTHORIZER: Final = CelType("kubernetes.authorization.Authorizer")
PATH_CHECK: Final = CelType("kubernetes.authorization.PathCheck")
GROUP_CHECK: Final = CelType("kubernetes.authorization.GroupCheck")
RESOURCE_CHECK: Final = CelType("kubernetes.authorization.ResourceCheck")
DECISION: Final = CelType("kubernetes.authorization.Decision")

_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")


@dataclass(frozen=True, slots=True)
class Access:
    """What a user wants to do; ``account`` is a service account (namespace, name) if given."""

    verb: str = ""
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    account: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class AccessDecision:
    """The answer of an authorizer."""

    cel_type: ClassVar[CelType] = DECISION
    allowed: bool
    reason: str = ""


Authorize = Callable[[Access], AccessDecision]


@dataclass(frozen=True, slots=True)
class AuthorizerValue:
    """An authorizer, or a check that is being described."""

    authorize: Authorize
    access: Access = field(default_factory=Access)
    cel_type: CelType = AUTHORIZER


def _next(cel_type: CelType, part: str, *, required: bool = False) -> Callable[..., object]:
    """Return the method that describes one part of a check."""

    def describe(value: AuthorizerValue, text: str) -> AuthorizerValue:
        if required and not text.strip():
            raise CelEvaluationError(f"{part} must not be empty")
        described: dict[str, Any] = {part: text}
        return replace(value, access=replace(value.access, **described), cel_type=cel_type)

    return describe


def _service_account(value: AuthorizerValue, namespace: str, name: str) -> AuthorizerValue:
    if not _SUBDOMAIN.fullmatch(name):
        raise CelEvaluationError(f"Invalid service account name {name}")
    if not _LABEL.fullmatch(namespace):
        raise CelEvaluationError(f"Invalid service account namespace {namespace}")
    return replace(value, access=replace(value.access, account=(namespace, name)))


def _check(value: AuthorizerValue, verb: str) -> AccessDecision:
    return value.authorize(replace(value.access, verb=verb))


def _unselected(value: AuthorizerValue, _: str) -> AuthorizerValue:
    """Ignore a selector: no authorizer here looks at selectors."""
    return value


OVERLOADS: tuple[Overload, ...] = (
    method("path", AUTHORIZER, [STRING], PATH_CHECK, _next(PATH_CHECK, "path", required=True)),
    method("group", AUTHORIZER, [STRING], GROUP_CHECK, _next(GROUP_CHECK, "group")),
    method("serviceAccount", AUTHORIZER, [STRING, STRING], AUTHORIZER, _service_account),
    method(
        "resource",
        GROUP_CHECK,
        [STRING],
        RESOURCE_CHECK,
        _next(RESOURCE_CHECK, "resource", required=True),
    ),
    *(
        method(part, RESOURCE_CHECK, [STRING], RESOURCE_CHECK, _next(RESOURCE_CHECK, part))
        for part in ("subresource", "namespace", "name")
    ),
    *(
        method(selector, RESOURCE_CHECK, [STRING], RESOURCE_CHECK, _unselected)
        for selector in ("fieldSelector", "labelSelector")
    ),
    method("check", PATH_CHECK, [STRING], DECISION, _check),
    method("check", RESOURCE_CHECK, [STRING], DECISION, _check),
    method("allowed", DECISION, [], BOOL, lambda decision: decision.allowed),
    method("reason", DECISION, [], STRING, lambda decision: decision.reason),
    method("errored", DECISION, [], BOOL, lambda _: False),
    method("error", DECISION, [], STRING, lambda _: ""),
)
