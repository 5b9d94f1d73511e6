"""Checking the names and types of settings, which Python leaves to their first use.

Errors name the setting. Does not look into collections, and leaves protocols to their own checks.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from clientgo.operator.errors import ConfigError

_OWN_CHECK: Final = (timedelta, Iterable)
"""Lengths and namespaces: the functions that read these say how to write one."""


def check_settings(settings: Mapping[str, Any], declared: type[Any], owner: str) -> None:
    """Raise ``ConfigError`` for a setting that is not what the ``TypedDict`` declares."""
    hints = get_type_hints(declared)
    check_names(settings, hints, owner)
    for name, value in settings.items():
        if not _fits(value, hints[name]):
            raise ConfigError(f"{owner}: {name} must be {_words(hints[name])}, not {value!r}")


def check_names(
    names: Iterable[str],
    known: Collection[str],
    owner: str,
    instead: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Raise ``ConfigError`` for a setting that ``owner`` does not have, with what is near.

    ``instead`` says what to write for names that other interfaces have.
    """
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 3)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            if name in instead:
                hint = f"; write {instead[name]}"
            raise ConfigError(f"{owner} has no setting {name!r}{hint}")


def several(items: Any, name: str) -> tuple[Any, ...]:
    """Return an argument that is a list of something. Raises ``ConfigError``."""
    if isinstance(items, str | Mapping) or not isinstance(items, Iterable):
        raise ConfigError(f"{name} must be a list, as {name}=[...], not {items!r}")
    return tuple(items)


def _fits(value: Any, hint: Any) -> bool:
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in get_args(hint))
    kind = origin or hint
    if kind in _OWN_CHECK or getattr(kind, "_is_protocol", False):
        return True
    if isinstance(value, bool):
        return kind is bool  # which is an int too, for Python
    if kind is Collection and isinstance(value, str):
        return False
    return isinstance(value, kind)


def _words(hint: Any) -> str:
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(map(_words, get_args(hint)))
    if hint is NoneType:
        return "None"
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("collections.abc.", "")
