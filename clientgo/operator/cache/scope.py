"""What part of the cluster is watched: all namespaces, one's own, or named ones."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from clientgo.meta import APIResource, ShardSelector, metadata_of, to_plain
from clientgo.meta.selectors import parse_field_selector, parse_label_selector, selects_object
from clientgo.operator.errors import ConfigError
from clientgo.operator.settings.durations import Duration
from clientgo.rest.config.in_cluster import service_account_namespace


class Scope(enum.Enum):
    """Namespaces that are not given by name."""

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


@dataclass(frozen=True, slots=True)
class Reader:
    """A source that a cache is filled for: its labels and namespaces, and a name for logs.

    ``is_primary``: it reads what its controller is about, which the cache may limit.
    """

    name: str
    labels: str = ""
    namespaces: NamespaceSet = EVERYWHERE
    is_primary: bool = False


def namespace_set(namespaces: Namespaces) -> NamespaceSet:
    """Return the set for what a user gave. Raises ``ConfigError``."""
    if namespaces is Scope.ALL:
        return EVERYWHERE
    if namespaces is Scope.OWN:
        return frozenset((own_namespace(),))
    if isinstance(namespaces, str):
        namespaces = (namespaces,)
    if not isinstance(namespaces, Iterable):
        raise ConfigError(
            f"namespaces must be ALL, OWN, a name or several names, not {namespaces!r}"
        )
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

    Raises ``ConfigError`` where none says it.
    """
    found = (
        service_account_namespace()
        or os.environ.get("POD_NAMESPACE")
        or os.environ.get("NAMESPACE")
    )
    if not found:
        raise ConfigError(
            "cannot tell the namespace of this process: it does not run in a pod; pass it, or set "
            "POD_NAMESPACE"
        )
    return found


def namespaces_from_env(name: str = "WATCH_NAMESPACE") -> Namespaces:
    """The namespaces that a variable lists, separated by commas; ``ALL`` if it lists none."""
    names = [part.strip() for part in os.environ.get(name, "").split(",")]
    return frozenset(part for part in names if part) or ALL


def is_selected(
    kind: APIResource, obj: Any, labels: str, fields: str, shard: ShardSelector | None = None
) -> bool:
    """Return True if the API server would list an object for these selectors."""
    if labels and not parse_label_selector(labels).matches(metadata_of(obj).labels or {}):
        return False
    if shard is not None and not shard.matches(obj):
        return False
    return not fields or selects_object(parse_field_selector(fields), kind, to_plain(obj))


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheScope:
    """What of a kind is cached, and how; the manager's default fills in the rest.

    ``namespaces`` limits what sources ask for; empty means all. A mapping gives namespaces scopes
    of their own, ``"*"`` those that it does not name. ``labels`` and ``fields`` are selectors for
    the API server: an object that leaves the selection counts as deleted. ``shard`` selects a part
    by a hash, of a server that supports it (:func:`~clientgo.meta.shard_range`): replicas without
    an election, each with a shard of its own, then share the objects. ``transform`` changes each
    object before it is stored, see ``cache.transforms``. ``copy``: readers get a copy
    (``"clone"``) or the cached object itself (``"shared"``), which they must not change. ``resync``
    is how often controllers get an event for every object again; by default never.
    """

    namespaces: Namespaces | Mapping[str, CacheScope | None] | None = None
    labels: str = ""
    fields: str = ""
    shard: ShardSelector | None = None
    transform: Callable[[Any], Any] | None = None
    copy: Literal["", "clone", "shared"] = ""
    resync: Duration | None = None

    def over(self, other: CacheScope) -> CacheScope:
        """This scope, and the other one's where this leaves something out."""
        return CacheScope(
            namespaces=other.namespaces if self.namespaces is None else self.namespaces,
            labels=self.labels or other.labels,
            fields=self.fields or other.fields,
            shard=self.shard or other.shard,
            transform=self.transform or other.transform,
            copy=self.copy or other.copy,
            resync=other.resync if self.resync is None else self.resync,
        )


OTHERS: Final = "*"
"""In a mapping of namespaces: all that it does not name."""


@dataclass(frozen=True, slots=True)
class KindScope:
    """What of one kind is cached in each namespace; :func:`kind_scope` makes it."""

    general: CacheScope
    """For what ``named`` does not have."""
    named: Mapping[str, CacheScope]
    everywhere: bool
    """Whether namespaces are cached that are not named."""
    own: CacheScope = CacheScope()
    """What was given for this kind, without the default."""

    def of(self, namespace: str) -> CacheScope:
        return self.named.get(namespace, self.general)

    def limits(self, labels: str = "") -> str:
        """Describe which objects are cached, also limited to ``labels``; empty if all are."""
        labels = ",".join(filter(None, (self.general.labels, labels)))
        parts = {
            "with labels": labels,
            "with fields": self.general.fields,
            "in": str(self.general.shard or ""),
            "in namespaces": "" if self.everywhere else ", ".join(sorted(self.named)),
        }
        return " and ".join(f"{what} {text}" for what, text in parts.items() if text)

    def hidden_from(self, reader: Reader) -> str:
        """Describe the limits of the kind that a reader does not have; empty if there are none."""
        if reader.is_primary:
            return ""
        own = parse_label_selector(self.own.labels).requirements
        has = parse_label_selector(reader.labels).requirements
        missing = ",".join(str(requirement) for requirement in own if requirement not in has)
        parts = {
            "with labels": missing,
            "in": str(self.own.shard or ""),
            "in namespaces": ", ".join(sorted(_by_namespace(self.own)))
            if reader.namespaces == EVERYWHERE and not self.everywhere
            else "",
        }
        return " and ".join(f"{what} {text}" for what, text in parts.items() if text)

    def within(self, wanted: NamespaceSet, kind: str) -> NamespaceSet:
        """Return the namespaces to watch for a reader that wants these.

        Raises ``ConfigError`` for one that lies outside.
        """
        if wanted == EVERYWHERE:
            return frozenset(self.named) | EVERYWHERE if self.everywhere else frozenset(self.named)
        outside = frozenset() if self.everywhere else wanted - frozenset(self.named)
        if outside:
            raise ConfigError(
                f"{kind} is cached in {', '.join(sorted(self.named))} only, not in "
                f"{', '.join(sorted(outside))}; widen the namespaces of its CacheScope"
            )
        return wanted


def kind_scope(
    default: CacheScope, own: CacheScope | None, *, namespaced: bool, kind: str
) -> KindScope:
    """Combine a kind's own scope and the manager's default.

    A namespace of the kind wins over the kind, that over a namespace in general, that over the
    default. Raises ``ConfigError``.
    """
    own = own or CacheScope()
    if not namespaced:
        if own.namespaces is not None:
            raise ConfigError(f"{kind} has no namespaces; leave them out of its CacheScope")
        return KindScope(own.over(default), {}, everywhere=True, own=own)
    of_kind, of_default = _by_namespace(own), _by_namespace(default)
    names = of_default if own.namespaces is None else of_kind

    def merged(name: str) -> CacheScope:
        scopes = of_kind.get(name), own, of_default.get(name), default
        found = CacheScope()
        for scope in scopes:
            found = found.over(scope or CacheScope())
        return found

    return KindScope(
        merged(OTHERS),
        {name: merged(name) for name in names if name != OTHERS},
        everywhere=not names or OTHERS in names,
        own=own,
    )


def _by_namespace(scope: CacheScope) -> Mapping[str, CacheScope | None]:
    """What a scope says of namespaces; nothing, if it means all."""
    if scope.namespaces is None or scope.namespaces is Scope.ALL:
        return {}
    if isinstance(scope.namespaces, Mapping):
        return scope.namespaces
    if not isinstance(scope.namespaces, Scope | str) and not list(scope.namespaces):
        return {}
    return dict.fromkeys(namespace_set(scope.namespaces))
