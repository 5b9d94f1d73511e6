"""What part of the cluster is watched.

Promises that a scope says exactly one thing: all namespaces, one's own, or the named ones; an
empty set and a mixture are refused.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from clientgo.operator.errors import ConfigError

NAMESPACE_FILE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


class Scope(enum.Enum):
    """Namespaces that are not told by name."""

    ALL = "all"
    OWN = "own"


ALL: Final = Scope.ALL
"""All namespaces."""

OWN: Final = Scope.OWN
"""The namespace that the operator runs in."""

Namespaces: TypeAlias = Scope | str | Iterable[str]
"""``ALL``, ``OWN``, a namespace, or several."""

NamespaceSet: TypeAlias = frozenset[str]
"""Names; the set of the empty string alone means all namespaces."""

EVERYWHERE: Final[NamespaceSet] = frozenset(("",))


def namespace_set(namespaces: Namespaces) -> NamespaceSet:
    """The set for what a user gave. Raises :class:`~clientgo.operator.errors.ConfigError`."""
    if namespaces is Scope.ALL:
        return EVERYWHERE
    if namespaces is Scope.OWN:
        return frozenset((own_namespace(),))
    if isinstance(namespaces, str):
        namespaces = (namespaces,)
    assert not isinstance(namespaces, Scope)
    found = list(namespaces)
    if any(isinstance(name, Scope) for name in found):
        raise ConfigError("ALL and OWN stand alone; they cannot be mixed with namespaces by name")
    if not found or not all(isinstance(name, str) and name for name in found):
        raise ConfigError(
            f"namespaces must be ALL, OWN, or names of which there is at least one, not {found!r}"
        )
    return frozenset(found)


def own_namespace() -> str:
    """The namespace of this process's pod: from its service account, POD_NAMESPACE or NAMESPACE.

    Raises :class:`~clientgo.operator.errors.ConfigError` where none says it.
    """
    try:
        from_file = NAMESPACE_FILE.read_text().strip()
    except OSError:
        from_file = ""
    found = from_file or os.environ.get("POD_NAMESPACE") or os.environ.get("NAMESPACE")
    if not found:
        raise ConfigError(
            "cannot tell the namespace of this process: it runs in no pod; pass it, or set "
            "POD_NAMESPACE"
        )
    return found


def namespaces_from_env(name: str = "WATCH_NAMESPACE") -> Namespaces:
    """The namespaces that a variable lists, separated by commas; ``ALL`` if it lists none."""
    names = [part.strip() for part in os.environ.get(name, "").split(",")]
    return frozenset(part for part in names if part) or ALL


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheScope:
    """What of a kind is cached, and how.

    ``namespaces`` None: as the manager says; a mapping gives namespaces scopes of their own.
    ``labels`` and ``fields`` are selectors, which the API server applies. ``transform`` changes
    each object, a private copy, before it is stored; see ``strip_managed_fields``. ``copy``:
    readers get a copy of their own (``"clone"``) or the cached object itself (``"shared"``), which
    they must not change.
    """

    namespaces: Namespaces | Mapping[str, CacheScope | None] | None = None
    labels: str = ""
    fields: str = ""
    transform: Callable[[Any], Any] | None = None
    copy: Literal["clone", "shared"] = "clone"
