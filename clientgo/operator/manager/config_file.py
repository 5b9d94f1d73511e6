"""Settings from a file and from the environment.

    # operator.toml                        # or, of the same names, operator.yaml
    name = "foo-operator"
    namespaces = ["red", "blue"]
    leader_election = { id = "foo-operator" }

    [controller.foo]                       # of all controllers: [controller."*"]
    max-interval = "10h"
    retry = { initial = "500ms", max_attempts = 7 }

    CLIENTGO_OPERATOR_WORKERS=2
    CLIENTGO_OPERATOR_LEADER_ELECTION__ID=foo-operator
    CLIENTGO_OPERATOR_CONTROLLER__FOO__MAX_INTERVAL=10h

Promises checked settings, or an error that names the key and similar ones. A variable wins over the
file. In names ``-`` and ``_`` are the same; in a variable ``__`` goes one level down, and the names
of controllers are in lower case, with ``-`` for ``_``.

Source: Java Operator SDK ConfigLoader.
"""

from __future__ import annotations

import functools
import os
import tomllib
import types
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec

from clientgo.meta.decoding import convert
from clientgo.operator import retry
from clientgo.operator.cache.scope import ALL, OWN, Scope
from clientgo.operator.controller.declaration import ControllerSettings
from clientgo.operator.errors import ConfigError
from clientgo.operator.manager.config import ManagerSettings
from clientgo.operator.settings.durations import parse_duration, seconds
from clientgo.operator.settings.types import check_names
from clientgo.util.text.yaml_reader import read_yaml

PREFIX: Final = "CLIENTGO_OPERATOR_"

_LEVEL: Final = "__"

_CODE_ONLY: Final = ("cache", "cache_by_kind", "controllers")
_CONTROLLER_CODE_ONLY: Final = ("name", "reporter", "allow_duplicate_name", "extra")


def load_settings(
    path: str | None = None, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the settings of a manager, as ``ManagerConfig`` takes them.

    ``environment`` is that of the process unless given. Raises ``ConfigError``.
    """
    written = {} if path is None else _underscored(_parsed(Path(path)))
    variables = _from_environment(os.environ if environment is None else environment)
    _lay_over(written, variables)
    try:
        return _read(written)
    except ConfigError as error:
        places = [] if path is None else [path]
        if variables:
            places.append(f"the variables {PREFIX}*")
        raise ConfigError(f"{' and '.join(places)}: {error}") from error


def _read(written: dict[str, Any]) -> dict[str, Any]:
    controllers = written.pop("controller", {})
    found = read_settings(ManagerSettings, written, owner="a manager", hidden=_CODE_ONLY)
    if controllers:
        found["controllers"] = {
            name: read_settings(
                ControllerSettings,
                table,
                owner="a controller",
                where=f"controller.{name}",
                hidden=_CONTROLLER_CODE_ONLY,
            )
            for name, table in as_table("controller", controllers).items()
        }
    return found


# Where it is written


def _parsed(path: Path) -> dict[str, Any]:
    try:
        text = path.read_bytes()
        found = tomllib.loads(text.decode()) if path.suffix == ".toml" else read_yaml(text)[0]
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: it is nested too deeply") from error
    return as_table(str(path), found or {})


def _underscored(table: dict[str, Any]) -> dict[str, Any]:
    """The same with ``_`` in all names, but for those of controllers and what is below values."""
    made: dict[str, Any] = {}
    for name, value in table.items():
        name = str(name).replace("-", "_")
        if name == "controller":
            tables = as_table(name, value).items()
            value = {key: _underscored(as_table(f"{name}.{key}", below)) for key, below in tables}
        elif isinstance(value, dict) and name not in ("values", "workers_by_kind"):
            value = _underscored(value)
        made[name] = value
    return made


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for variable, text in sorted(environment.items()):
        if variable.startswith(PREFIX):
            *tables, name = variable.removeprefix(PREFIX).lower().split(_LEVEL)
            if tables and tables[0] == "controller" and len(tables) > 1:
                tables[1] = tables[1].replace("_", "-")
            _lay_over(made, _nested(tables, name, text))
    return made


def _nested(tables: list[str], name: str, value: Any) -> dict[str, Any]:
    made: dict[str, Any] = {name: value}
    for table in reversed(tables):
        made = {table: made}
    return made


def _lay_over(table: dict[str, Any], other: Mapping[str, Any]) -> None:
    for name, value in other.items():
        if isinstance(value, dict) and isinstance(table.get(name), dict):
            _lay_over(table[name], value)
        else:
            table[name] = value


# What it means


def read_settings(
    declared: Callable[..., Any], table: Any, *, owner: str, where: str = "", hidden: Any = ()
) -> dict[str, Any]:
    """Convert a table to the arguments of a class or function, by its annotations.

    ``where`` is the path of the table; ``hidden`` settings can be set in code only. Raises
    ``ConfigError``.
    """
    table = as_table(where, table)
    types = {name: hint for name, hint in _types_of(declared).items() if name not in hidden}
    check_names(table, sorted(types), f"{where}: {owner}" if where else owner)
    prefix = f"{where}." if where else ""
    return {name: _value(prefix + name, value, types[name]) for name, value in table.items()}


def as_table(where: str, value: Any) -> dict[str, Any]:
    """Return the value if it is a table. Raises ``ConfigError``."""
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
        return convert(value, hint, strict=False)
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
