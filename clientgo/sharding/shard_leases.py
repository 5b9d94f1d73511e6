"""The Leases in which the members of a group meet.

One Lease for each member (``NAME-IDENTITY``) shows that it lives; it is all that is written while
nothing changes. One Lease (``NAME``) has an annotation with the holder of each shard; a member
that gives up or takes shards replaces it, based on the version that it has read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from clientgo.api.coordination_v1 import Lease, LeaseSpec
from clientgo.client import Client
from clientgo.leaderelection import Timing
from clientgo.meta import ListOptions, NotFoundError, ObjectMeta
from clientgo.meta.timestamps import format_micro_time
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable

LABEL: Final = "clientgo/shards-of"
"""On the Leases of a group; the value is its name."""

HOLDERS: Final = "clientgo/shard-holders"
"""On the Lease of the group: the identity of each shard's holder, as a JSON array."""


@dataclass(frozen=True, slots=True)
class Group:
    """The Leases of a group at one instant.

    ``members`` has the version of each member's Lease; ``version`` is that of the holders, empty if
    no member has written them yet.
    """

    holders: tuple[str, ...] = ()
    members: Mapping[str, str] = field(default_factory=dict)
    version: str = ""
    transitions: int = 0


class Leases(Protocol):
    """How a member reads and writes the Leases. Calls block, and raise what requests raise."""

    def read(self) -> Group: ...

    def renew(self, identity: str) -> None:
        """Show that a member lives."""

    def write(self, group: Group, holders: tuple[str, ...]) -> None:
        """Replace the holders.

        Raises ``ConflictError`` or ``AlreadyExistsError`` if another member has done so since.
        """

    def remove(self, identity: str, version: str = "") -> None:
        """Remove the Lease of a member, if it has still this version."""

    def close(self) -> None:
        """Close the connections that are kept for the next request."""


@uncopyable("it has connections to a server; make one in each process")
class ShardLeases:
    """The Leases on an API server. Needs to list, create, update, patch and delete leases.

    It has connections of its own, which nothing else that the program sends can hold up.
    """

    def __init__(
        self,
        config: Any,
        namespace: str,
        name: str,
        timing: Timing,
        *,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        given = Client(config).config
        own = replace(
            given,
            timeout=timing.request_timeout,
            user_agent=f"{given.user_agent}/sharding",
            qps=0.0,
            limiter=None,
        )
        self._client = Client(own)
        self._resource = self._client.resource(Lease).namespace(namespace)
        self._name = name
        self._timing = timing
        self._clock = clock

    def read(self) -> Group:
        found = self._resource.list(ListOptions(label_selector=f"{LABEL}={self._name}"))
        prefix = f"{self._name}-"
        members: dict[str, str] = {}
        holders: Group | None = None
        for lease in found.items:
            version = lease.metadata.resource_version
            if lease.metadata.name == self._name:
                written = (lease.metadata.annotations or {}).get(HOLDERS, "[]")
                transitions = lease.spec.lease_transitions or 0
                holders = Group(tuple(json.loads(written)), members, version, transitions)
            else:
                members[lease.metadata.name.removeprefix(prefix)] = version
        return holders or Group(members=members)

    def renew(self, identity: str) -> None:
        name, now = f"{self._name}-{identity}", self._now()
        try:
            self._resource.patch(name, {"spec": {"renewTime": now}})
        except NotFoundError:
            spec = LeaseSpec(
                holder_identity=identity,
                lease_duration_seconds=self._timing.lease_seconds,
                acquire_time=now,
                renew_time=now,
            )
            self._resource.create(Lease(metadata=self._metadata(name), spec=spec))

    def write(self, group: Group, holders: tuple[str, ...]) -> None:
        metadata = self._metadata(self._name)
        metadata.annotations = {HOLDERS: json.dumps(holders, separators=(",", ":"))}
        metadata.resource_version = group.version
        spec = LeaseSpec(renew_time=self._now(), lease_transitions=group.transitions + 1)
        lease = Lease(metadata=metadata, spec=spec)
        if group.version:
            self._resource.update(lease)
        else:
            self._resource.create(lease)

    def remove(self, identity: str, version: str = "") -> None:
        try:
            self._resource.delete(f"{self._name}-{identity}", resource_version=version)
        except NotFoundError:
            return

    def close(self) -> None:
        self._client.close()

    def _metadata(self, name: str) -> ObjectMeta:
        return ObjectMeta(name=name, labels={LABEL: self._name})

    def _now(self) -> str:
        return format_micro_time(self._clock.time())
