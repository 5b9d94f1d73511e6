"""Checking the types of settings, which a type checker does and Python leaves to their first use.

Errors name the setting. Does not look into collections, and leaves protocols to their own checks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from clientgo.operator.errors import ConfigError

_OWN_CHECK: Final = (timedelta, Iterable)
"""Lengths and namespaces: the functions that read these say how to write one."""


def check_types(settings: Mapping[str, Any], declared: type[Any], owner: str) -> None:
    """Raise ``ConfigError`` for a setting that is not what the ``TypedDict`` declares."""
    hints = get_type_hints(declared)
    for name, value in settings.items():
        if name in hints and not _fits(value, hints[name]):
            raise ConfigError(f"{owner}: {name} must be {_words(hints[name])}, not {value!r}")


def several(items: Any, name: str) -> tuple[Any, ...]:
    """Return an argument that is a list of something. Raises ``ConfigError``."""
    if isinstance(items, str | Mapping) or not isinstance(items, Iterable):
        raise ConfigError(f"{name} must be a list, as {name}=[...], not {items!r}")
    return tuple(items)


def _fits(value: Any, hint: Any) -> bool:
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in get_args(hint)) or any(
            (get_origin(each) or each) in _OWN_CHECK for each in get_args(hint)
        )
    if origin is Literal:
        return value in get_args(hint)
    kind = origin or hint
    if not isinstance(kind, type) or getattr(kind, "_is_protocol", False):
        return True
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind in (bool, object)
    if kind is Collection and isinstance(value, str):
        return False
    return isinstance(value, kind)


def _words(hint: Any) -> str:
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(map(_words, get_args(hint)))
    if hint is NoneType:
        return "None"
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("collections.abc.", "")
