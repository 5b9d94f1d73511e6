"""What a server serves.

Promises: the result has all resources that could be read and names the versions that could not: an
extension API server that is down hides only its own resources. Uses the aggregated documents (two
requests), or one request for each version, sent concurrently. No cache. Source: client-go
`discovery` DiscoveryClient.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final, TypeVar

import msgspec

from clientgo.client.discovery_documents import (
    AGGREGATED,
    APIGroup,
    Discovered,
    ServedResource,
    aggregated,
    core_group,
    is_aggregated,
    named_groups,
)
from clientgo.client.served import TIMEOUT, document, find_served, resources_in
from clientgo.meta import (
    DecodeError,
    GroupVersion,
    GroupVersionResource,
    NotFoundError,
    StatusError,
    error_from_status,
)
from clientgo.meta.decoding import decode
from clientgo.meta.wire.answers import shown, status_in
from clientgo.rest import (
    RestClient,
    Result,
    Transport,
    TransportError,
    limiter_of,
    rest_config_of,
)
from clientgo.util.copies import uncopyable

T = TypeVar("T")

_BURST: Final = 300
"""A cluster with many extensions has hundreds of versions, asked for once in a while."""
_ATTEMPTS: Final = 2
_SIDE_BY_SIDE: Final = 10


class ServerVersion(msgspec.Struct, rename="camel", frozen=True):
    """Which Kubernetes this is, from ``/version``."""

    major: str = ""
    minor: str = ""
    git_version: str = ""
    platform: str = ""


@uncopyable("it has connections to a server; make one in each process")
class DiscoveryClient:
    """Asks one server; thread-safe. Every method blocks and raises
    :class:`~clientgo.meta.StatusError`, :class:`~clientgo.rest.TransportError` or
    :class:`~clientgo.meta.DecodeError`.

    ``config`` is what :class:`~clientgo.client.Client` takes. Without a timeout of its own it gets
    32 seconds; a ``qps`` without a ``burst`` gets a burst of 300.
    """

    def __init__(self, config: Any = None, *, transport: Transport | None = None) -> None:
        given = rest_config_of(config)
        settings = replace(given, timeout=given.timeout or TIMEOUT, burst=given.burst or _BURST)
        self._rest = RestClient(settings, transport=transport, limiter=limiter_of(settings))

    def groups(self) -> tuple[APIGroup, ...]:
        """All groups and their versions, the core group first."""
        return self._groups_and_maybe_resources()[0].groups

    def resources(self, version: GroupVersion) -> tuple[ServedResource, ...]:
        """Return what one version serves, subresources included."""
        return resources_in(self._rest, version)

    def discover(self) -> Discovered:
        """Everything that is served; asks a second time if a part failed.

        What failed then is in the result's ``failed`` and ``error``.
        """
        for _ in range(_ATTEMPTS - 1):
            found = self._discover_once()
            if not found.failed:
                return found
        return self._discover_once()

    def preferred_resources(self) -> Discovered:
        """Of each resource the one version that its group prefers, or else the first that has it.

        Subresources are left out.
        """
        found = self.discover()
        chosen: dict[tuple[str, str], ServedResource] = {}
        for group in found.groups:
            for version in group.versions:
                for resource in found.resources.get(version, ()):
                    key = (group.name, resource.plural)
                    if not resource.is_subresource and (
                        key not in chosen or version == group.preferred
                    ):
                        chosen[key] = resource
        resources: dict[GroupVersion, tuple[ServedResource, ...]] = {}
        for resource in chosen.values():
            version = GroupVersion(resource.group, resource.version)
            resources[version] = (*resources.get(version, ()), resource)
        return Discovered(found.groups, resources, found.failed)

    def is_served(self, resource: GroupVersionResource) -> bool:
        """Return True if this resource is served in this version.

        Raises the 404 of a server, or a proxy, that does not say which versions it serves.
        """
        return find_served(self._rest, resource) is not None

    def supports(self, version: GroupVersion) -> bool:
        """Return True if this version is served; a server that names no versions at all passes."""
        served = [known for group in self.groups() for known in group.versions]
        return not served or version in served

    def server_version(self) -> ServerVersion:
        """The version of the server."""
        answer = self._rest.get().absolute_path("/version").do()
        return document(answer, "discovery", _server_version)

    def _discover_once(self) -> Discovered:
        found, complete = self._groups_and_maybe_resources()
        if complete:
            return found
        versions = [version for group in found.groups for version in group.versions]
        resources: dict[GroupVersion, tuple[ServedResource, ...]] = {}
        failed = dict(found.failed)
        with ThreadPoolExecutor(_SIDE_BY_SIDE, thread_name_prefix="discovery") as threads:
            for version, outcome in zip(
                versions, threads.map(self._resources_or_error, versions), strict=True
            ):
                if isinstance(outcome, Exception):
                    failed[version] = outcome
                else:
                    resources[version] = outcome
        return Discovered(found.groups, resources, failed)

    def _groups_and_maybe_resources(self) -> tuple[Discovered, bool]:
        """The groups, and whether the resources came with them."""
        core, core_complete = Discovered(()), True
        try:
            answer = self._root("/api")
        except NotFoundError:
            pass  # a server of extensions alone has no core group
        else:
            core_complete = is_aggregated(answer.headers.get("Content-Type", ""))
            core = document(
                answer,
                "discovery",
                aggregated if core_complete else lambda raw: Discovered((core_group(raw),)),
            )
        answer = self._root("/apis")
        named_complete = is_aggregated(answer.headers.get("Content-Type", ""))
        named = document(
            answer,
            "discovery",
            aggregated if named_complete else lambda raw: Discovered(named_groups(raw)),
        )
        return (
            Discovered(
                core.groups + named.groups,
                {**core.resources, **named.resources},
                {**core.failed, **named.failed},
            ),
            core_complete and named_complete,
        )

    def _root(self, path: str) -> Result:
        accept = f"{AGGREGATED},application/json"
        return self._rest.get().absolute_path(path).header("Accept", accept).do()

    def _resources_or_error(self, version: GroupVersion) -> tuple[ServedResource, ...] | Exception:
        try:
            return self.resources(version)
        except (StatusError, TransportError, DecodeError) as error:
            return error


def _server_version(raw: bytes) -> ServerVersion:
    what = "the version of a server"
    if status := status_in(raw, what):
        raise error_from_status(status)
    found = decode(raw, ServerVersion)
    if not (found.git_version or found.major):
        raise DecodeError(f"not {what}: it has no gitVersion; got {shown(raw)}")
    return found
