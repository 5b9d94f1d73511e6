"""Settings from a file and from the environment.

::

    # operator.toml                        # or, of the same names, operator.yaml
    name = "foo-operator"
    namespaces = ["red", "blue"]
    graceful_shutdown = "1m"

    [leader_election]
    id = "foo-operator"

    [controller.foo]                       # of all controllers: [controller."*"]
    workers = 4
    max-interval = "10h"
    retry = { initial = "500ms", max_attempts = 7 }

::

    CLIENTGO_OPERATOR_WORKERS=2
    CLIENTGO_OPERATOR_LEADER_ELECTION__ID=foo-operator
    CLIENTGO_OPERATOR_CONTROLLER__FOO__MAX_INTERVAL=10h

Promises that what is read is complete and checked, or an error that names the key and the ones
that are near. A variable wins over the file. In names ``-`` and ``_`` are the same; in a variable
``__`` goes one level down, and the names of controllers are in lower case, with ``-`` for ``_``.

Does not promise settings that only code can express, as predicates, transforms or clients.

Source: Java Operator SDK ConfigLoader.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import yaml

from clientgo.operator import retry
from clientgo.operator.cache.scope import ALL, OWN
from clientgo.operator.durations import parse_duration, seconds
from clientgo.operator.errors import ConfigError
from clientgo.operator.manager.config import LeaderElection
from clientgo.operator.rate_limit import RateLimit
from clientgo.operator.setting_names import check_names
from clientgo.operator.webhooks.server import WebhookOptions

PREFIX: Final = "CLIENTGO_OPERATOR_"

_LEVEL: Final = "__"

Read: TypeAlias = Callable[[str, Any], Any]
"""Makes a setting of its name, for errors, and what was written."""


def read_settings(
    path: str | None = None, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The settings of a manager, as :class:`~clientgo.operator.ManagerConfig` takes them.

    ``environment`` is that of the process unless given. Raises
    :class:`~clientgo.operator.errors.ConfigError`.
    """
    written = {} if path is None else _underscored(_parsed(Path(path)))
    _lay_over(written, _from_environment(os.environ if environment is None else environment))
    controllers = written.pop("controller", {})
    settings: dict[str, Any] = _read_table("", written, _MANAGER, "a manager")
    if controllers:
        settings["controllers"] = {
            name: _read_table(f"controller.{name}", table, _CONTROLLER, "a controller")
            for name, table in _table("controller", controllers).items()
        }
    return settings


# Where it is written


def _parsed(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        found = tomllib.loads(text) if path.suffix == ".toml" else yaml.safe_load(text)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: {error}") from error
    return _table(str(path), found or {})


def _underscored(table: dict[str, Any]) -> dict[str, Any]:
    """The same with ``_`` in all names, but for those of controllers and what is below values."""
    made: dict[str, Any] = {}
    for name, value in table.items():
        name = str(name).replace("-", "_")
        if name == "controller":
            tables = _table(name, value).items()
            value = {key: _underscored(_table(f"{name}.{key}", below)) for key, below in tables}
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


# What it says


def _read_table(where: str, table: Any, readers: Mapping[str, Read], owner: str) -> dict[str, Any]:
    table = _table(where, table)
    check_names(table, sorted(readers), f"{where or 'the configuration'}: {owner}")
    prefix = f"{where}." if where else ""
    return {name: readers[name](prefix + name, value) for name, value in table.items()}


def _table(where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{where} must be a table of settings, not {value!r}")
    return value


def _text(where: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{where} must be text, not {value!r}")
    return value


def _number(convert: Callable[[Any], Any]) -> Read:
    kind = "a whole number" if convert is int else "a number"

    def read(where: str, value: Any) -> Any:
        try:
            number = None if isinstance(value, bool) else convert(value)
        except (TypeError, ValueError):
            number = None
        if number is None or number != float(value):
            raise ConfigError(f"{where} must be {kind}, not {value!r}")
        return number

    return read


_whole = _number(int)
_real = _number(float)


def _switch(where: str, value: Any) -> bool:
    said = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    found = value if isinstance(value, bool) else said.get(str(value).strip().lower())
    if found is None:
        raise ConfigError(f"{where} must be true or false, not {value!r}")
    return found


def _duration(where: str, value: Any) -> float:
    return parse_duration(value, where) if isinstance(value, str) else seconds(value, where)


def _or_none(read: Read) -> Read:
    """``none`` in words, because neither a variable nor TOML has a way to say nothing."""
    return lambda where, value: None if value in (None, "none") else read(where, value)


def _names(where: str, value: Any) -> frozenset[str]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise ConfigError(f"{where} must be names, as a list or with commas, not {value!r}")
    return frozenset(part.strip() for part in parts if part.strip())


def _namespaces(where: str, value: Any) -> Any:
    if isinstance(value, str) and value.lower() in ("all", "own"):
        return ALL if value.lower() == "all" else OWN
    return _names(where, value)


def _workers_by_kind(where: str, value: Any) -> dict[str, int]:
    return {kind: _whole(f"{where}.{kind}", count) for kind, count in _table(where, value).items()}


def _made_of(make: Callable[..., Any], readers: Mapping[str, Read]) -> Read:
    def read(where: str, value: Any) -> Any:
        return make(**_read_table(where, value, readers, "it"))

    return read


_RETRY: Final[Mapping[str, Read]] = {
    "initial": _duration,
    "multiplier": _real,
    "max_attempts": _or_none(_whole),
    "max_interval": _duration,
    "jitter": _real,
    "reset_on_generation": _switch,
    "after_exhaustion": _text,
}


def _retry(where: str, value: Any) -> Any:
    if value == "none":
        return retry.none()
    settings = _read_table(where, value, _RETRY, "it")
    # With a limit the delays are those of the policy that has one.
    make = retry.generic if "max_attempts" in settings else retry.exponential
    return make(**settings)


_CONTROLLER: Final[Mapping[str, Read]] = {
    "workers": _whole,
    "namespaces": _namespaces,
    "labels": _text,
    "finalizer": _text,
    "give_up_after": _or_none(_duration),
    "generation_aware": _switch,
    "default_filter": _switch,
    "on_deleted": _switch,
    "retry": _retry,
    "rate_limit": _made_of(RateLimit, {"runs": _whole, "per": _duration, "debounce": _duration}),
    "max_interval": _or_none(_duration),
    "reconcile_timeout": _or_none(_duration),
    "recover": _switch,
    "needs_leadership": _switch,
    "warmup": _switch,
    "cache_sync_timeout": _duration,
}

_LEADER_ELECTION: Final[Mapping[str, Read]] = {
    "id": _text,
    "namespace": _text,
    "identity": _text,
    "lease": _duration,
    "renew": _duration,
    "retry": _duration,
    "release_on_cancel": _switch,
}

_WEBHOOK: Final[Mapping[str, Read]] = {
    "port": _whole,
    "host": _text,
    "cert_dir": _text,
    "client_ca": _text,
    "certs": _text,
    "enabled": _switch,
}

_MANAGER: Final[Mapping[str, Read]] = {
    "name": _text,
    "namespaces": _namespaces,
    "metrics": _text,
    "metrics_per_namespace": _switch,
    "secure_metrics": _switch,
    "metrics_cert_dir": _text,
    "health": _text,
    "liveness_path": _text,
    "readiness_path": _text,
    "checks": _names,
    "webhook": _made_of(WebhookOptions, _WEBHOOK),
    "leader_election": _made_of(LeaderElection, _LEADER_ELECTION),
    "allow_duplicate_projection": _switch,
    "implicit_informers": _switch,
    "workers": _whole,
    "workers_by_kind": _workers_by_kind,
    "graceful_shutdown": _or_none(_duration),
    "cache_sync_timeout": _duration,
    "check_crds": _switch,
    "close_client_on_stop": _switch,
    "values": _table,
}
