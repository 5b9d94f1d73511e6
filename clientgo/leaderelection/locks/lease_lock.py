"""The lock as a Lease object, `coordination.k8s.io/v1`.

Promises: an update is based on the version that this lock read or wrote last, so the server refuses
it after another write; foreign fields of the Lease stay; a request with its retries ends within its
timeout. Not thread-safe, except for the watch.

Differs from client-go (`tools/leaderelection/resourcelock`, LeaseLock): the timeout is also sent to
the server, and :func:`lease_lock_from_config` ignores client-side rate limits.
"""

from __future__ import annotations

import os
import socket
import threading
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, Protocol

import msgspec

from clientgo.api.coordination_v1 import Lease
from clientgo.client import Client
from clientgo.leaderelection.locks.record import (
    LeaderElectionRecord,
    lease_spec_to_record,
    record_to_lease_spec,
)
from clientgo.leaderelection.timing import Timing
from clientgo.meta import Codec, GroupVersion, ObjectMeta, deep_copy, resource_of
from clientgo.record import NORMAL
from clientgo.util.copies import uncopyable

EVENT_REASON: Final = "LeaderElection"
"""The reason of events about who leads."""

USER_AGENT_SUFFIX: Final = "leader-election"


class LeaseRecorder(Protocol):
    """What tells people of a Lease, as :class:`~clientgo.record.EventRecorder` does."""

    def eventf(
        self, obj: Any, event_type: str, reason: str, message: str, /, *args: object
    ) -> None: ...


@uncopyable("it has connections to a server; make one in each process")
class LeaseLock:
    """A Lease as a lock. The candidates use the same namespace and name.

    ``labels`` are put on the Lease, beside those of others. Without a ``recorder`` there are no
    events. The writer needs the rights to get, create and update leases in the namespace, and to
    watch them to learn immediately of one that was released.

    Source: tools/leaderelection/resourcelock, LeaseLock.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        identity: str,
        *,
        labels: Mapping[str, str] | None = None,
        recorder: LeaseRecorder | None = None,
    ) -> None:
        self._client = client
        self._resource = resource_of(Lease)
        self._rest = client.rest(GroupVersion(self._resource.group, self._resource.version))
        self._field_manager = client.field_manager
        self._codec = Codec(Lease)
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._labels = dict(labels or {})
        self._recorder = recorder
        self._lease: Lease | None = None

    @property
    def identity(self) -> str:
        return self._identity

    def describe(self) -> str:
        return f"{self._namespace}/{self._name}"

    def get(self, *, timeout: float, stop: threading.Event | None = None) -> LeaderElectionRecord:
        return self._send("GET", self._name, None, timeout, stop)

    def create(
        self, record: LeaderElectionRecord, *, timeout: float, stop: threading.Event | None = None
    ) -> None:
        metadata = ObjectMeta(name=self._name, namespace=self._namespace, labels=self._labels)
        lease = Lease(metadata=metadata, spec=record_to_lease_spec(record))
        self._send("POST", "", lease, timeout, stop)

    def update(
        self, record: LeaderElectionRecord, *, timeout: float, stop: threading.Event | None = None
    ) -> None:
        """Replace the record; raises ``RuntimeError`` before the first get or create."""
        if self._lease is None:
            raise RuntimeError(f"lease {self.describe()} must be read or created before an update")
        lease = deep_copy(self._lease)
        lease.metadata.labels = {**(lease.metadata.labels or {}), **self._labels}
        lease.spec = record_to_lease_spec(record)
        self._send("PUT", self._name, lease, timeout, stop)

    def watch(self, stop: threading.Event) -> Iterator[str]:
        request = self._rest.request("GET").namespace(self._namespace)
        request.resource(self._resource.plural).query("watch", "true")
        request.query("fieldSelector", f"metadata.name={self._name}")
        stream = request.watch(self._codec, stop)
        try:
            while events := stream.read():
                for event in events:
                    if isinstance(event.object, Lease):
                        gone = event.type == "DELETED"
                        yield "" if gone else event.object.spec.holder_identity or ""
        finally:
            stream.stop()

    def close(self) -> None:
        """Close connections that are kept for the next request."""
        self._client.close()

    def record_event(self, message: str) -> None:
        if self._recorder is None:
            return
        about = self._lease
        if about is None:
            about = Lease(metadata=ObjectMeta(name=self._name, namespace=self._namespace))
        self._recorder.eventf(about, NORMAL, EVENT_REASON, "%s %s", self._identity, message)

    def _send(
        self,
        method: str,
        name: str,
        lease: Lease | None,
        timeout: float,
        stop: threading.Event | None,
    ) -> LeaderElectionRecord:
        """Send a request about the lease, remember the lease that it returns, and read that."""
        request = self._rest.request(method).namespace(self._namespace)
        request.resource(self._resource.plural).timeout(timeout)
        if name:
            request.name(name)
        if lease is not None:
            request.body(msgspec.json.encode(lease.to_dict()))
            if self._field_manager:
                request.query("fieldManager", self._field_manager)
        self._lease = request.decoded(self._codec.decode_answer, stop)
        return lease_spec_to_record(self._lease.spec)


def lease_lock_from_config(
    config: Any,
    namespace: str,
    name: str,
    identity: str,
    *,
    timing: Timing,
    labels: Mapping[str, str] | None = None,
    recorder: LeaseRecorder | None = None,
) -> LeaseLock:
    """A lock with connections of its own, which nothing else that the program sends can hold up.

    ``config`` is whatever :class:`~clientgo.client.Client` takes, for instance the ``config`` of
    another client. Raises :class:`~clientgo.rest.ConfigError`.

    Source: tools/leaderelection/resourcelock, NewFromKubeconfig.
    """
    given = Client(config).config
    own = replace(
        given,
        timeout=timing.request_timeout,
        user_agent=f"{given.user_agent}/{USER_AGENT_SUFFIX}",
        qps=0.0,
        limiter=None,
    )
    return LeaseLock(Client(own), namespace, name, identity, labels=labels, recorder=recorder)


def unique_identity() -> str:
    """An identity that no other candidate has: the host, the process and a random part."""
    return f"{socket.gethostname()}_{os.getpid()}_{uuid.uuid4()}"
