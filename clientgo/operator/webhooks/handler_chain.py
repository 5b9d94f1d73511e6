"""Several handlers on one path.

Promises: mutating handlers are asked in order, each seeing what those before it made of the
object, and the answer carries all their changes; validating ones are asked in order up to the
first that refuses.

Upstream: controller-runtime ``admission.MultiMutatingHandler``, ``MultiValidatingHandler``.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Raw

from clientgo.meta.json_values import JSONObject
from clientgo.meta.patches import apply_json_patch
from clientgo.operator.webhooks.admission_review import (
    AdmissionRequest,
    AdmissionResponse,
    plain_object,
)
from clientgo.operator.webhooks.context import AdmissionContext
from clientgo.operator.webhooks.declarations import AdmissionHandler


class HandlerChain:
    """Handlers that answer as one; itself a handler. Immutable, safe for every thread."""

    def __init__(self, handlers: Sequence[AdmissionHandler]) -> None:
        self._handlers = tuple(handlers)

    def __call__(self, request: AdmissionRequest, ctx: AdmissionContext) -> AdmissionResponse:
        patch: list[JSONObject] = []
        warnings: list[str] = []
        for handler in self._handlers:
            response = handler(request, ctx)
            warnings += response.warnings
            if not response.allowed:
                return AdmissionResponse.deny(response.status, warnings=warnings)
            if response.patch:
                patch += response.patch
                request = _patched(request, list(response.patch))
        return AdmissionResponse(allowed=True, patch=patch, warnings=warnings)


def _patched(request: AdmissionRequest, patch: list[JSONObject]) -> AdmissionRequest:
    result = apply_json_patch(plain_object(request.object), patch)
    return msgspec.structs.replace(request, object=Raw(msgspec.json.encode(result)))
