"""From what people write (`deploy`, `foos.example.com`, a kind) to a resource.

Promises the resource that kubectl would take: the core group's first, then that of the group listed
first, in its preferred version. Names may be plural, singular or short; a group, or a version and a
group, may follow after dots. Source: client-go `restmapper`, apimachinery `api/meta`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

from msgspec.structs import replace

from clientgo.client.cached_discovery import CachedDiscovery
from clientgo.client.discovery_documents import Discovered, ServedResource
from clientgo.meta import GroupVersion
from clientgo.util.copies import CopyableError, uncopyable
from clientgo.util.process import renew_in_child

_log = logging.getLogger("clientgo.client")


class NoMatchError(CopyableError, LookupError):
    """The server has no such resource or kind."""


@uncopyable("it has locks; make one in each process")
class RESTMapper:
    """Looks names up in what was discovered once; immutable but for the warnings given."""

    def __init__(self, discovered: Discovered) -> None:
        self._by_name: dict[str, list[ServedResource]] = {}
        self._by_short_name: dict[str, list[ServedResource]] = {}
        self._by_kind: dict[tuple[str, str], list[ServedResource]] = {}
        self._failed = discovered.failed
        self._lock = threading.Lock()
        renew_in_child(self, "_lock")
        self._warned: set[tuple[str, str]] = set()
        for resource in _in_order_of_priority(discovered):
            self._add(resource)
        for resource in discovered:
            for short_name in resource.short_names:
                self._by_short_name.setdefault(short_name, []).append(resource)

    def resource(self, name: str) -> ServedResource:
        """The resource of this name, as ``deploy``, ``deployments.apps`` or
        ``deployments.v1.apps``. Raises :class:`NoMatchError`.
        """
        text = name.lower()
        found = self._named(text) or self._named(self._expanded(text))
        if found is None:
            raise NoMatchError(
                f"the server has no resource {name!r}; check its spelling, or install its CRD"
                f"{self._unknown()}"
            )
        return found

    def for_kind(self, group: str, kind: str, *versions: str) -> ServedResource:
        """The resource of this kind, in the first of ``versions`` that is served, if any is given,
        or else in the preferred one. Raises :class:`NoMatchError`.
        """
        candidates = self._by_kind.get((group, kind), [])
        for version in versions:
            for resource in candidates:
                if resource.version == version:
                    return resource
        if candidates and not versions:
            return candidates[0]
        wanted = f"{kind} in group {group!r}" + (f", versions {versions}" if versions else "")
        raise NoMatchError(
            f"the server has no kind {wanted}; check its spelling or its CRD{self._unknown()}"
        )

    def _unknown(self) -> str:
        """What else may be the reason: versions whose server did not answer."""
        versions = ", ".join(sorted(map(str, self._failed)))
        return (
            f"; what {versions} offers is not known, its server does not answer" if versions else ""
        )

    def _add(self, resource: ServedResource) -> None:
        singular = resource.singular or resource.kind.lower()
        known = replace(resource, singular=singular)
        for name in {resource.plural, singular}:
            self._by_name.setdefault(name, []).append(known)
        for kind in {resource.kind, resource.kind.lower()}:
            self._by_kind.setdefault((resource.group, kind), []).append(known)
        for kind in (f"{resource.kind}List", "List"):
            lists = _resource_of_lists(resource, kind)
            self._by_kind.setdefault((resource.group, kind), []).append(lists)
            self._by_name.setdefault(lists.plural, []).append(lists)

    def _named(self, text: str) -> ServedResource | None:
        """The best resource whose plural or singular name, with or without its group, this is."""
        name, _, qualifier = text.partition(".")
        candidates = self._by_name.get(name, [])
        if not qualifier:
            return candidates[0] if candidates else None
        version, _, group = qualifier.partition(".")
        for resource in candidates:
            if resource.group == qualifier:
                return resource
        for resource in candidates:
            if (resource.version, resource.group) == (version, group):
                return resource
        return None

    def _expanded(self, text: str) -> str:
        """The full name for a short one; the text itself if it is none."""
        name, _, group = text.partition(".")
        matches = [
            resource
            for resource in self._by_short_name.get(name, ())
            if resource.group.startswith(group)
        ]
        if not matches:
            return text
        first = matches[0]
        for other in matches:
            if other.group != first.group and not group:
                self._warn_once(name, first, other)
        return f"{first.plural}.{first.version}.{first.group}"

    def _warn_once(self, name: str, taken: ServedResource, other: ServedResource) -> None:
        key = (name, other.group_resource)
        with self._lock:
            if key in self._warned:
                return
            self._warned.add(key)
        _log.warning(
            "The short name %r could also mean %s; taking %s",
            name,
            other.group_resource,
            taken.group_resource,
        )


@uncopyable("it has connections to a server; make one in each process")
class DiscoveringRESTMapper:
    """A mapper that discovers on first use, and again when it does not know a name.

    How often it asks is the cache's business. Thread-safe; methods block while it asks, and raise
    what discovery raises besides :class:`NoMatchError`.
    """

    def __init__(self, discovery: CachedDiscovery) -> None:
        self._discovery = discovery
        self._lock = threading.Lock()
        renew_in_child(self, "_lock")
        self._source: Discovered | None = None
        self._mapper = RESTMapper(Discovered(()))

    def resource(self, name: str) -> ServedResource:
        """As :meth:`RESTMapper.resource`."""

        def known(found: Discovered) -> bool:
            try:
                self._mapper_of(found).resource(name)
            except NoMatchError:
                return False
            return True

        return self._mapper_of(self._discovery.search(known)).resource(name)

    def for_kind(self, group: str, kind: str, *versions: str) -> ServedResource:
        """As :meth:`RESTMapper.for_kind`."""

        def known(found: Discovered) -> bool:
            try:
                self._mapper_of(found).for_kind(group, kind, *versions)
            except NoMatchError:
                return False
            return True

        return self._mapper_of(self._discovery.search(known)).for_kind(group, kind, *versions)

    def reset(self) -> None:
        """Forget what was discovered."""
        self._discovery.invalidate()

    def _mapper_of(self, found: Discovered) -> RESTMapper:
        with self._lock:
            if found is not self._source:
                self._source, self._mapper = found, RESTMapper(found)
            return self._mapper


def _in_order_of_priority(discovered: Discovered) -> Iterator[ServedResource]:
    """Core v1, then each group's preferred version and its others, subresources left out."""
    versions = [GroupVersion("", "v1")]
    for group in discovered.groups:
        if group.preferred is not None:
            versions.append(group.preferred)
        versions += group.versions
    for version in dict.fromkeys(versions):
        for resource in discovered.resources.get(version, ()):
            if not resource.is_subresource:
                yield resource


def _resource_of_lists(resource: ServedResource, kind: str) -> ServedResource:
    """The kind of lists as if it were a resource, for programs that look up what they read."""
    return ServedResource(
        group=resource.group,
        version=resource.version,
        kind=kind,
        plural=f"{kind.lower()}s",
        singular=kind.lower(),
        namespaced=resource.namespaced and kind != "List",
    )
