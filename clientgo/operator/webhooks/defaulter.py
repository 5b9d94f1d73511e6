"""Running a defaulting handler: object in, JSON patch out.

Promises: create and update reviews give the handler an object of its own; the patch is the
difference of what came to what it made, and there is none if that is the same. Other operations
are allowed untouched. Fields that the type does not declare stay, unless the webhook was declared
with ``remove_unknown``.

Does not promise that a status can be set: the API server drops it from a write of the object, so
it is left out of the patch and a warning is logged.

Upstream: controller-runtime ``admission.WithCustomDefaulter``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from clientgo.meta import Resource
from clientgo.meta.json_values import JSONObject, json_equal
from clientgo.operator.webhooks.admission_review import (
    AdmissionRequest,
    AdmissionResponse,
    raw_object,
)
from clientgo.operator.webhooks.context import AdmissionContext
from clientgo.operator.webhooks.json_diff import create_json_patch
from clientgo.operator.webhooks.operation import Operation
from clientgo.operator.webhooks.refusal import BadReviewError
from clientgo.operator.webhooks.typed_objects import TypedObjects, changed, typed_view

P = TypeVar("P", bound=Resource)

_log = logging.getLogger("clientgo.operator.webhooks")

DefaultFunction = Callable[[P, AdmissionContext], P | None]
"""Changes the object that it is given, or returns another one."""


class Defaulter(Generic[P]):
    """Answers reviews with what ``fill_in`` makes of the object."""

    def __init__(
        self, kind: type[P], fill_in: DefaultFunction[P], *, remove_unknown: bool = False
    ) -> None:
        self._objects = TypedObjects(kind)
        self._fill_in = fill_in
        self._remove_unknown = remove_unknown

    def __call__(self, request: AdmissionRequest, ctx: AdmissionContext) -> AdmissionResponse:
        if ctx.operation not in (Operation.CREATE, Operation.UPDATE):
            return AdmissionResponse.allow()
        self._objects.check_kind(request)
        raw = raw_object(request.object)
        if raw is None:
            raise BadReviewError(f"a review of {ctx.operation} must have an object")
        came: JSONObject = msgspec.json.decode(raw)
        obj = self._objects.decode(raw)
        before = typed_view(obj)
        returned = self._fill_in(obj, ctx)
        result = self._plain(came, before, obj if returned is None else returned)
        if not ctx.subresource:
            self._keep_status(came, result, ctx)
        return AdmissionResponse(allowed=True, patch=create_json_patch(came, result))

    def _plain(self, came: JSONObject, before: JSONObject, result: Any) -> JSONObject:
        if not isinstance(result, self._objects.kind):
            raise TypeError(
                f"a defaulter of {self._objects.kind.__name__} must return None or such an "
                f"object, not {result!r:.100}"
            )
        plain = changed(came, before, result)
        if self._remove_unknown:
            return typed_view(result) | {"metadata": plain["metadata"]}
        return plain

    def _keep_status(self, came: JSONObject, result: JSONObject, ctx: AdmissionContext) -> None:
        """Undo what the handler did to a status that has a subresource of its own."""
        if "status" not in self._objects.resource.subresources:
            return
        if json_equal(came.get("status"), result.get("status")):
            return
        if not self._remove_unknown:  # a typed view has a status in any case
            _log.warning(
                "The defaulter set the status of %s %s/%s, which a write of the object cannot "
                "do; set it in the reconciler (review %s)",
                self._objects.resource.kind,
                ctx.namespace,
                ctx.name,
                ctx.uid,
            )
        if "status" in came:
            result["status"] = came["status"]
        else:
            del result["status"]
