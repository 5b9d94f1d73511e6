"""Reading and merging kubeconfig files.

Promises what kubectl does: if several files have an entry of the same name, the first one is used,
whole; missing and empty files are skipped; relative paths are beside the file that names them. A
file that kubectl refuses raises a :class:`ConfigError` with the file, the place in it and what to
do, and without a value of it.

Source: client-go `tools/clientcmd` ClientConfigLoadingRules.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from clientgo.meta.decoding import convert
from clientgo.rest.config.config_error import ConfigError
from clientgo.rest.config.kubeconfig_types import Cluster, Context, User
from clientgo.util.text.yaml_reader import YamlError, read_yaml

_T = TypeVar("_T", Cluster, Context, User)

DEFAULT_PATH: Final = "~/.kube/config"
_LONGEST: Final = 64 << 20
_MOST_SHOWN: Final = 20
_ANOTHER: Final = "pass another file"
_KINDS: Final = {"clusters": "cluster", "users": "user", "contexts": "context"}
_PATHS: Final = ("certificate_authority", "client_certificate", "client_key", "token_file")
_DATA: Final = ("certificate_authority_data", "client_certificate_data", "client_key_data")
_NESTING: Final = 6
"""Levels of an entry that have fields."""
_NAMES: Final = {
    "str": "text",
    "int": "a number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}
_ADVICE: Final = {"str": "put it in quotes", "bool": "write true or false, without quotes"}
_MISMATCH: Final = re.compile(r"Expected `(\w+)[^`]*`, got `(\w+)`(?: - at `\$(.*)`)?")


class Kubeconfig(msgspec.Struct, kw_only=True, frozen=True):
    """What one kubeconfig, or several together, have. No text form shows a secret."""

    current_context: str = ""
    contexts: Mapping[str, Context] = {}
    clusters: Mapping[str, Cluster] = {}
    users: Mapping[str, User] = {}
    paths: tuple[str, ...] = ()
    """The files that were read."""

    @property
    def is_empty(self) -> bool:
        return not (self.current_context or self.contexts or self.clusters or self.users)


def load_kubeconfig(*paths: str | os.PathLike[str]) -> Kubeconfig:
    """Return what these files have together, or those that kubectl reads if none is passed.

    These are the files that ``$KUBECONFIG`` lists, of which some may be missing, or else
    ``~/.kube/config``. Does not say if its entries can be used; :func:`load_config` does.
    Raises :class:`ConfigError` for a file that cannot be read or is no kubeconfig.
    """
    if paths:
        return merge(read_kubeconfig(path) for path in paths)
    return merge_existing(listed_paths() or [DEFAULT_PATH])


def shown(names: Iterable[str]) -> str:
    """Return names for a message: the first ones, and none with a line break."""
    texts = [name if name.isprintable() else repr(name) for name in names]
    more = f" and {len(texts) - _MOST_SHOWN} more" if len(texts) > _MOST_SHOWN else ""
    return ", ".join(texts[:_MOST_SHOWN]) + more if texts else "none"


def listed_paths() -> list[str]:
    """Return the paths in ``$KUBECONFIG``, each one once."""
    listed = os.environ.get("KUBECONFIG", "").split(os.pathsep)
    return list(dict.fromkeys(path for path in listed if path))


def merge_existing(paths: Iterable[str]) -> Kubeconfig:
    """Return what the files have together that exist; raises :class:`ConfigError`."""
    found = []
    for path in paths:
        try:
            found.append(read_kubeconfig(path))
        except ConfigError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
    return merge(found)


def merge(files: Iterable[Kubeconfig]) -> Kubeconfig:
    """Return what files have together; the first one that sets something wins."""
    merged = Kubeconfig()
    for file in files:
        merged = Kubeconfig(
            current_context=merged.current_context or file.current_context,
            contexts={**file.contexts, **merged.contexts},
            clusters={**file.clusters, **merged.clusters},
            users={**file.users, **merged.users},
            paths=(*merged.paths, *file.paths),
        )
    return merged


def read_kubeconfig(path: str | os.PathLike[str]) -> Kubeconfig:
    """Return what a file has; raises :class:`ConfigError`."""
    path = os.path.abspath(os.path.expanduser(path))
    try:
        with open(path, "rb") as file:
            body = file.read(_LONGEST + 1)
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or str(error)
        problem = f"the kubeconfig cannot be read: {reason}"
        if isinstance(error, FileNotFoundError | IsADirectoryError):
            is_directory = isinstance(error, IsADirectoryError)
            problem = "this is a directory" if is_directory else "there is no such kubeconfig"
        raise ConfigError(
            problem, path=path, advice="check the path that was passed and its permissions"
        ) from error
    if len(body) > _LONGEST:
        raise ConfigError("this is no kubeconfig: it is too long", path=path, advice=_ANOTHER)
    return parse_kubeconfig(body, path)


def parse_kubeconfig(content: bytes | str, path: str = "") -> Kubeconfig:
    """Return what a kubeconfig has that is no file, such as the value of a Secret.

    Trust its author: it may name files to read, and programs to run. Raises :class:`ConfigError`.
    """
    value: Any = None
    problem = ""
    try:
        value = read_yaml(content.encode() if isinstance(content, str) else content)[0]
    except YamlError as error:  # its causes show content, so they are not kept
        problem = _without_content(str(error))
    except RecursionError:
        problem = "it is nested too deep"
    if problem:
        raise ConfigError(f"the kubeconfig is not YAML: {problem}", path=path, advice="correct it")
    if value is None:
        return Kubeconfig(paths=(path,))
    if not isinstance(value, dict):
        raise ConfigError(
            "this is no kubeconfig: its content is no mapping", path=path, advice=_ANOTHER
        )
    return _kubeconfig(value, path)


def _without_content(problem: str) -> str:
    """Return a problem without what it quotes, which may be a secret."""
    text = re.split(r"['\"`]|(?<=invalid map key)", problem.removeprefix("yaml: "))[0]
    return " ".join(text.split()).rstrip(" :")


def _kubeconfig(content: dict[str, Any], path: str) -> Kubeconfig:
    api_version, kind = (_text(content, name, path) for name in ("apiVersion", "kind"))
    if api_version not in ("", "v1") or kind not in ("", "Config"):
        raise ConfigError(
            f"this is a {shown([kind or 'Config'])} of {shown([api_version or 'v1'])}, "
            "not a kubeconfig",
            path=path,
            advice=_ANOTHER,
        )
    return Kubeconfig(
        current_context=_text(content, "current-context", path),
        contexts=_entries(content, "contexts", Context, path),
        clusters=_entries(content, "clusters", Cluster, path),
        users=_entries(content, "users", User, path),
        paths=(path,),
    )


def _text(content: dict[str, Any], field: str, path: str, place: str = "") -> str:
    value = content.get(field)
    return "" if value is None else _convert(value, str, f"{place}.{field}".lstrip("."), path)


def _entries(content: dict[str, Any], section: str, kind: type[_T], path: str) -> dict[str, _T]:
    """Return the entries of a section by their names."""
    found: dict[str, _T] = {}
    given = content.get(section)
    entries = _convert([] if given is None else given, list, section, path)
    for index, given in enumerate(entries):
        place = f"{section}[{index}]"
        entry = _convert({} if given is None else given, dict, place, path)
        name = _text(entry, "name", path, place)
        if name in found:
            raise ConfigError(
                f"{section} has two entries with the name {name!r}",
                path=path,
                advice="remove one of them, or give it another name",
            )
        field = _KINDS[section]
        fields = entry.get(field)
        fields = {} if fields is None else _set_values(fields)
        value = _convert(fields, kind, f"{place}.{field}", path)
        found[name] = _resolved(value, f"{field} {name!r}", path)
    return found


def _convert(value: Any, wanted: type[Any], place: str, path: str) -> Any:
    problem = "it is nested too deep"
    try:
        return convert(value, wanted)
    except msgspec.ValidationError as error:  # its text has types, and no value
        problem = str(error)
    except RecursionError:
        pass
    advice = "correct it"
    if mismatch := _MISMATCH.match(problem):
        expected, got, inner = mismatch.groups()
        place += inner or ""
        problem = f"it is {_NAMES.get(got, got)}, and must be {_NAMES.get(expected, expected)}"
        advice = _ADVICE.get(expected, advice)
    raise ConfigError(f"{place} cannot be read: {problem}", path=path, advice=advice)


def _set_values(value: Any, levels: int = _NESTING) -> Any:
    """Return a value without what is null; in a list that is an empty text or mapping."""
    if levels == 0:
        return value
    if isinstance(value, dict):
        return {
            key: item if key == "extensions" else _set_values(item, levels - 1)
            for key, item in value.items()
            if item is not None
        }
    if isinstance(value, list):
        empty: Any = {} if any(isinstance(item, dict) for item in value) else ""
        return [empty if item is None else _set_values(item, levels - 1) for item in value]
    return value


def _resolved(entry: _T, name: str, path: str) -> _T:
    """Return an entry with absolute paths, and data that is known to be base64."""
    changes: dict[str, Any] = {"origin": path}
    base = os.path.dirname(path)
    for field in _PATHS:
        if file := getattr(entry, field, ""):
            changes[field] = os.path.join(base, file)
    for field in _DATA:
        if data := getattr(entry, field, ""):
            changes[field] = _base64(data, f"{field.replace('_', '-')} of {name}", path)
    plugin = entry.exec if isinstance(entry, User) else None
    if plugin is not None and os.path.dirname(plugin.command):  # else it is looked up in PATH
        command = os.path.join(base, plugin.command)
        changes["exec"] = msgspec.structs.replace(plugin, command=command)
    return msgspec.structs.replace(entry, **changes)


def _base64(data: str, name: str, path: str) -> str:
    data = data.replace("\n", "").replace("\r", "")
    try:
        base64.b64decode(data, validate=True)
    except ValueError:
        advice = "encode the PEM file with 'base64 -w0'"
    else:
        return data
    raise ConfigError(f"{name} is not base64", path=path, advice=advice)
