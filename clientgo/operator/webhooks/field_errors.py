"""Collecting what is wrong with an object, field by field, and refusing it with all of it at once.

::

    errors = FieldErrors()
    if len(obj.metadata.name) > 52:
        errors.invalid(path("metadata", "name"), obj.metadata.name, "at most 52 characters")
    errors.raise_if_any()

Promises: the user sees the message and the causes that the API server itself would give.

Upstream: apimachinery ``util/validation/field`` ErrorList and ``api/errors`` NewInvalid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from clientgo.meta import InvalidError, Status, StatusCause, StatusDetails
from clientgo.schema import FieldError, aggregate_message, field_path


def path(*parts: str | int) -> str:
    """The path of a field in the notation of Kubernetes; a number is the place in a list.

    >>> path("spec", "ports", 0, "name")
    'spec.ports[0].name'
    """
    result = field_path.ROOT
    for part in parts:
        extend = field_path.index if isinstance(part, int) else field_path.child
        result = extend(result, part)  # type: ignore[arg-type]
    return result


class FieldErrors(Exception):  # noqa: N818 - a collection that is raised when it is not empty
    """The mistakes in an object. Not thread-safe: one validation fills one.

    It may be raised or returned by a validator; empty, it means that nothing is wrong. ``add``
    takes what :class:`clientgo.schema.FieldError` can say beyond the methods here.
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
        """A value may not be set, or not be changed, here."""
        self.add(FieldError.forbidden(path, detail))

    def not_supported(self, path: str, value: Any, supported: Sequence[Any]) -> None:
        """The value is none of those that are possible."""
        self.add(FieldError.not_supported(path, value, supported))

    def duplicate(self, path: str, value: Any) -> None:
        """The value must be unique, and is not."""
        self.add(FieldError.duplicate(path, value))

    def raise_if_any(self) -> None:
        """Raise this if it holds a mistake."""
        if self._errors:
            raise self

    def as_invalid(self, *, kind: str, group: str, name: str) -> InvalidError:
        """The refusal of the object ``name`` of this kind: 422 with a cause for each mistake."""
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
