"""Reviews: objects that are posted, answered, and never stored.

Promises: a review is answered by what decides on requests themselves: tokens by the server's
authenticator, access by its authorizer. Without RBAC every user may do everything.

Upstream: ``pkg/registry/authorization`` and ``pkg/registry/authentication``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from clientgo.meta.selectors import (
    FieldSelector,
    Selector,
    SelectorError,
    field_equals,
    parse_field_selector,
    parse_label_selector,
    selector_from_object,
)
from clientgo.testcluster.server.auth.authentication.service_accounts import TokenError
from clientgo.testcluster.server.auth.authorization.authorizer import Attributes
from clientgo.testcluster.server.auth.authorization.rules import PolicyRule
from clientgo.testcluster.server.auth.users import User
from clientgo.testcluster.server.http.messages import AnyResponse, value_response
from clientgo.testcluster.server.http.negotiation import Form
from clientgo.testcluster.server.requests.options import write_options
from clientgo.testcluster.server.requests.rendering import partial_metadata
from clientgo.testcluster.server.requests.subresources.handlers import create_binding
from clientgo.testcluster.server.requests.verbs import Verb, VerbCall, read_body_as, set_namespace
from clientgo.testcluster.server.resources.errors import bad_request, invalid
from clientgo.testcluster.server.storage.storage import Object

_Answer = Callable[[VerbCall, Object], Object]
"""Returns the status of a review."""


def review_verb(answer: _Answer, *, keeps_question: bool = True) -> Verb:
    """Return the handler of a review whose status ``answer`` gives.

    Without ``keeps_question`` the response has nothing else of the review.
    """

    async def review(call: VerbCall) -> AnyResponse:
        options = write_options(call.request, "CreateOptions")
        read = await read_body_as(call, call.resource, options)
        set_namespace(call, read)
        status = answer(call, read)
        if keeps_question:
            owned = call.state.ownership.update
            read = owned(call.resource, "", None, read, options.field_manager, is_large=False)
        read["status"] = status
        if call.representation.form in (Form.METADATA, Form.METADATA_LIST):
            read = partial_metadata(read, call.representation.version)
        return value_response(read, call.representation.media_type, 201)

    return review


# -- who a client is


def _self_subject(call: VerbCall, review: Object) -> Object:
    review["metadata"] = {"creationTimestamp": call.state.timestamp()}
    return {"userInfo": call.request.user.info()}


def _token(call: VerbCall, review: Object) -> Object:
    spec = review["spec"]
    token = spec.get("token")
    if not token:
        raise bad_request("token is required for TokenReview in authentication")
    try:
        user, audiences = call.state.authenticator.user_of_token(token, spec.get("audiences") or ())
    except TokenError as error:
        return {"error": f"[invalid bearer token, {error}]", "user": {}}
    return {"audiences": list(audiences), "authenticated": True, "user": user.info()}


# -- what a user may do


def _self_access(call: VerbCall, review: Object) -> Object:
    _check(call, review)
    return _decide(call, call.request.user, review["spec"])


def _access(call: VerbCall, review: Object) -> Object:
    _check(call, review)
    return _decide(call, _user_of(review["spec"]), review["spec"])


def _check(call: VerbCall, review: Object) -> None:
    if errors := call.resource.strategy.validate(review):
        raise invalid(call.resource.as_kind(""), "", errors)  # as upstream, without a kind


def _user_of(spec: Object) -> User:
    extra = {key: tuple(values or ()) for key, values in (spec.get("extra") or {}).items()}
    return User(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()), extra)


def _decide(call: VerbCall, user: User, spec: Object) -> Object:
    decision = call.state.authorizer.authorize(_attributes(user, spec))
    status: dict[str, Any] = {"allowed": decision.allowed}
    if decision.reason:
        status["reason"] = decision.reason
    if ignored := list(_ignored_selectors(spec.get("resourceAttributes") or {})):
        status["evaluationError"] = "; ".join(ignored)
    return status


def _ignored_selectors(wanted: Object) -> Iterator[str]:
    """Yield which selectors can't be read; the decision is then about more objects."""
    for name, (parse, read) in _SELECTORS.items():
        selector = wanted.get(name) or {}
        found = [_can(read, requirement) for requirement in selector.get("requirements") or ()]
        if raw := selector.get("rawSelector"):
            found.append(_can(parse, raw))
        if not all(found):
            partially = "partially " if any(found) else ""
            yield f"spec.resourceAttributes.{name} {partially}ignored due to parse error"


def _can(read: Callable[[Any], object], selector: Any) -> bool:
    try:
        read(selector)
    except SelectorError:
        return False
    return True


def _read_field_requirement(requirement: Object) -> FieldSelector:
    if requirement["operator"] not in ("In", "NotIn") or len(requirement["values"]) != 1:
        raise SelectorError("a field is selected by one value")
    return field_equals(requirement["key"], requirement["values"][0])


def _read_label_requirement(requirement: Object) -> Selector:
    return selector_from_object({"matchExpressions": [requirement]})


_SELECTORS: dict[str, tuple[Callable[[str], object], Callable[[Object], object]]] = {
    "fieldSelector": (parse_field_selector, _read_field_requirement),
    "labelSelector": (parse_label_selector, _read_label_requirement),
}
"""Readers of a selector's text, and of one of its requirements."""


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


def _self_rules(call: VerbCall, review: Object) -> Object:
    namespace = review["spec"].get("namespace")
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
    review |= {"metadata": {}, "spec": {}}
    return status


def _shown(rule: PolicyRule) -> Object:
    return {"verbs": list(rule.verbs), **rule.as_policy_rule()}


_AUTHENTICATION = "authentication.k8s.io"
_AUTHORIZATION = "authorization.k8s.io"

ANSWERED: dict[tuple[str, str], Verb] = {
    (_AUTHENTICATION, "selfsubjectreviews"): review_verb(_self_subject, keeps_question=False),
    (_AUTHENTICATION, "tokenreviews"): review_verb(_token),
    (_AUTHORIZATION, "localsubjectaccessreviews"): review_verb(_access),
    (_AUTHORIZATION, "selfsubjectaccessreviews"): review_verb(_self_access),
    (_AUTHORIZATION, "selfsubjectrulesreviews"): review_verb(_self_rules, keeps_question=False),
    (_AUTHORIZATION, "subjectaccessreviews"): review_verb(_access),
    ("", "bindings"): create_binding,
}
"""Handlers of the resources that are never stored, by group and plural."""
