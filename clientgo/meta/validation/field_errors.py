"""Errors of fields: the causes of an ``Invalid`` status.

Promises: a `FieldError` has the reason, field and message that an API server sends. A constructor
for each reason decides how much of the value is shown.

Does not promise: the status around the causes.

Follows ``k8s.io/apimachinery/pkg/util/validation/field.Error``. It is a value and no exception,
because validation collects all errors.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from clientgo.meta.validation import field_path
from clientgo.util.text import go_format


class FieldErrorReason(enum.StrEnum):
    """The machine-readable reason of a cause."""

    NOT_FOUND = "FieldValueNotFound"
    REQUIRED = "FieldValueRequired"
    DUPLICATE = "FieldValueDuplicate"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    INTERNAL = "InternalError"
    TYPE_INVALID = "FieldValueTypeInvalid"


_TITLES: Final = {
    FieldErrorReason.NOT_FOUND: "Not found",
    FieldErrorReason.REQUIRED: "Required value",
    FieldErrorReason.DUPLICATE: "Duplicate value",
    FieldErrorReason.INVALID: "Invalid value",
    FieldErrorReason.NOT_SUPPORTED: "Unsupported value",
    FieldErrorReason.FORBIDDEN: "Forbidden",
    FieldErrorReason.TOO_LONG: "Too long",
    FieldErrorReason.TOO_MANY: "Too many",
    FieldErrorReason.INTERNAL: "Internal error",
    FieldErrorReason.TYPE_INVALID: "Invalid value",
}


class _Omitted(enum.Enum):
    OMITTED = "<omitted>"


OMITTED: Final = _Omitted.OMITTED
"""The bad value of an error that does not show it."""


@dataclass(frozen=True, slots=True)
class Verbatim:
    """The text of a bad value that is more than JSON upstream."""

    text: str


@dataclass(frozen=True, slots=True)
class FieldError:
    """An error of a field. Immutable; made by the constructors below."""

    reason: FieldErrorReason
    field: str
    bad_value: Any = OMITTED
    detail: str = ""

    @classmethod
    def invalid(cls, field: str, value: Any, detail: str) -> FieldError:
        """Make the error of a malformed value."""
        return cls(FieldErrorReason.INVALID, field, value, detail)

    @classmethod
    def type_invalid(cls, field: str, value: Any, detail: str) -> FieldError:
        """Make the error of a value of the wrong type."""
        return cls(FieldErrorReason.TYPE_INVALID, field, value, detail)

    @classmethod
    def required(cls, field: str, detail: str = "") -> FieldError:
        """Make the error of a missing value."""
        return cls(FieldErrorReason.REQUIRED, field, detail=detail)

    @classmethod
    def forbidden(cls, field: str, detail: str) -> FieldError:
        """Make the error of a value that may not be set here."""
        return cls(FieldErrorReason.FORBIDDEN, field, detail=detail)

    @classmethod
    def duplicate(cls, field: str, value: Any) -> FieldError:
        """Make the error of a value that must be unique and is not."""
        return cls(FieldErrorReason.DUPLICATE, field, value)

    @classmethod
    def not_found(cls, field: str, value: Any) -> FieldError:
        """Make the error of a reference to a missing object."""
        return cls(FieldErrorReason.NOT_FOUND, field, value)

    @classmethod
    def not_supported(cls, field: str, value: Any, supported: Sequence[Any]) -> FieldError:
        """Make the error of a value outside an enumeration."""
        shown = (
            item if isinstance(item, str) else go_format.compact_json(item) for item in supported
        )
        values = ", ".join(map(go_format.quote, shown))
        detail = f"supported values: {values}" if values else ""
        return cls(FieldErrorReason.NOT_SUPPORTED, field, value, detail)

    @classmethod
    def too_long(cls, field: str, limit: int) -> FieldError:
        """Make the error of a text longer than `limit`; the text itself is not shown."""
        unit = "byte" if limit == 1 else "bytes"
        return cls(FieldErrorReason.TOO_LONG, field, detail=f"may not be more than {limit} {unit}")

    @classmethod
    def too_many(cls, field: str, count: int, limit: int) -> FieldError:
        """Make the error of a list or map with `count` members where `limit` are allowed."""
        unit = "item" if limit == 1 else "items"
        detail = f"must have at most {limit} {unit}"
        return cls(FieldErrorReason.TOO_MANY, field, count, detail)

    @classmethod
    def internal(cls, field: str, detail: str) -> FieldError:
        """Make the error of a check that failed itself."""
        return cls(FieldErrorReason.INTERNAL, field, detail=detail)

    @property
    def message(self) -> str:
        """What is wrong, without the field."""
        text = _TITLES[self.reason]
        if self.bad_value is not OMITTED:
            text = f"{text}: {_display(self.bad_value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def as_cause(self) -> dict[str, str]:
        """Return the entry for ``details.causes`` of a status."""
        return {
            "reason": self.reason.value,
            "message": self.message,
            "field": field_path.display(self.field),
        }

    def below(self, path: str) -> FieldError:
        """Return the same error with its field taken as relative to `path`."""
        if not path:
            return self
        return replace(self, field=f"{path}.{self.field}" if self.field else path)

    def __str__(self) -> str:
        return f"{field_path.display(self.field)}: {self.message}"


def aggregate_message(errors: Iterable[FieldError]) -> str:
    """Return the errors as one text: the bare error, or ``[a, b]`` without repetitions."""
    texts = list(dict.fromkeys(map(str, errors)))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _display(value: Any) -> str:
    if isinstance(value, Verbatim):
        return value.text
    if isinstance(value, str):
        return go_format.quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return go_format.number(value)
    return go_format.compact_json(value)
