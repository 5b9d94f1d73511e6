"""Error responses of the API as exceptions: one class for each reason, all :class:`StatusError`.

Catch a class (`except NotFoundError`), or ask a predicate. Predicates look at the reason first
and at the HTTP code second, because proxies send codes alone. Source: apimachinery `api/errors`.
"""

from __future__ import annotations

from typing import ClassVar

from clientgo.meta.status import Status, StatusCause, StatusDetails
from clientgo.util.copies import CopyableError


class StatusError(CopyableError):
    """The API server refused a request; ``status`` is its answer in full."""

    default_reason: ClassVar[str] = ""
    default_code: ClassVar[int] = 0

    def __init__(self, status: Status) -> None:
        super().__init__(status.message or status.reason or f"HTTP {status.code}")
        self.status = status

    @property
    def code(self) -> int:
        return self.status.code

    @property
    def reason(self) -> str:
        return self.status.reason

    @property
    def message(self) -> str:
        return self.status.message

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait before asking again, where the server said so."""
        seconds = self.status.details.retry_after_seconds
        return float(seconds) if seconds else None

    @classmethod
    def of(cls, message: str, *, name: str = "", kind: str = "", group: str = "") -> StatusError:
        """Make an error of this class here, as fakes and listers do."""
        details = StatusDetails(name=name, kind=kind, group=group)
        return cls(
            Status(
                kind="Status",
                api_version="v1",
                status="Failure",
                reason=cls.default_reason,
                code=cls.default_code,
                message=message,
                details=details,
            )
        )


class BadRequestError(StatusError):
    default_reason, default_code = "BadRequest", 400


class UnauthorizedError(StatusError):
    default_reason, default_code = "Unauthorized", 401


class ForbiddenError(StatusError):
    default_reason, default_code = "Forbidden", 403


class NotFoundError(StatusError):
    default_reason, default_code = "NotFound", 404


class MethodNotAllowedError(StatusError):
    default_reason, default_code = "MethodNotAllowed", 405


class NotAcceptableError(StatusError):
    default_reason, default_code = "NotAcceptable", 406


class AlreadyExistsError(StatusError):
    default_reason, default_code = "AlreadyExists", 409


class ConflictError(StatusError):
    """The object changed since it was read, or another manager owns a field."""

    default_reason, default_code = "Conflict", 409


class GoneError(StatusError):
    default_reason, default_code = "Gone", 410


class ExpiredError(GoneError):
    """The resource version or continue token is too old: list again."""

    default_reason = "Expired"


class RequestTooLargeError(StatusError):
    default_reason, default_code = "RequestEntityTooLarge", 413


class UnsupportedMediaTypeError(StatusError):
    default_reason, default_code = "UnsupportedMediaType", 415


class InvalidError(StatusError):
    """The object does not fit its schema; ``status.details.causes`` names the fields."""

    default_reason, default_code = "Invalid", 422


class TooManyRequestsError(StatusError):
    default_reason, default_code = "TooManyRequests", 429


class InternalServerError(StatusError):
    default_reason, default_code = "InternalError", 500


class ServiceUnavailableError(StatusError):
    default_reason, default_code = "ServiceUnavailable", 503


class ServerTimeoutError(StatusError):
    """The server could not finish in time and asks to try again."""

    default_reason, default_code = "ServerTimeout", 500


class GatewayTimeoutError(StatusError):
    default_reason, default_code = "Timeout", 504


_CLASSES: tuple[type[StatusError], ...] = (
    BadRequestError,
    UnauthorizedError,
    ForbiddenError,
    NotFoundError,
    MethodNotAllowedError,
    NotAcceptableError,
    ConflictError,
    AlreadyExistsError,
    GoneError,
    ExpiredError,
    RequestTooLargeError,
    UnsupportedMediaTypeError,
    InvalidError,
    TooManyRequestsError,
    InternalServerError,
    ServiceUnavailableError,
    ServerTimeoutError,
    GatewayTimeoutError,
)
_BY_REASON = {cls.default_reason: cls for cls in _CLASSES}
_BY_CODE = {cls.default_code: cls for cls in reversed(_CLASSES)}


def error_from_status(status: Status) -> StatusError:
    """The exception for an answer: by its reason, or by its code where the reason is unknown."""
    cls = _BY_REASON.get(status.reason) or _BY_CODE.get(status.code) or StatusError
    return cls(status)


_TOO_LARGE_CAUSE = "ResourceVersionTooLarge"
_TOO_LARGE_TEXT = "Too large resource version"


def is_expired(error: BaseException) -> bool:
    """The resource version asked for is no longer held: 410 in any of its forms."""
    return isinstance(error, StatusError) and (
        error.reason in ("Expired", "Gone") or error.code == 410
    )


def is_conflict(error: BaseException) -> bool:
    """A 409 that a fresh read and another try can resolve."""
    return isinstance(error, StatusError) and error.reason == "Conflict"


def is_too_many_requests(error: BaseException) -> bool:
    """The server throttles."""
    return isinstance(error, StatusError) and (
        error.reason == "TooManyRequests" or error.code == 429
    )


def is_internal_error(error: BaseException) -> bool:
    """The server failed in itself."""
    return isinstance(error, StatusError) and error.reason == "InternalError"


def is_too_large_resource_version(error: BaseException) -> bool:
    """The resource version asked for is ahead of the server's: it went back in time or lags.

    Servers before 1.17 say so only in the text of a timeout.
    """
    if not isinstance(error, StatusError):
        return False
    causes: list[StatusCause] = error.status.details.causes
    if any(cause.reason == _TOO_LARGE_CAUSE for cause in causes):
        return True
    return error.reason == "Timeout" and (
        any(_TOO_LARGE_TEXT in cause.message for cause in causes)
        or _TOO_LARGE_TEXT in error.message
    )
