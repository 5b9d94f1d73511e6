"""Run the functions that users declare: reviews in, answers out.

Promises that a defaulter gets a copy of the object, and that the patch is the difference to what it
returns. Operations that are not declared are allowed. Handlers that share a path run in order: each
mutating one gets the result of those before it, and the first refusal ends the validation. A status
that has a subresource cannot be set: it is left out and logged.

Upstream: controller-runtime ``admission.WithCustomDefaulter``, ``WithCustomValidator``,
``MultiMutatingHandler``, ``MultiValidatingHandler``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Raw

from clientgo.meta import Resource
from clientgo.meta.json_values import JSONObject, json_equal
from clientgo.meta.patches import apply_json_patch, create_json_patch
from clientgo.operator.webhooks.admission_review import (
    AdmissionContext,
    AdmissionRequest,
    AdmissionResponse,
    Operation,
    plain_object,
    raw_object,
)
from clientgo.operator.webhooks.refusals import BadReviewError, FieldErrors
from clientgo.operator.webhooks.typed_objects import TypedObjects, changed, typed_view

P = TypeVar("P", bound=Resource)

_log = logging.getLogger("clientgo.operator.webhooks")

AdmissionHandler: TypeAlias = Callable[[AdmissionRequest, AdmissionContext], AdmissionResponse]
"""Answers a review; may raise what :mod:`~clientgo.operator.webhooks.refusals` knows."""

DefaultFunction = Callable[[P, AdmissionContext], P | None]
"""Changes its argument, or returns another object."""


class Defaulter(Generic[P]):
    """Answers reviews with the changes of ``fill_in``."""

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
        original: JSONObject = msgspec.json.decode(raw)
        obj = self._objects.decode(raw)
        before = typed_view(obj)
        returned = self._fill_in(obj, ctx)
        result = self._plain(original, before, obj if returned is None else returned)
        if not ctx.subresource:
            self._keep_status(original, result, ctx)
        return AdmissionResponse(allowed=True, patch=create_json_patch(original, result))

    def _plain(self, original: JSONObject, before: JSONObject, result: Any) -> JSONObject:
        if not isinstance(result, self._objects.kind):
            raise TypeError(
                f"a defaulter of {self._objects.kind.__name__} must return None or a "
                f"{self._objects.kind.__name__}, not {result!r:.100}"
            )
        plain = changed(original, before, result)
        if self._remove_unknown:
            return typed_view(result) | {"metadata": plain["metadata"]}
        return plain

    def _keep_status(self, original: JSONObject, result: JSONObject, ctx: AdmissionContext) -> None:
        """Restore a status that has a subresource."""
        if "status" not in self._objects.resource.subresources:
            return
        if json_equal(original.get("status"), result.get("status")):
            return
        if not self._remove_unknown:  # a typed view always has a status
            _log.warning(
                "the defaulter set the status of %s %s/%s, which the API server ignores; set it in "
                "the reconciler (review %s)",
                self._objects.resource.kind,
                ctx.namespace,
                ctx.name,
                ctx.uid,
            )
        if "status" in original:
            result["status"] = original["status"]
        else:
            del result["status"]


ValidateFunction = Callable[[P, P | None, AdmissionContext], FieldErrors | Sequence[str] | None]
"""Checks an object and the one before; returns nothing, warnings, or errors."""


class Validator(Generic[P]):
    """Answers reviews with the result of ``check``."""

    def __init__(
        self, kind: type[P], check: ValidateFunction[P], operations: Collection[Operation]
    ) -> None:
        self._objects = TypedObjects(kind)
        self._check = check
        self._operations = frozenset(operations) - {Operation.CONNECT}

    def __call__(self, request: AdmissionRequest, ctx: AdmissionContext) -> AdmissionResponse:
        if ctx.operation not in self._operations:
            return AdmissionResponse.allow()
        self._objects.check_kind(request)
        obj, old = self._states(request, ctx.operation)
        return AdmissionResponse.allow(warnings=_warnings_of(self._check(obj, old, ctx)))

    def _states(self, request: AdmissionRequest, operation: Operation) -> tuple[P, P | None]:
        new, old = raw_object(request.object), raw_object(request.old_object)
        if operation is Operation.DELETE:
            new, old = old, None
        if new is None:
            raise BadReviewError(f"a review of {operation} must have the object")
        before = self._objects.decode(old) if old is not None else None
        return self._objects.decode(new), before


def _warnings_of(result: Any) -> Sequence[str]:
    if isinstance(result, FieldErrors):
        result.raise_if_any()
        return ()
    if result is None:
        return ()
    if isinstance(result, str) or not all(isinstance(text, str) for text in result):
        raise TypeError(
            f"a validator must return None, a list of warnings or FieldErrors, not {result!r:.100}"
        )
    return tuple(result)


class HandlerChain:
    """Several handlers as one. Immutable and thread-safe."""

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
