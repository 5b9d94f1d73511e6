"""One validation of an object, and the causes that it collects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from clientgo.meta.validation.field_errors import OMITTED, FieldError, FieldErrorReason


class Run(msgspec.Struct):
    """One validation of an object."""

    object: Any
    is_update: bool
    errors: list[FieldError] = msgspec.field(default_factory=list)


Check = Callable[[Any, Any, str, Run], None]
"""Called with a value, its old value (None if it is not known), its path and the run."""


_WITHOUT_VALUE = (
    FieldErrorReason.REQUIRED,
    FieldErrorReason.FORBIDDEN,
    FieldErrorReason.TOO_LONG,
)
"""Reasons whose errors don't show the value."""


def error_of(reason: str, path: str, value: Any, detail: str) -> FieldError:
    """Return an error for a reason as tables write it, such as ``Required``."""
    full = {
        "TypeInvalid": FieldErrorReason.TYPE_INVALID,
        "Internal": FieldErrorReason.INTERNAL,
    }.get(reason) or FieldErrorReason(f"FieldValue{reason}")
    is_nested = isinstance(value, dict) or (
        isinstance(value, list) and not all(isinstance(item, str) for item in value)
    )
    shown = OMITTED if full in _WITHOUT_VALUE or is_nested else value
    return FieldError(full, path, shown, detail)


def reason_of(said: Any, default: str) -> str:
    """Return the reason that a flag means."""
    return default if said is True else said or ""


def join(path: str, name: str) -> str:
    """Return the path of a field below; ``^`` cuts the last index, if any, ``^^`` a name too."""
    if not name:
        return path
    if name.startswith("^"):
        before, bracket, _ = path.rpartition("[")
        before = before if bracket else path
        if name.startswith("^^"):
            return before.rpartition(".")[0] + name[2:]
        return before + name[1:]
    return f"{path}.{name}" if path else name
