"""From what a handler raises to the refusal that the user sees.

Promises: a :class:`Denied` is a 403 (or the code it names), an error of the API keeps its status
word for word, field errors are a 422 about the reviewed object, an object that does not fit its
type is a 400; anything else is a bug in the handler and becomes a 500 that says so.

Upstream: controller-runtime ``admission`` validationResponseFromStatus, Denied, Errored.
"""

from __future__ import annotations

from clientgo.meta import (
    DecodeError,
    ObjectDecodeError,
    Status,
    StatusError,
    error_from_status,
)
from clientgo.operator.webhooks.admission_review import AdmissionRequest
from clientgo.operator.webhooks.field_errors import FieldErrors


class Denied(Exception):  # noqa: N818 - it reads as what it says: raise Denied("...")
    """Raise it in a handler to refuse a request; ``code`` is the HTTP status of the answer."""

    def __init__(self, message: str, *, code: int = 403) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class BadReviewError(Exception):
    """The review cannot be understood; the request is refused with 400."""


class HandlerTimeoutError(Exception):
    """The handler has not answered within its time."""


class TooManyCallsError(Exception):
    """So many handlers are at work, or hang, that no other is started."""


class RequestTooLargeError(Exception):
    """The body of the call is larger than a review can be."""


_CODES: dict[type[Exception], int] = {
    BadReviewError: 400,
    ObjectDecodeError: 400,
    DecodeError: 400,
    RequestTooLargeError: 413,
    TooManyCallsError: 429,
    HandlerTimeoutError: 504,
}
"""Failures that have a status of their own; all others are bugs in handlers."""


def status_of(error: Exception, request: AdmissionRequest | None = None) -> Status:
    """The status that refuses ``request`` because of ``error``."""
    if isinstance(error, FieldErrors):
        about = request or AdmissionRequest()
        error = error.as_invalid(kind=about.kind.kind, group=about.kind.group, name=about.name)
    if isinstance(error, StatusError):
        return error.status
    if isinstance(error, Denied):
        return failure(error.code, error.message)
    code = _CODES.get(type(error))
    if code is not None:
        return failure(code, str(error))
    return failure(500, f"the webhook failed: {type(error).__name__}: {error}")


def is_bug(error: Exception) -> bool:
    """Whether nobody meant to raise this in a handler."""
    return not isinstance(error, StatusError | Denied | FieldErrors) and type(error) not in _CODES


def failure(code: int, message: str) -> Status:
    """A failed status with the reason that belongs to its code."""
    reason = type(error_from_status(Status(code=code))).default_reason
    return Status(
        kind="Status",
        api_version="v1",
        status="Failure",
        message=message,
        reason=reason,
        code=code,
    )
