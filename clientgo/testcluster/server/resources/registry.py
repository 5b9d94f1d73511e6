"""The resources that are served now.

Differs from upstream, where each API group is installed with its own handlers: here a definition
that is created or changed adds or replaces entries of one table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from clientgo.testcluster.server.resources.resource import Resource


class ApiGroup(msgspec.Struct, frozen=True):
    """A group and its served versions, the preferred one first."""

    name: str
    versions: tuple[str, ...]


class ResourceRegistry:
    """The resources that are served now, by group, version and plural.

    Used on the server's event loop only.
    """

    def __init__(self, resources: Iterable[Resource] = (), bodies: Iterable[Resource] = ()) -> None:
        """Serve resources; read ``bodies``, kinds that only requests for subresources hold."""
        self.bodies: Mapping[str, Resource] = {body.kind: body for body in bodies}
        self.terminating: set[tuple[str, str]] = set()
        """Collections whose definition is being deleted: nothing can be created in them."""
        self._versions: dict[tuple[str, str], dict[str, Resource]] = {}
        for resource in resources:
            self.add(resource)
        self.builtin_groups = frozenset(group for group, _ in self._versions)

    def add(self, resource: Resource) -> None:
        """Serve a resource; replace the one of the same name."""
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
        """Return the resource served under that name, or None."""
        return self._versions.get((group, version), {}).get(plural)

    def of_version(self, group: str, version: str) -> Mapping[str, Resource] | None:
        """Return the resources of a version by plural name; None if it is not served."""
        return self._versions.get((group, version))

    def of_collection(self, key: tuple[str, str]) -> list[Resource]:
        """Return every version of the resource that is stored in a collection.

        The first is one that needs no conversion outside of the server, if there is one.
        """
        return sorted((item for item in self if item.collection_key == key), key=_is_converted)

    def note_write(self, resource: Resource, version: int) -> None:
        """Have an object read again if its definition has changed since its write began."""
        if self.find(resource.group, resource.version, resource.plural) is not resource:
            for current in self.of_collection(resource.collection_key):
                current.read_again.until = max(current.read_again.until, version)

    def versions_of(self, resource: Resource) -> list[Resource]:
        """Return every version of a resource, the given one first."""
        versions = self.of_collection(resource.collection_key)
        return [resource, *(item for item in versions if item is not resource)]

    def stored(self) -> list[Resource]:
        """Return one resource for each collection that clients can create objects in."""
        found: dict[tuple[str, str], Resource] = {}
        for resource in self:
            key = resource.collection_key
            if "create" in resource.verbs and (key not in found or _is_converted(found[key])):
                found[key] = resource
        return list(found.values())

    def groups(self) -> list[ApiGroup]:
        """Return the served groups, the core group included, in the order of registration."""
        versions: dict[str, list[str]] = {}
        for group, version in self._versions:
            versions.setdefault(group, []).append(version)
        return [
            ApiGroup(name, tuple(sorted(found, key=version_priority)))
            for name, found in versions.items()
        ]

    def __iter__(self) -> Iterator[Resource]:
        """Iterate over every served resource, in each of its versions."""
        for resources in self._versions.values():
            yield from resources.values()


def _is_converted(resource: Resource) -> bool:
    """Return True if stored objects are converted outside of the server for this version."""
    converter = resource.converter
    return converter is not None and converter.stored_version != resource.api_version


def version_priority(version: str) -> tuple[int, int, int, str]:
    """Return a sort key: GA before beta before alpha, then the higher number first."""
    rest = version.removeprefix("v")
    for rank, marker in ((1, "beta"), (2, "alpha")):
        major, found, minor = rest.partition(marker)
        if found and major.isdigit() and minor.isdigit():
            return rank, -int(major), -int(minor), ""
    if rest != version and rest.isdigit():
        return 0, -int(rest), 0, ""
    return 3, 0, 0, version
