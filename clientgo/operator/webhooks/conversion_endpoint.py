"""The endpoint of conversion reviews: objects in, the same objects in another version out.

Promises all objects in their order, or a failure that names the first which cannot be converted. A
body that is not a ConversionReview is answered with HTTP 400.

Upstream: apiextensions-apiserver ConversionReview, controller-runtime ``webhook/conversion``.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from clientgo.meta import DecodeError, ObjectDecodeError, Status
from clientgo.meta.json_values import JSONObject
from clientgo.observe.metrics import Counter
from clientgo.observe.serving import Request, Response
from clientgo.operator.webhooks.admission_review import plain_status
from clientgo.operator.webhooks.conversions import ConversionError, KindConversions
from clientgo.operator.webhooks.endpoint import (
    CallLimiter,
    handler_limit,
    json_response,
    review_in,
)
from clientgo.operator.webhooks.refusals import (
    BadReviewError,
    HandlerTimeoutError,
    RequestTooLargeError,
    TooManyCallsError,
    failure,
)
from clientgo.util.copies import CopyableError

_log = logging.getLogger("clientgo.operator.webhooks")

CONVERSION_PATH: Final = "/convert"
_TIMEOUT: Final = 30.0
"""Seconds that an API server waits for a conversion; it does not say so in the call."""


class _Request(Struct, rename={"desired_api_version": "desiredAPIVersion"}, kw_only=True):
    uid: str = ""
    desired_api_version: str = ""
    objects: list[dict[str, Any]] = msgspec.field(default_factory=list)


class _Review(Struct, rename="camel", kw_only=True):
    api_version: str = "apiextensions.k8s.io/v1"
    kind: str = "ConversionReview"
    request: _Request | None = None


class _ObjectError(CopyableError):
    """One object, which it names, cannot be converted because of its cause."""


class ConversionEndpoint:
    """Converts objects of ``kinds``; ``bugs`` counts converters that failed. Thread-safe."""

    def __init__(
        self, kinds: Sequence[KindConversions], *, calls: CallLimiter, bugs: Counter
    ) -> None:
        self._kinds = {(kind.resource.group, kind.resource.kind): kind for kind in kinds}
        self._calls = calls
        self._bugs = bugs

    def __call__(self, call: Request) -> Response:
        """Answer a review; blocks while the converters work."""
        try:
            review = review_in(call, _Review, "ConversionReview")
        except (BadReviewError, RequestTooLargeError) as error:
            return _not_understood(str(error))
        request = review.request
        if request is None:
            return _not_understood("the ConversionReview has no request")
        result, converted = self._convert_all(request, handler_limit(call, _TIMEOUT))
        return json_response(_encoded(review, request, result, converted))

    def _convert_all(self, request: _Request, limit: float) -> tuple[Status, list[msgspec.Raw]]:
        try:
            converted = self._calls.call(
                lambda: [self._encoded(obj, request) for obj in request.objects],
                limit,
                CONVERSION_PATH,
            )
        except Exception as error:  # noqa: BLE001 - the API server must be answered
            return self._failed(request, error), []
        return Status(status="Success"), converted

    def _encoded(self, obj: JSONObject, request: _Request) -> msgspec.Raw:
        try:
            return msgspec.Raw(msgspec.json.encode(self._convert(obj, request)))
        except Exception as error:
            raise _ObjectError(f"{obj.get('kind', 'object')} {_name_of(obj)}") from error

    def _convert(self, obj: JSONObject, request: _Request) -> JSONObject:
        desired_group, _, desired_version = request.desired_api_version.rpartition("/")
        group = str(obj.get("apiVersion", "")).rpartition("/")[0]
        kind = str(obj.get("kind", ""))
        if group != desired_group:
            raise ConversionError(
                f"{kind} of group {group!r} cannot become one of group {desired_group!r}"
            )
        conversions = self._kinds.get((group, kind))
        if conversions is None:
            raise ConversionError(f"there are no conversions for {kind} of group {group!r}")
        return conversions.convert(obj, desired_version)

    def _failed(self, request: _Request, error: Exception) -> Status:
        cause: Any = None
        about = ""
        if isinstance(error, _ObjectError) and isinstance(error.__cause__, Exception):
            about, error = f"{error}: ", error.__cause__
        if isinstance(error, ConversionError | DecodeError | ObjectDecodeError):
            code, message = 400, str(error)
        elif isinstance(error, HandlerTimeoutError | TooManyCallsError):
            code, message = 504, str(error)
        else:
            self._bugs.inc()
            code, cause = 500, error
            message = f"a converter failed: {type(error).__name__}: {error}"
        message = about + message
        _log.error(
            "conversion of %d objects to %s failed (review %s): %s",
            len(request.objects),
            request.desired_api_version,
            request.uid,
            message,
            exc_info=cause,
        )
        return failure(code, message)


def _name_of(obj: JSONObject) -> str:
    metadata = obj.get("metadata")
    known: JSONObject = metadata if isinstance(metadata, dict) else {}
    name = known.get("name") or known.get("generateName") or "without a name"
    return f"{known['namespace']}/{name}" if known.get("namespace") else str(name)


def _encoded(
    review: _Review, request: _Request, result: Status, converted: list[msgspec.Raw]
) -> bytes:
    response = {
        "uid": request.uid,
        "convertedObjects": converted,
        "result": plain_status(result),
    }
    return msgspec.json.encode(
        {"apiVersion": review.api_version, "kind": review.kind, "response": response}
    )


def _not_understood(why: str) -> Response:
    _log.warning("%s: a call was refused: %s", CONVERSION_PATH, why)
    return Response(400, f"{why}\n".encode())
