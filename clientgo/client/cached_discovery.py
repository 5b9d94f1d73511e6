"""Discovery with a cache.

Promises: one full discovery on first use, shared by all threads. A version whose discovery failed
temporarily is asked for again when it is needed. An unknown resource causes another discovery, at
most every 30 seconds, so that a new CRD is found.

Differs from client-go (`discovery/cached/memory`), whose callers must invalidate the cache.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Final, Protocol

from clientgo.client.discovery_documents import APIGroup, Discovered, ServedResource
from clientgo.meta import DecodeError, GroupVersion, NotFoundError, StatusError
from clientgo.rest import TransportError
from clientgo.util.copies import CopyableError, uncopyable
from clientgo.util.process import renew_in_child

REFRESH_INTERVAL: Final = 30.0


class Discovery(Protocol):
    """What a cache needs from a :class:`~clientgo.client.DiscoveryClient`."""

    def discover(self) -> Discovered: ...

    def resources(self, version: GroupVersion) -> tuple[ServedResource, ...]: ...


class EmptyDiscoveryError(CopyableError):
    """The server answered, but with nothing that it serves."""


@uncopyable("it has connections to a server; make one in each process")
class CachedDiscovery:
    """Remembers what a server serves; thread-safe. Methods block while they ask, and raise what
    the discovery raises."""

    def __init__(
        self,
        discovery: Discovery,
        *,
        refresh_interval: float = REFRESH_INTERVAL,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._discovery = discovery
        self._refresh_interval = refresh_interval
        self._now = now
        self._lock = threading.Lock()
        renew_in_child(self, "_lock")
        self._found: Discovered | None = None
        self._found_at = 0.0

    @property
    def fresh(self) -> bool:
        """Return True if there is anything remembered."""
        return self._found is not None

    def invalidate(self) -> None:
        """Forget everything."""
        with self._lock:
            self._found = None

    def groups(self) -> tuple[APIGroup, ...]:
        """All groups and their versions."""
        return self.discover().groups

    def discover(self) -> Discovered:
        """Everything that is served, as remembered."""
        with self._lock:
            return self._found_locked()

    def resources(self, version: GroupVersion) -> tuple[ServedResource, ...]:
        """Return what one version serves.

        Raises :class:`~clientgo.meta.NotFoundError` for a version that is not served.
        """
        with self._lock:
            self._search_locked(lambda found: version in found.resources or version in found.failed)
            found = self._found_locked()
            failure = found.failed.get(version)
            if failure is not None and is_transient(failure):
                found = self._ask_again_locked(found, version)
                failure = found.failed.get(version)
            if failure is not None:
                raise failure
            try:
                return found.resources[version]
            except KeyError:
                raise NotFoundError.of(
                    f"the server does not serve {version}; check the group and version, or "
                    "install its CRD"
                ) from None

    def search(self, satisfied: Callable[[Discovered], bool]) -> Discovered:
        """The cached result, discovered again if it does not satisfy and is old enough."""
        with self._lock:
            return self._search_locked(satisfied)

    def _search_locked(self, satisfied: Callable[[Discovered], bool]) -> Discovered:
        found = self._found_locked()
        age = self._now() - self._found_at
        if not satisfied(found) and age >= self._refresh_interval:
            self._found = None
            found = self._found_locked()
        return found

    def _found_locked(self) -> Discovered:
        if self._found is None:
            found = self._discovery.discover()
            if not any(found.resources.values()) and not found.failed:
                raise EmptyDiscoveryError(
                    "the server says that it serves nothing; it may still be starting"
                )
            self._found = found
            self._found_at = self._now()
        return self._found

    def _ask_again_locked(self, found: Discovered, version: GroupVersion) -> Discovered:
        failed = {gv: error for gv, error in found.failed.items() if gv != version}
        resources = dict(found.resources)
        try:
            resources[version] = self._discovery.resources(version)
        except (StatusError, TransportError, DecodeError) as error:
            failed[version] = error
        self._found = Discovered(found.groups, resources, failed)
        return self._found


def is_transient(error: Exception) -> bool:
    """Return True if a failed request may succeed if it is made again."""
    if isinstance(error, StatusError):
        return (
            error.code >= HTTPStatus.INTERNAL_SERVER_ERROR
            or error.code == HTTPStatus.TOO_MANY_REQUESTS
        )
    return isinstance(error, TransportError | DecodeError)
