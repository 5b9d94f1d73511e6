"""What the server serves: one ``Resource`` per group, version and plural name.

Promises: built-in and CRD-defined resources are described by the same value, so that one set of
verb handlers, one discovery and one Table printer serve them all. A ``Resource`` never changes;
a changed CRD replaces it in the ``ResourceRegistry``.

Does not promise: behaviour. What a kind demands of its objects (defaults, validation, what an
update may change) is its ``Strategy``.

Upstream: ``metav1.APIResource`` and the generic registry's ``Store`` fields that describe it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from clientgo.apiserver.storage.storage import Object, StoredObject, encode
from clientgo.meta.group_version import GroupVersionKind

if TYPE_CHECKING:
    from clientgo.apiserver.resources.strategy import Strategy

CRUD_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
STATUS_VERBS = ("get", "patch", "update")


@dataclass(frozen=True, slots=True)
class Subresource:
    """Something below an object: ``status``, ``scale``, ``finalize`` ..."""

    name: str
    verbs: tuple[str, ...]
    kind: GroupVersionKind


@dataclass(frozen=True, eq=False)
class Resource:
    """One collection of the API as one version serves it."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    strategy: Strategy
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = CRUD_VERBS
    subresources: tuple[Subresource, ...] = ()
    is_custom: bool = False
    """Whether a CRD defines it: on the wire, such lists and errors are a little different."""
    deprecation: str = ""
    """What clients of this version are warned of."""
    stored_in: tuple[str, str] | None = None
    """Group and plural of the collection that holds the objects, if it is another's."""
    read: Callable[[Object], Object] | None = None
    """Turns a stored object into the form of this version; None if that is how it is stored."""
    write: Callable[[Object], Object] | None = None
    """Turns an object of this version into the stored form."""
    read_until: int = 0
    """Objects with a higher resource version are stored as this version serves them."""

    api_version: str = field(init=False)
    qualified_name: str = field(init=False)
    qualified_kind: str = field(init=False)
    collection_key: tuple[str, str] = field(init=False)
    type_prefix: bytes = field(init=False)
    """What every encoded object of this resource begins with."""

    def __post_init__(self) -> None:
        """Work out the names that requests ask for all the time."""
        api_version = f"{self.group}/{self.version}" if self.group else self.version
        suffix = f".{self.group}" if self.group else ""
        derived = {
            "api_version": api_version,
            "qualified_name": self.plural + suffix,
            "qualified_kind": self.kind + suffix,
            "collection_key": self.stored_in or (self.group, self.plural),
            "type_prefix": f'{{"apiVersion":"{api_version}","kind":"{self.kind}",'.encode(),
            "list_kind": self.list_kind or self.kind + "List",
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def encoded(self, stored: StoredObject) -> bytes:
        """A stored object as this version serves it."""
        if self.read is None or stored.resource_version > self.read_until:
            return stored.raw
        return encode(self.read(stored.decode()))

    def decode(self, stored: StoredObject) -> Object:
        """A fresh dict of a stored object as this version serves it."""
        obj = stored.decode()
        if self.read is None or stored.resource_version > self.read_until:
            return obj
        return self.read(obj)

    def as_kind(self, kind: str) -> Resource:
        """The same resource under another kind's name, for messages about a wrong one."""
        return replace(self, kind=kind)

    def in_group(self, group: str) -> Resource:
        """The same resource under another group's name, for messages that are about that."""
        return replace(self, group=group)

    def subresource(self, name: str) -> Subresource | None:
        """The subresource of that name, if there is one."""
        return next((item for item in self.subresources if item.name == name), None)


@dataclass(frozen=True, slots=True)
class ApiGroup:
    """A group and its served versions, the preferred one first."""

    name: str
    versions: tuple[str, ...]


class ResourceRegistry:
    """The resources that are served now, by group, version and plural.

    Used on the server's event loop only.
    """

    def __init__(self, resources: Iterable[Resource] = ()) -> None:
        self._versions: dict[tuple[str, str], dict[str, Resource]] = {}
        for resource in resources:
            self.add(resource)

    def add(self, resource: Resource) -> None:
        """Serve a resource, replacing what was served under its name."""
        self._versions.setdefault((resource.group, resource.version), {})[resource.plural] = (
            resource
        )

    def remove(self, group: str, plural: str) -> None:
        """Stop serving a resource in all its versions."""
        for key in [key for key in self._versions if key[0] == group]:
            self._versions[key].pop(plural, None)
            if not self._versions[key]:
                del self._versions[key]

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """The resource served under that name, if there is one."""
        return self._versions.get((group, version), {}).get(plural)

    def find_kind(self, api_version: str, kind: str) -> Resource | None:
        """The resource that serves a type, if there is one."""
        group, _, version = api_version.rpartition("/")
        served = self._versions.get((group, version), {}).values()
        return next((item for item in served if item.kind == kind), None)

    def of_version(self, group: str, version: str) -> Mapping[str, Resource] | None:
        """Resources of a group and version by plural; None if it is not served."""
        return self._versions.get((group, version))

    def groups(self) -> list[ApiGroup]:
        """Served groups in the order they were first served, the core group included."""
        versions: dict[str, list[str]] = {}
        for group, version in self._versions:
            versions.setdefault(group, []).append(version)
        return [
            ApiGroup(name, tuple(sorted(found, key=version_priority)))
            for name, found in versions.items()
        ]

    def __iter__(self) -> Iterator[Resource]:
        """Every served resource, in each of its versions."""
        for resources in self._versions.values():
            yield from resources.values()


def version_priority(version: str) -> tuple[int, int, int, str]:
    """Sort key of API versions: GA before beta before alpha, the higher number first."""
    rest = version.removeprefix("v")
    for rank, marker in ((1, "beta"), (2, "alpha")):
        major, found, minor = rest.partition(marker)
        if found and major.isdigit() and minor.isdigit():
            return rank, -int(major), -int(minor), ""
    if rest != version and rest.isdigit():
        return 0, -int(rest), 0, ""
    return 3, 0, 0, version
