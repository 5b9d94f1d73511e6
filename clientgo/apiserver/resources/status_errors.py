"""Failures in the API's own form: a ``Status`` object with code, reason, details and causes.

Promises: whatever goes wrong with a request is raised as a ``StatusError`` and answered as the
``Status`` that a real API server gives, so that client libraries sort it by reason and code.

Does not promise: messages that are equal to the last letter where clients don't read them.

Upstream: apimachinery ``api/errors`` and ``util/validation/field``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from clientgo.apiserver.resources.resource_type import ResourceType
from clientgo.schema.field_errors import FieldError, aggregate_message

Cause = Mapping[str, str]
"""An entry of ``details.causes``: reason, message and field."""


@dataclass(slots=True)
class StatusError(Exception):
    """A request that fails; ``status()`` is the body of its answer."""

    code: int
    reason: str
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)
    headers: tuple[tuple[str, str], ...] = ()
    continue_token: str = ""
    """Goes on with a list whose consistent rest has expired."""

    def __str__(self) -> str:
        return self.message

    def status(self) -> dict[str, Any]:
        """The ``Status`` object that tells a client what happened."""
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": self.continue_token} if self.continue_token else {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details:
            body["details"] = dict(self.details)
        body["code"] = self.code
        return body


def _about(resource: ResourceType, name: str, *, by_kind: bool = False) -> dict[str, Any]:
    """``details`` that name an object; by its resource, or by its kind where upstream does so."""
    details: dict[str, Any] = {}
    if name:
        details["name"] = name
    if resource.group:
        details["group"] = resource.group
    details["kind"] = resource.kind if by_kind else resource.plural
    return details


def not_found(resource: ResourceType, name: str) -> StatusError:
    """404: no such object."""
    message = f'{resource.qualified_name} "{name}" not found'
    return StatusError(404, "NotFound", message, _about(resource, name))


def already_exists(
    resource: ResourceType, name: str, *, being_deleted: bool = False
) -> StatusError:
    """409 on a create whose name is taken, if only by an object that waits for its finalizers."""
    prefix = "object is being deleted: " if being_deleted else ""
    message = f'{prefix}{resource.qualified_name} "{name}" already exists'
    return StatusError(409, "AlreadyExists", message, _about(resource, name))


def conflict(resource: ResourceType, name: str, why: str, *, by_kind: bool = False) -> StatusError:
    """409: the object is not in the state that the request assumes."""
    subject = resource.qualified_kind if by_kind else resource.qualified_name
    message = f'Operation cannot be fulfilled on {subject} "{name}": {why}'
    return StatusError(409, "Conflict", message, _about(resource, name, by_kind=by_kind))


def modified(resource: ResourceType, name: str) -> StatusError:
    """409: somebody else wrote first (optimistic locking)."""
    return conflict(
        resource,
        name,
        "the object has been modified; please apply your changes to the latest version "
        "and try again",
    )


def invalid(resource: ResourceType, name: str, errors: list[FieldError]) -> StatusError:
    """422: the object, known by its kind, breaks rules; every mistake is told."""
    details = _about(resource, name, by_kind=True)
    return _invalid(resource.qualified_kind, name, errors, details)


def invalid_of_resource(resource: ResourceType, name: str, errors: list[FieldError]) -> StatusError:
    """422 where upstream names the resource instead of the kind."""
    return _invalid(resource.qualified_name, name, errors, _about(resource, name))


def invalid_options(kind: str, errors: list[FieldError]) -> StatusError:
    """422: the options of a request (``ListOptions``, ``DeleteOptions`` ...) break rules."""
    details = {"group": "meta.k8s.io", "kind": kind}
    return _invalid(f"{kind}.meta.k8s.io", "", errors, details)


def _invalid(
    subject: str, name: str, errors: list[FieldError], details: dict[str, Any]
) -> StatusError:
    details["causes"] = [error.as_cause() for error in errors]
    message = f'{subject} "{name}" is invalid: {aggregate_message(errors)}'
    return StatusError(422, "Invalid", message, details)


def bad_request(message: str) -> StatusError:
    """400: the request cannot be understood."""
    return StatusError(400, "BadRequest", message)


def forbidden(
    resource: ResourceType, name: str, why: str, causes: Iterable[Cause] = ()
) -> StatusError:
    """403: understood, and not allowed."""
    details = _about(resource, name)
    if told := [dict(cause) for cause in causes]:
        details["causes"] = told
    message = f'{resource.qualified_name} "{name}" is forbidden: {why}'
    return StatusError(403, "Forbidden", message, details)


def unauthorized() -> StatusError:
    """401: no token, or a wrong one."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def resource_not_found() -> StatusError:
    """404 for a resource that the API group does not have."""
    return StatusError(404, "NotFound", "the server could not find the requested resource")


def method_not_supported(resource: ResourceType, verb: str) -> StatusError:
    """405 in the words that custom resources have for it."""
    details = _about(resource, "")
    message = f'{verb} is not supported on resources of kind "{resource.qualified_name}"'
    return StatusError(405, "MethodNotAllowed", message, details)


def invalid_patch(why: str) -> StatusError:
    """422: the patched object is not one of the kind."""
    details = {"causes": [FieldError.invalid("patch", "", why).as_cause()]}
    return StatusError(422, "Invalid", f' "" is invalid: patch: {why}', details)


def method_not_allowed() -> StatusError:
    """405: the resource exists but not this verb of it."""
    return StatusError(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
    )


def not_acceptable(representations: Iterable[str]) -> StatusError:
    """406: none of the representations that the client asks for exists."""
    known = ", ".join(representations)
    return StatusError(
        406, "NotAcceptable", f"406: Not Acceptable\n\nAvailable representations: {known}"
    )


def unsupported_media_type(accepted: Iterable[str]) -> StatusError:
    """415: a body in a form that is not understood."""
    known = ", ".join(accepted)
    return StatusError(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: " + known,
    )


def body_too_large(limit: int) -> StatusError:
    """413: a body beyond the limit, in bytes."""
    return StatusError(
        413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit} bytes"
    )


def expired(message: str, continue_token: str = "") -> StatusError:
    """410: the history that the request needs is gone; list anew."""
    return StatusError(410, "Expired", message, continue_token=continue_token)


def future_resource_version(wanted: int, current: int) -> StatusError:
    """504: the request waits for a resource version that the server has not reached."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return StatusError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {wanted}, current: {current}",
        {"causes": [cause], "retryAfterSeconds": 1},
        (("retry-after", "1"),),
    )


def internal_error(message: str) -> StatusError:
    """500 with a reason: something that the server relies on has failed."""
    details = {"causes": [{"message": message}]}
    text = f"Internal error occurred: {message}"
    return StatusError(500, "InternalError", text, details)


def internal(message: str) -> StatusError:
    """500 without a reason, as upstream answers errors that nobody classified."""
    return StatusError(500, "", message)
