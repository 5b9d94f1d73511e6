"""Failures as the API answers them: a ``Status`` with code, reason, details and causes.

Promises: every failure of a request is raised as a ``FailedRequestError`` and answered with the
``Status`` of a real API server, so that clients can sort it by reason and code.

Does not promise messages that are equal to the last letter where clients don't read them.

Upstream: apimachinery ``api/errors`` and ``util/validation/field``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from clientgo.meta.validation.field_errors import FieldError, aggregate_message
from clientgo.testcluster.server.resources.resource_type import ResourceType
from clientgo.util.process import check_cpu_time
from clientgo.util.text.go_format import quote

Cause = Mapping[str, str]
"""An entry of ``details.causes``: reason, message and field."""


@dataclass(slots=True)
class FailedRequestError(Exception):
    """The failure of a request; ``status()`` is the body of the response."""

    code: int
    reason: str
    message: str
    details: Mapping[str, Any] | None = None
    """About what the request was; None where upstream has none. They may be empty."""
    headers: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    """What the client is warned of besides."""
    continue_token: str = ""
    """Continues a list at the present state, after its version has expired."""

    def __str__(self) -> str:
        return self.message

    def status(self) -> dict[str, Any]:
        """Return the ``Status`` object."""
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": self.continue_token} if self.continue_token else {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = dict(self.details)
        body["code"] = self.code
        return body


def expressions_too_slow(seconds: float) -> FailedRequestError:
    """Return a 504: the expressions that decide on a write do not end in time."""
    return FailedRequestError(
        504,
        "Timeout",
        f"Timeout: the expressions for this request use more than {seconds:g} s of processor time",
    )


def _about(resource: ResourceType, name: str, *, by_kind: bool = False) -> dict[str, Any]:
    """Return ``details`` that name an object by its resource, or by its kind as upstream does."""
    details: dict[str, Any] = {}
    if name:
        details["name"] = name
    if resource.group:
        details["group"] = resource.group
    if kind := resource.kind if by_kind else resource.plural:
        details["kind"] = kind
    return details


def not_found(resource: ResourceType, name: str) -> FailedRequestError:
    """Return a 404: the object does not exist."""
    if resource.plural in _MISSING_BY_KIND:
        resource = ResourceType(
            resource.group, resource.version, resource.kind, resource.kind.lower()
        )
    message = f"{resource.qualified_name} {quote(name)} not found"
    return FailedRequestError(404, "NotFound", message, _about(resource, name))


_MISSING_BY_KIND = frozenset({"componentstatuses"})
"""Resources of which a missing object is reported, as upstream, by the singular name."""


def already_exists(
    resource: ResourceType, name: str, *, being_deleted: bool = False, may_generate: bool = False
) -> FailedRequestError:
    """Return a 409: an object of the name exists, or waits for its finalizers.

    ``may_generate`` says that the new object has a generateName; then a client may retry.
    """
    prefix = "object is being deleted: " if being_deleted else ""
    message = f"{prefix}{resource.qualified_name} {quote(name)} already exists"
    details = _about(resource, name)
    if not may_generate:
        return FailedRequestError(409, "AlreadyExists", message, details)
    message += ", the server was not able to generate a unique name for the object"
    details["retryAfterSeconds"] = 1
    return FailedRequestError(409, "AlreadyExists", message, details, (("retry-after", "1"),))


def conflict(
    resource: ResourceType, name: str, why: str, *, by_kind: bool = False
) -> FailedRequestError:
    """Return a 409: the object is not in the state that the request assumes."""
    subject = resource.qualified_kind if by_kind else resource.qualified_name
    message = f"Operation cannot be fulfilled on {subject} {quote(name)}: {why}"
    return FailedRequestError(409, "Conflict", message, _about(resource, name, by_kind=by_kind))


def another_namespace() -> FailedRequestError:
    """Return a 400: the object is of another namespace than the request."""
    return bad_request(
        "the namespace of the provided object does not match the namespace sent on the request"
    )


def modified(resource: ResourceType, name: str) -> FailedRequestError:
    """Return a 409: the object was modified meanwhile (optimistic locking)."""
    return conflict(
        resource,
        name,
        "the object has been modified; please apply your changes to the latest version "
        "and try again",
    )


def invalid(resource: ResourceType, name: str, errors: list[FieldError]) -> FailedRequestError:
    """Return a 422 with every error of an object, named by its kind."""
    details = _about(resource, name, by_kind=True)
    return _invalid(resource.qualified_kind, name, errors, details)


def invalid_of_resource(
    resource: ResourceType, name: str, errors: list[FieldError]
) -> FailedRequestError:
    """Return a 422 that names the resource instead of the kind."""
    return _invalid(resource.qualified_name, name, errors, _about(resource, name))


def invalid_options(kind: str, errors: list[FieldError]) -> FailedRequestError:
    """Return a 422: the options of a request (``ListOptions`` ...) are invalid."""
    details = {"group": "meta.k8s.io", "kind": kind}
    return _invalid(f"{kind}.meta.k8s.io", "", errors, details)


_MOST_TEXT: Final = 8 * 1024 * 1024
"""Characters of the causes in a response; they take a tenth of a second. The later causes are left
out. Some causes show a whole list: a definition of 32 KiB can have 400 MB of them."""


def _invalid(
    subject: str, name: str, errors: list[FieldError], details: dict[str, Any]
) -> FailedRequestError:
    causes, length = [], 0
    for error in errors:
        check_cpu_time()
        causes.append(cause := error.as_cause())
        length += len(cause["message"]) + len(cause["field"])
        if length > _MOST_TEXT:
            break
    details["causes"] = causes
    shown = aggregate_message(errors[: len(causes)])
    message = f"{subject} {quote(name)} is invalid: {shown}"
    return FailedRequestError(422, "Invalid", message, details)


def bad_request(message: str) -> FailedRequestError:
    """Return a 400: the request can't be understood."""
    return FailedRequestError(400, "BadRequest", message)


def forbidden(
    resource: ResourceType, name: str, why: str, causes: Iterable[Cause] = ()
) -> FailedRequestError:
    """Return a 403: the request is not allowed."""
    details = _about(resource, name)
    if shown := [dict(cause) for cause in causes]:
        details["causes"] = shown
    message = f"{resource.qualified_name} {quote(name)} is forbidden: {why}"
    return FailedRequestError(403, "Forbidden", message, details)


def unauthorized() -> FailedRequestError:
    """Return a 401: there is no token, or a wrong one."""
    return FailedRequestError(401, "Unauthorized", "Unauthorized")


def resource_not_found() -> FailedRequestError:
    """Return a 404: the API group has no such resource."""
    return FailedRequestError(
        404, "NotFound", "the server could not find the requested resource", {}
    )


def method_not_supported(resource: ResourceType, verb: str) -> FailedRequestError:
    """Return a 405, worded as for custom resources."""
    details = _about(resource, "")
    message = f'{verb} is not supported on resources of kind "{resource.qualified_name}"'
    return FailedRequestError(405, "MethodNotAllowed", message, details)


def invalid_patch(why: str) -> FailedRequestError:
    """Return a 422: the patched object does not fit its kind."""
    details = {"causes": [FieldError.invalid("patch", "", why).as_cause()]}
    return FailedRequestError(422, "Invalid", f' "" is invalid: patch: {why}', details)


def method_not_allowed() -> FailedRequestError:
    """Return a 405: the resource does not have the verb."""
    return FailedRequestError(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
        {},
    )


def not_acceptable(
    representations: Iterable[str], *, by_router: bool = False
) -> FailedRequestError:
    """Return a 406: the client accepts none of the representations, which the router may say."""
    known = ", ".join(representations)
    message = f"only the following media types are accepted: {known}"
    if by_router:
        message = f"406: Not Acceptable\n\nAvailable representations: {known}"
    return FailedRequestError(406, "NotAcceptable", message, {} if by_router else None)


def not_in_protobuf(kind: str) -> FailedRequestError:
    """Return a 406: the client accepts protobuf only, and the kind has no such form."""
    return FailedRequestError(
        406,
        "NotAcceptable",
        f"object {kind} does not implement the protobuf marshalling interface and cannot be "
        "encoded to a protobuf message",
    )


def unsupported_media_type(accepted: Iterable[str]) -> FailedRequestError:
    """Return a 415: the media type of the body is not supported."""
    known = ", ".join(accepted)
    return FailedRequestError(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: " + known,
    )


def unrouted_media_type() -> FailedRequestError:
    """Return a 415 of the router: no verb of the path takes the media type."""
    return FailedRequestError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def body_too_large(limit: int) -> FailedRequestError:
    """Return a 413: the body is longer than ``limit`` bytes."""
    return FailedRequestError(
        413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit} bytes"
    )


def expired(message: str, continue_token: str = "") -> FailedRequestError:
    """Return a 410: the history that the request needs was removed; list again."""
    return FailedRequestError(410, "Expired", message, continue_token=continue_token)


def future_resource_version(wanted: int, current: int) -> FailedRequestError:
    """Return a 504: the server has not reached the resource version."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return FailedRequestError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {wanted}, current: {current}",
        {"causes": [cause], "retryAfterSeconds": 1},
        (("retry-after", "1"),),
    )


def internal_error(message: str) -> FailedRequestError:
    """Return a 500 with a reason: something that the server relies on has failed."""
    details = {"causes": [{"message": message}]}
    text = f"Internal error occurred: {message}"
    return FailedRequestError(500, "InternalError", text, details)


def internal(message: str) -> FailedRequestError:
    """Return a 500 without a reason, as upstream answers unclassified errors."""
    return FailedRequestError(500, "", message)
