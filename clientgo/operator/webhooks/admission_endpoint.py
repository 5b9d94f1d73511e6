"""The endpoint of admission reviews.

Promises that every call is answered with HTTP 200 and a review with the uid of the request. Its
code is 413 for a body of 7 MiB and more, 400 for one that cannot be read, 500 for a handler that
fails, 504 for one that takes too long. The uid is found even in a body that cannot be decoded:
without it ``failurePolicy: Ignore`` would let the object pass.

Upstream: controller-runtime ``webhook/admission`` Webhook and its ``ServeHTTP``.
"""

from __future__ import annotations

import dataclasses
import logging
import re
from typing import Final

from clientgo.observe.metrics import Counter
from clientgo.observe.serving import Request, Response
from clientgo.operator.webhooks.admission_review import (
    API_VERSION,
    API_VERSIONS,
    KIND,
    AdmissionContext,
    AdmissionRequest,
    AdmissionResponse,
    AdmissionReview,
    Operation,
    encode_review,
)
from clientgo.operator.webhooks.endpoint import (
    CallLimiter,
    handler_limit,
    json_response,
    review_in,
)
from clientgo.operator.webhooks.handlers import AdmissionHandler
from clientgo.operator.webhooks.refusals import (
    BadReviewError,
    HandlerTimeoutError,
    RequestTooLargeError,
    is_bug,
    status_of,
)

_UID: Final = re.compile(rb'"request":\s*\{\s*"uid":\s*"([-0-9A-Za-z]*)"')
"""API servers write the uid before the object."""

_log = logging.getLogger("clientgo.operator.webhooks")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionEndpoint:
    """Answers the reviews that come to ``path`` with ``handler``. Thread-safe.

    ``timeout`` is how many seconds the API server waits as registered; a call may say it too.
    ``bugs`` counts handlers that failed.
    """

    path: str
    handler: AdmissionHandler
    calls: CallLimiter
    bugs: Counter
    timeout: float | None = None

    def __call__(self, call: Request) -> Response:
        """Answer a review; blocks for as long as the handler may take."""
        try:
            review, request = _read(call)
        except (BadReviewError, RequestTooLargeError) as error:
            _log.warning("%s: a call that is no review was refused: %s", self.path, error)
            refusal = AdmissionResponse.deny(status_of(error))
            uid = _UID.search(call.body)
            return json_response(encode_review(refusal, uid=uid[1].decode() if uid else ""))
        response = self._review(request, handler_limit(call, self.timeout))
        _log.debug(
            "%s: %s %s of %s/%s is %s: review %s, code %d %s",
            self.path,
            request.operation,
            request.kind.kind,
            request.namespace,
            request.name,
            "allowed" if response.allowed else "denied",
            request.uid,
            response.status.code,
            response.status.message,
        )
        return json_response(self._encoded(response, review, request))

    def _encoded(
        self, response: AdmissionResponse, review: AdmissionReview, request: AdmissionRequest
    ) -> bytes:
        """Return the answer as JSON; a refusal where what the handler returned is no JSON."""
        try:
            return encode_review(
                response, uid=request.uid, api_version=review.api_version, kind=review.kind
            )
        except Exception as error:  # noqa: BLE001 - the API server must be answered
            self._report(error, request)
            refusal = AdmissionResponse.deny(status_of(error, request))
            return encode_review(
                refusal, uid=request.uid, api_version=review.api_version, kind=review.kind
            )

    def _review(self, request: AdmissionRequest, limit: float) -> AdmissionResponse:
        if request.operation not in set(Operation):
            error = BadReviewError(f"unknown operation {request.operation!r}")
            return AdmissionResponse.deny(status_of(error))
        ctx = AdmissionContext(request)
        try:
            response = self.calls.call(lambda: self._handled(request, ctx), limit, self.path)
        except Exception as error:  # noqa: BLE001 - the API server must be answered
            self._report(error, request)
            # A copy: a handler that goes on after its time may still warn.
            return AdmissionResponse.deny(status_of(error, request), warnings=list(ctx.warnings))
        return dataclasses.replace(response, warnings=[*ctx.warnings, *response.warnings])

    def _handled(self, request: AdmissionRequest, ctx: AdmissionContext) -> AdmissionResponse:
        response: object = self.handler(request, ctx)
        if not isinstance(response, AdmissionResponse):
            raise TypeError(f"the handler must return an AdmissionResponse, not {response!r:.100}")
        return response

    def _report(self, error: Exception, request: AdmissionRequest) -> None:
        if isinstance(error, HandlerTimeoutError):
            _log.error("%s (review %s); the request was refused", error, request.uid)
        elif is_bug(error):
            self.bugs.inc()
            _log.error(
                "%s: the handler failed on review %s, %s of %s %s/%s; the request was refused",
                self.path,
                request.uid,
                request.operation,
                request.kind.kind,
                request.namespace,
                request.name,
                exc_info=error,
            )


def _read(call: Request) -> tuple[AdmissionReview, AdmissionRequest]:
    content_type = call.headers.get("content-type", "")
    is_json = content_type.partition(";")[0].strip().lower() == "application/json"
    if call.body and not call.is_too_large and not is_json:
        raise BadReviewError(f"the content type is {content_type!r}, not application/json")
    review = review_in(call, AdmissionReview, KIND)
    if (review.kind or KIND) != KIND or (review.api_version or API_VERSION) not in API_VERSIONS:
        raise BadReviewError(
            f"the body of the call is a {review.api_version} {review.kind}, no AdmissionReview"
        )
    if review.request is None:
        raise BadReviewError("the AdmissionReview has no request")
    return review, review.request
