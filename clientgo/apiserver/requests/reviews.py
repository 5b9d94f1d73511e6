"""Reviews: objects that are posted, answered, and never stored.

Promises: a review is answered by what decides on requests themselves: tokens by the server's
authenticator, access by its authorizer. Without RBAC every user may do everything.

Upstream: ``pkg/registry/authorization`` and ``pkg/registry/authentication``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clientgo.apiserver.auth.authentication.service_accounts import TokenError
from clientgo.apiserver.auth.authorization.authorizer import Attributes
from clientgo.apiserver.auth.authorization.rules import Rule
from clientgo.apiserver.auth.users import User
from clientgo.apiserver.http.messages import AnyResponse, json_response
from clientgo.apiserver.requests.options import write_options
from clientgo.apiserver.requests.subresources.handlers import create_binding
from clientgo.apiserver.requests.verbs import Verb, VerbCall, read_body_as
from clientgo.apiserver.resources.errors import bad_request, invalid
from clientgo.apiserver.storage.storage import Object
from clientgo.schema.field_errors import FieldError

_Answer = Callable[[VerbCall, Object], Object]
"""Returns the status of a review with this spec."""


def review_verb(answer: _Answer) -> Verb:
    """Return the handler of a review whose status ``answer`` gives."""

    async def review(call: VerbCall) -> AnyResponse:
        options = write_options(call.request, "CreateOptions")
        read = await read_body_as(call, call.resource, options)
        read["status"] = answer(call, read.get("spec") or {})
        return json_response(read, 201)

    return review


# -- who a client is


def _self_subject(call: VerbCall, _: Object) -> Object:
    return {"userInfo": call.request.user.info()}


def _token(call: VerbCall, spec: Object) -> Object:
    token = spec.get("token")
    if not token:
        raise bad_request("token is required for TokenReview in authentication")
    try:
        user, audiences = call.state.authenticator.user_of_token(token, spec.get("audiences") or ())
    except TokenError as error:
        return {"error": f"[invalid bearer token, {error}]", "user": {}}
    return {"audiences": list(audiences), "authenticated": True, "user": user.info()}


# -- what a user may do


def _self_access(call: VerbCall, spec: Object) -> Object:
    _check(call, _resource_or_path(spec))
    return _decide(call, call.request.user, spec)


def _access(call: VerbCall, spec: Object) -> Object:
    _check(call, [*_resource_or_path(spec), *_user_named(spec)])
    return _decide(call, _user_of(spec), spec)


def _local_access(call: VerbCall, spec: Object) -> Object:
    attributes = spec.get("resourceAttributes") or {}
    errors = [*_resource_or_path(spec), *_user_named(spec)]
    if (namespace := attributes.get("namespace", "")) != call.namespace:
        path = "spec.resourceAttributes.namespace"
        errors.append(FieldError.invalid(path, namespace, "must match metadata.namespace"))
    if other := spec.get("nonResourceAttributes"):
        why = "disallowed on this kind of request"
        errors.append(FieldError.invalid("spec.nonResourceAttributes", other, why))
    _check(call, errors)
    return _decide(call, _user_of(spec), spec)


def _check(call: VerbCall, errors: list[FieldError]) -> None:
    if errors:
        raise invalid(call.resource, "", errors)


def _resource_or_path(spec: Object) -> list[FieldError]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        why = "cannot be specified in combination with resourceAttributes"
        return [FieldError.invalid("spec.nonResourceAttributes", path, why)]
    if resource is None and path is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [FieldError.invalid("spec.resourceAttributes", None, why)]
    return []


def _user_named(spec: Object) -> list[FieldError]:
    if spec.get("user") or spec.get("groups"):
        return []
    why = "at least one of user or group must be specified"
    return [FieldError.invalid("spec.user", "", why)]


def _user_of(spec: Object) -> User:
    extra = {key: tuple(values or ()) for key, values in (spec.get("extra") or {}).items()}
    return User(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()), extra)


def _decide(call: VerbCall, user: User, spec: Object) -> Object:
    decision = call.state.authorizer.authorize(_attributes(user, spec))
    status: dict[str, Any] = {"allowed": decision.allowed}
    if decision.reason:
        status["reason"] = decision.reason
    return status


def _attributes(user: User, spec: Object) -> Attributes:
    path = spec.get("nonResourceAttributes")
    if path is not None:
        return Attributes(user, path.get("verb", ""), path=path.get("path", "") or "/")
    wanted = spec["resourceAttributes"]
    return Attributes(
        user,
        **{
            name: wanted.get(name, "")
            for name in (
                "verb",
                "group",
                "version",
                "resource",
                "subresource",
                "namespace",
                "name",
            )
        },
    )


def _self_rules(call: VerbCall, spec: Object) -> Object:
    namespace = spec.get("namespace")
    if not namespace:
        raise bad_request("no namespace on request")
    rules, errors = call.state.authorizer.rules_of(call.request.user, namespace)
    status = {
        "resourceRules": [_shown(rule) for rule in rules if rule.resources],
        "nonResourceRules": [_shown(rule) for rule in rules if rule.paths],
        "incomplete": False,
    }
    if errors:
        status["evaluationError"] = ", ".join(errors)
    return status


def _shown(rule: Rule) -> Object:
    return {"verbs": list(rule.verbs), **rule.as_policy_rule()}


_AUTHENTICATION = "authentication.k8s.io"
_AUTHORIZATION = "authorization.k8s.io"

ANSWERED: dict[tuple[str, str], Verb] = {
    (_AUTHENTICATION, "selfsubjectreviews"): review_verb(_self_subject),
    (_AUTHENTICATION, "tokenreviews"): review_verb(_token),
    (_AUTHORIZATION, "localsubjectaccessreviews"): review_verb(_local_access),
    (_AUTHORIZATION, "selfsubjectaccessreviews"): review_verb(_self_access),
    (_AUTHORIZATION, "selfsubjectrulesreviews"): review_verb(_self_rules),
    (_AUTHORIZATION, "subjectaccessreviews"): review_verb(_access),
    ("", "bindings"): create_binding,
}
"""Handlers of the resources that are never stored, by group and plural."""
