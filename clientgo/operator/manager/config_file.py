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

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from clientgo.operator.controller.declaration import ControllerSettings
from clientgo.operator.errors import ConfigError
from clientgo.operator.manager.config import ManagerSettings
from clientgo.operator.settings import as_table, read_settings

PREFIX: Final = "CLIENTGO_OPERATOR_"

_LEVEL: Final = "__"

_CODE_ONLY: Final = ("cache", "cache_by_kind", "controllers")
_CONTROLLER_CODE_ONLY: Final = ("name", "reporter", "allow_duplicate_name", "extra")


def load_settings(
    path: str | None = None, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The settings of a manager, as ``ManagerConfig`` takes them.

    ``environment`` is that of the process unless given. Raises ``ConfigError``.
    """
    written = {} if path is None else _underscored(_parsed(Path(path)))
    _lay_over(written, _from_environment(os.environ if environment is None else environment))
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
        text = path.read_text(encoding="utf-8")
        found = tomllib.loads(text) if path.suffix == ".toml" else yaml.safe_load(text)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: {error}") from error
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
