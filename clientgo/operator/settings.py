"""Settings from text, by the declared types. Errors name the setting, its table and similar names.

Settings with types that only code can make cannot be text.
"""

from __future__ import annotations

import difflib
import functools
import types
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import timedelta
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec

from clientgo.operator import retry
from clientgo.operator.cache.scope import ALL, OWN, Scope
from clientgo.operator.durations import parse_duration, seconds
from clientgo.operator.errors import ConfigError


def check_names(names: Iterable[str], known: Collection[str], owner: str) -> None:
    """Raise ``ConfigError`` for a setting that ``owner`` does not have, with what is near."""
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 3)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise ConfigError(f"{owner} has no setting {name!r}{hint}")


def read_settings(
    declared: Callable[..., Any], table: Any, *, owner: str, where: str = "", hidden: Any = ()
) -> dict[str, Any]:
    """Convert a table to the arguments of a class or function, by its annotations.

    ``where`` is the path of the table; ``hidden`` settings can be set in code only. Raises
    ``ConfigError``.
    """
    table = as_table(where, table)
    types = {name: hint for name, hint in _types_of(declared).items() if name not in hidden}
    check_names(table, sorted(types), f"{where or 'the configuration'}: {owner}")
    prefix = f"{where}." if where else ""
    return {name: _value(prefix + name, value, types[name]) for name, value in table.items()}


def as_table(where: str, value: Any) -> dict[str, Any]:
    """Return the value if it is a table. Raises :class:`~clientgo.operator.errors.ConfigError`."""
    if not isinstance(value, dict):
        raise ConfigError(f"{where} must be a table of settings, not {value!r}")
    return value


@functools.cache
def _types_of(declared: Callable[..., Any]) -> Mapping[str, Any]:
    hints = get_type_hints(declared)
    hints.pop("return", None)
    return hints


def _value(where: str, value: Any, hint: Any) -> Any:
    choices = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    # "none" in words, because neither a variable nor TOML can say nothing.
    if types.NoneType in choices and value in (None, "none"):
        return None
    for choice in choices:
        if read := _READ.get(get_origin(choice) or choice):
            return read(where, value)
        if isinstance(choice, type) and hasattr(choice, "__annotations__"):
            return _made(choice, where, value)
    try:
        return msgspec.convert(value, hint, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {error}; it is {value!r}") from error


def _made(make: Callable[..., Any], where: str, value: Any) -> Any:
    arguments = read_settings(make, value, owner="it", where=where)
    try:
        return make(**arguments)
    except TypeError as error:
        raise ConfigError(f"{where}: {error}") from error


def _duration(where: str, value: Any) -> float:
    return parse_duration(value, where) if isinstance(value, str) else seconds(value, where)


def _names(where: str, value: Any) -> frozenset[str]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise ConfigError(f"{where} must be names, as a list or with commas, not {value!r}")
    return frozenset(part.strip() for part in parts if part.strip())


def _namespaces(where: str, value: Any) -> Any:
    if isinstance(value, str) and value.lower() in ("all", "own"):
        return ALL if value.lower() == "all" else OWN
    return _names(where, value)


def _retry(where: str, value: Any) -> Any:
    if isinstance(value, str):
        return value  # the name of a policy
    return _made(retry.exponential, where, value)  # over the default


_READ: Final[Mapping[Any, Callable[[str, Any], Any]]] = {
    timedelta: _duration,
    Scope: _namespaces,
    Collection: _names,
    retry.RetryPolicy: _retry,
}
"""How values of these types are written as text."""
