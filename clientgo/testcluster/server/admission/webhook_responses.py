"""What an admission webhook answers: the response of an AdmissionReview.

Promises: a response of another form than the published one is a failed call, to which the
failurePolicy of the webhook applies.

Upstream: apiserver ``admission/plugin/webhook/request`` and ``errors``.
"""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Any

import msgspec

from clientgo.meta.decoding import convert
from clientgo.testcluster.server.http.webhook_client import WebhookCallError
from clientgo.testcluster.server.resources.errors import FailedRequestError
from clientgo.testcluster.server.storage.deep_values import decode_any
from clientgo.testcluster.server.storage.storage import Object

_DENIED = 400
"""Lowest code of a denial, and that of a denial without one."""

_LAST_CODE = 599
"""HTTP has no codes above."""

_TYPE = ("admission.k8s.io/v1", "AdmissionReview")

_Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]


class _Cause(msgspec.Struct, omit_defaults=True):
    reason: str = ""
    message: str = ""
    field: str = ""


class _Details(msgspec.Struct, omit_defaults=True, rename="camel"):
    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: list[_Cause] | None = None
    retry_after_seconds: _Int32 = 0


class _Status(msgspec.Struct):
    message: str | None = None
    reason: str | None = None
    details: _Details | None = None
    code: _Int32 | None = None


class AdmissionResponse(msgspec.Struct, rename="camel"):
    """The response to a review."""

    uid: str | None = None
    allowed: bool | None = None
    status: _Status | None = None
    """Why the write is denied."""
    patch: str | None = None
    """A JSON patch in base64."""
    patch_type: str | None = None
    warnings: list[str] | None = None

    def operations(self) -> Any:
        """Return the value of the patch, which may be no list of operations.

        Raises:
            ValueError: it is no JSON.
        """
        return decode_any(base64.b64decode(self.patch or ""))

    def denial(self, name: str) -> FailedRequestError:
        """Return the failure of a write that the webhook of a name does not allow."""
        status = self.status or _Status()
        said = status.message or status.reason
        message = f'admission webhook "{name}" denied the request'
        message += f": {said}" if said else " without explanation"
        code = min(max(status.code or 0, _DENIED), _LAST_CODE)
        details = msgspec.to_builtins(status.details) if status.details else None
        return FailedRequestError(code, status.reason or "", message, details)


class _Review(msgspec.Struct, rename="camel"):
    api_version: str | None = None
    kind: str | None = None
    response: AdmissionResponse | None = None


def read_response(answer: Object, uid: str, *, mutating: bool) -> AdmissionResponse:
    """Return the response to the review of a uid.

    Raises:
        WebhookCallError: the answer has another form, or is one to another review.
    """
    try:
        review = convert(answer, _Review)
    except msgspec.ValidationError as error:
        raise WebhookCallError(f"failed to call webhook: {error}") from error
    response = review.response
    if response is None:
        raise _invalid("webhook response was absent")
    if response.uid != uid:
        raise _invalid(f'expected response.uid="{uid}", got "{response.uid or ""}"')
    found = (review.api_version or "", review.kind or "")
    if found != _TYPE:
        wanted, got = (", Kind=".join(names) for names in (_TYPE, found))
        raise _invalid(f"expected webhook response of {wanted}, got {got}")
    if problem := _patch_problem(response, mutating=mutating):
        raise _invalid(problem)
    return response


def _invalid(problem: str) -> WebhookCallError:
    return WebhookCallError(f"received invalid webhook response: {problem}")


def _patch_problem(response: AdmissionResponse, *, mutating: bool) -> str:
    """Return why a response can't have its patch and patchType, or ""."""
    patch, kind = response.patch, response.patch_type
    try:
        base64.b64decode(patch or "", validate=True)
    except (binascii.Error, ValueError) as error:
        return f"response.patch is no base64: {error}"
    if not mutating:
        field = "patch" if patch else "patchType" if kind is not None else ""
        return f"validating webhook may not return response.{field}" if field else ""
    if patch and kind is None:
        return "webhook returned response.patch but not response.patchType"
    if not patch and kind is not None:
        return "webhook returned response.patchType but not response.patch"
    if kind not in (None, "JSONPatch"):
        return f'webhook returned invalid response.patchType of "{kind}"'
    return ""
