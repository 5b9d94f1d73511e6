"""Running a validating handler: objects in, allowed or refused out.

Promises: the handler sees the object and, on update, the one before it; on delete the object that
goes away. Operations that it is not declared for are allowed, and so is CONNECT, whose object is
no object of the kind.

Upstream: controller-runtime ``admission.WithCustomValidator``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Generic, TypeVar

from clientgo.meta import Resource
from clientgo.operator.webhooks.admission_review import (
    AdmissionRequest,
    AdmissionResponse,
    raw_object,
)
from clientgo.operator.webhooks.context import AdmissionContext
from clientgo.operator.webhooks.field_errors import FieldErrors
from clientgo.operator.webhooks.operation import Operation
from clientgo.operator.webhooks.refusal import BadReviewError
from clientgo.operator.webhooks.typed_objects import TypedObjects

P = TypeVar("P", bound=Resource)

ValidateFunction = Callable[[P, P | None, AdmissionContext], FieldErrors | Sequence[str] | None]
"""Looks at the object and the one before; returns nothing, warnings, or what is wrong with it."""


class Validator(Generic[P]):
    """Answers reviews with what ``check`` says of the object."""

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


def _warnings_of(said: Any) -> Sequence[str]:
    if isinstance(said, FieldErrors):
        said.raise_if_any()
        return ()
    if said is None:
        return ()
    if isinstance(said, str) or not all(isinstance(text, str) for text in said):
        raise TypeError(
            f"a validator must return None, a list of warnings or FieldErrors, not {said!r:.100}"
        )
    return tuple(said)
