"""Reading kubeconfig files far enough to say what is wrong with them.

A file that does not lead to a server raises a :class:`ConfigError` with the file, the place in it
and what to do. The `kubernetes` package interprets the credentials. Several files are merged as
kubectl does: the first one that sets a value wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from clientgo.rest.config.rest_config import ConfigError


@dataclass(frozen=True, slots=True)
class SelectedContext:
    """The context in use; ``path`` is the file that it is in."""

    name: str
    path: str
    user: Mapping[str, Any]


def select_context(paths: Iterable[str], context: str | None) -> SelectedContext:
    """The context named, or the current one, with its cluster and user found.

    Raises :class:`ConfigError`.
    """
    files = [(path, _read(path)) for path in paths]
    first = files[0][0]
    name = context or next(
        (file["current-context"] for _, file in files if file.get("current-context")), ""
    )
    if not name:
        raise ConfigError(
            "no context is selected",
            path=first,
            advice="run 'kubectl config use-context NAME', or pass a context",
        )
    path, found = _entry(files, "contexts", "context", name, wanted_by="", at=first)
    cluster_name = found.get("cluster")
    if not cluster_name:
        raise ConfigError(
            f"context {name!r} has no cluster", path=path, advice="add 'cluster' to the context"
        )
    by_context = f" (of context {name!r})"
    _, cluster = _entry(files, "clusters", "cluster", cluster_name, wanted_by=by_context, at=path)
    if not cluster.get("server"):
        raise ConfigError(
            f"cluster {cluster_name!r} has no server",
            path=path,
            advice="add 'server: https://...' to the cluster",
        )
    if not found.get("user"):
        return SelectedContext(name, path, {})
    _, user = _entry(files, "users", "user", found["user"], wanted_by=by_context, at=path)
    return SelectedContext(name, path, user)


def _read(path: str) -> Mapping[str, Any]:
    import yaml  # comes with the kubernetes package and is needed for files only

    try:
        with open(path, encoding="utf-8") as file:
            content = yaml.safe_load(file)
    except OSError as error:
        raise ConfigError(
            f"the kubeconfig cannot be read: {error.strerror}",
            path=path,
            advice="check the path and its permissions",
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        problem = " ".join(str(error).split())
        raise ConfigError(
            f"the kubeconfig is not YAML: {problem}", path=path, advice="correct the file"
        ) from error
    if not isinstance(content, dict):
        raise ConfigError(
            f"the kubeconfig is {'empty' if content is None else 'no mapping'}",
            path=path,
            advice="write one with 'kubectl config', or pass another file",
        )
    if content.get("kind", "Config") != "Config":
        raise ConfigError(
            f"this is a {content['kind']}, not a kubeconfig", path=path, advice="pass another file"
        )
    return content


def _entry(
    files: list[tuple[str, Mapping[str, Any]]],
    section: str,
    kind: str,
    name: str,
    *,
    wanted_by: str,
    at: str,
) -> tuple[str, Mapping[str, Any]]:
    """The entry of this name in a section, and the file that it is in."""
    names = []
    for path, file in files:
        entries = file.get(section) or []
        if not isinstance(entries, list):
            raise ConfigError(f"{section!r} is no list", path=path, advice="correct the file")
        for entry in entries:
            if not isinstance(entry, dict):
                raise ConfigError(
                    f"{section!r} holds something that is no mapping: {entry!r:.40}",
                    path=path,
                    advice="correct the file",
                )
            names.append(str(entry.get("name")))
            if entry.get("name") == name and isinstance(entry.get(kind), dict):
                return path, entry[kind]
    known = ", ".join(names) or "none"
    raise ConfigError(
        f"there is no {kind} {name!r}{wanted_by}",
        path=at,
        advice=f"name one of: {known}; or add it",
    )
