"""What a handler raises, and the refusal that the user sees.

:class:`Denied` is a 403 (or its code), an error of the API keeps its status, :class:`FieldErrors`
are a 422 with the API server's message and causes, an object that does not fit its type is a 400;
anything else is a bug in the handler, and a 500.

Upstream: controller-runtime ``admission`` Denied, Errored; apimachinery ``util/validation/field``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from clientgo.meta import (
    DecodeError,
    InvalidError,
    ObjectDecodeError,
    Status,
    StatusCause,
    StatusDetails,
    StatusError,
    error_from_status,
)
from clientgo.meta.validation import field_path
from clientgo.meta.validation.field_errors import FieldError, aggregate_message
from clientgo.operator.webhooks.admission_review import AdmissionRequest
from clientgo.util.copies import CopyableError


def path(*parts: str | int) -> str:
    """Return the path of a field in the notation of Kubernetes; a number is a list index.

    >>> path("spec", "ports", 0, "name")
    'spec.ports[0].name'
    """
    result = field_path.ROOT
    for part in parts:
        extend = field_path.index if isinstance(part, int) else field_path.child
        result = extend(result, part)  # type: ignore[arg-type]
    return result


class FieldErrors(CopyableError):  # noqa: N818 - a collection that is raised when it is not empty
    """The errors in an object, for a validator to raise or return. Not thread-safe.

    ::

        errors = FieldErrors()
        if len(obj.metadata.name) > 52:
            errors.invalid(path("metadata", "name"), obj.metadata.name, "at most 52 characters")
        errors.raise_if_any()

    Without errors the object is valid. ``add`` takes any
    :class:`clientgo.testcluster.schema.FieldError`.
    """

    def __init__(self, errors: Iterable[FieldError] = ()) -> None:
        super().__init__()
        self._errors = list(errors)

    def __str__(self) -> str:
        return aggregate_message(self._errors)

    def __len__(self) -> int:
        return len(self._errors)

    def __iter__(self) -> Iterator[FieldError]:
        return iter(self._errors)

    def add(self, error: FieldError) -> None:
        self._errors.append(error)

    def invalid(self, path: str, value: Any, detail: str) -> None:
        """The value is malformed."""
        self.add(FieldError.invalid(path, value, detail))

    def required(self, path: str, detail: str = "") -> None:
        """A value is missing."""
        self.add(FieldError.required(path, detail))

    def forbidden(self, path: str, detail: str) -> None:
        """A value must not be set, or not be changed, here."""
        self.add(FieldError.forbidden(path, detail))

    def not_supported(self, path: str, value: Any, supported: Sequence[Any]) -> None:
        """The value is not one of ``supported``."""
        self.add(FieldError.not_supported(path, value, supported))

    def duplicate(self, path: str, value: Any) -> None:
        """The value must be unique, and is not."""
        self.add(FieldError.duplicate(path, value))

    def raise_if_any(self) -> None:
        """Raise this if there are errors."""
        if self._errors:
            raise self

    def as_invalid(self, *, kind: str, group: str, name: str) -> InvalidError:
        """Return the refusal of the object ``name``: 422 with a cause for each error."""
        subject = f"{kind}.{group}" if group else kind
        causes = [
            StatusCause(reason=cause["reason"], message=cause["message"], field_=cause["field"])
            for cause in (error.as_cause() for error in self._errors)
        ]
        return InvalidError(
            Status(
                kind="Status",
                api_version="v1",
                status="Failure",
                message=f'{subject} "{name}" is invalid: {self}',
                reason=InvalidError.default_reason,
                code=InvalidError.default_code,
                details=StatusDetails(name=name, group=group, kind=kind, causes=causes),
            )
        )


class Denied(CopyableError):  # noqa: N818 - it reads as what it says: raise Denied("...")
    """Raise it in a handler to refuse a request; ``code`` is the HTTP status of the answer."""

    def __init__(self, message: str, *, code: int = 403) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class BadReviewError(CopyableError):
    """The review cannot be understood; the request is refused with 400."""


class HandlerTimeoutError(CopyableError):
    """The handler did not answer in time."""


class TooManyCallsError(CopyableError):
    """Too many handlers run, or hang, to start another."""


class RequestTooLargeError(CopyableError):
    """The body of the call is too large for a review."""


_CODES: dict[type[Exception], int] = {
    BadReviewError: 400,
    ObjectDecodeError: 400,
    DecodeError: 400,
    RequestTooLargeError: 413,
    TooManyCallsError: 429,
    HandlerTimeoutError: 504,
}
"""The codes of failures that are not bugs in handlers."""


def status_of(error: Exception, request: AdmissionRequest | None = None) -> Status:
    """Return the status that refuses ``request`` because of ``error``."""
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
    """Return True if the error is not one that handlers raise on purpose."""
    return not isinstance(error, StatusError | Denied | FieldErrors) and type(error) not in _CODES


def failure(code: int, message: str) -> Status:
    """Return a failed status with the reason of its code."""
    reason = type(error_from_status(Status(code=code))).default_reason
    return Status(
        kind="Status",
        api_version="v1",
        status="Failure",
        message=message,
        reason=reason,
        code=code,
    )
