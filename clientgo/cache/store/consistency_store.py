"""Remembers what a controller has written, until its caches have it.

Promises: :meth:`ConsistencyStore.ensure_ready` raises while a cache is older than what was last
written for an owner. Then the worker puts the key back with a delay, and no sync acts on a state
that the controller has changed already.

Does not promise that the cache is up to date, only that it has these writes: those of others may be
missing. Does not notice a cache that goes back in time later, as after a restore of etcd.

Differs from Kubernetes (``pkg/controller/util/consistency``, KEP-5647): a cache without a resource
version, for which the check can do nothing, is logged.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple, Protocol

from clientgo.cache.store.resource_versions import is_older
from clientgo.meta import ObjectName, metadata_of
from clientgo.observe.metrics import MetricsProvider, default_provider
from clientgo.observe.metrics.names import STALE_SYNC_SKIPS
from clientgo.util.copies import uncopyable
from clientgo.util.wait import NotReadyError

_log = logging.getLogger("clientgo.cache.store")


class VersionedStore(Protocol):
    """The part of a store that is compared with what was written."""

    def last_store_sync_resource_version(self) -> str: ...


class ConsistencyError(NotReadyError):
    """A cache is older than what its controller has written.

    ``read`` is the resource version of the cache, ``written`` that of the write. Raise it out of
    the sync: :func:`~clientgo.workqueue.run_workers` tries the key again with back-off, and does
    not report a failure.
    """

    def __init__(self, owner: Hashable, resource: Any, read: str, written: str) -> None:
        super().__init__(
            f"the cache of {_text(resource)} is as of resource version {read}, older than version "
            f"{written}, which was written for {owner}; sync it again when the cache has caught up"
        )
        self.owner = owner
        self.resource = resource
        self.read = read
        self.written = written


class _Record(NamedTuple):
    """What was written for one owner. Replaced, never changed."""

    uid: str
    versions: Mapping[Any, str]


@uncopyable("it has locks; make one in each process")
class ConsistencyStore:
    """The last writes for each owner, compared with the caches in ``stores``.

    A resource is named by any value that can be hashed, such as its type::

        consistency = ConsistencyStore({Foo: foos.indexer, Deployment: deployments.indexer})

        def sync(name: ObjectName) -> None:
            consistency.ensure_ready(name)
            foo = foo_lister.namespace(name.namespace).get(name.name)
            consistency.wrote(foo, client.create(new_deployment(foo)))

    The informers must run on ``REAL_FIFO``, because the cache of a DeltaFIFO has no single
    version. Record only writes that the informer will see: a cache that selects by namespace or
    label may never reach the version of another object. An owner that is deleted needs no
    :meth:`clear` if its deletion queues its key.

    Each wait is counted by resource, in ``stale_sync_skips_total``. Thread-safe; no call blocks.
    For one owner, ``wrote_at`` and ``ensure_ready`` must not run at the same time; a work queue
    sees to that.

    Source: k8s.io/kubernetes/pkg/controller/util/consistency, ConsistencyStore.
    """

    def __init__(
        self, stores: Mapping[Any, VersionedStore], *, metrics: MetricsProvider | None = None
    ) -> None:
        provider = metrics or default_provider()
        self._stores = dict(stores)
        self._skips = {
            resource: provider.counter(STALE_SYNC_SKIPS, resource=_text(resource))
            for resource in stores
        }
        self._lock = threading.Lock()
        self._records: dict[Hashable, _Record] = {}
        self._warned: set[Any] = set()

    def wrote(self, owner: Any, written: Any, resource: Any = None) -> None:
        """Record the answer to a write: :meth:`wrote_at` with what the two objects say.

        The resource is the type of ``written`` if it is not given.
        """
        version = metadata_of(written).resource_version or ""
        kind = type(written) if resource is None else resource
        self.wrote_at(ObjectName.of(owner), metadata_of(owner).uid or "", kind, version)

    def wrote_at(self, owner: Hashable, owner_uid: str, resource: Any, version: str) -> None:
        """Record that an object of a resource was written for an owner, at a resource version.

        The highest version counts; one that cannot be compared replaces the one before. Another
        uid is another owner of the same name: what was recorded for the one before is dropped.
        Nothing is recorded without a version, as of a deletion before Kubernetes 1.37.
        """
        if not version:
            return
        with self._lock:
            record = self._records.get(owner)
            versions = dict(record.versions) if record and record.uid == owner_uid else {}
            if not is_older(version, versions.get(resource, "")):
                versions[resource] = version
                self._records[owner] = _Record(owner_uid, versions)

    def ensure_ready(self, owner: Hashable) -> None:
        """Return if the caches have all that was written for an owner; then forget it.

        Raises :class:`ConsistencyError` if one of them is older. A resource that has no store, a
        store without a resource version, and versions that are not numbers are never waited for.
        """
        record = self._records.get(owner)
        if record is None:
            return
        for resource, written in record.versions.items():
            read = self._version_of(resource)
            if is_older(read, written):
                self._skips[resource].inc()
                raise ConsistencyError(owner, resource, read, written)
        with self._lock:
            if self._records.get(owner) is record:
                del self._records[owner]

    def clear(self, owner: Hashable, uid: str = "") -> None:
        """Forget what was written for an owner; with a uid, only for the owner that has it."""
        with self._lock:
            record = self._records.get(owner)
            if record is not None and uid in ("", record.uid):
                del self._records[owner]

    def pending(self) -> int:
        """Return how many owners have writes that no sync has found in the caches yet."""
        return len(self._records)

    def _version_of(self, resource: Any) -> str:
        store: VersionedStore | None = self._stores.get(resource)
        if store is None:
            known = ", ".join(map(_text, self._stores)) or "none"
            self._warn(resource, f"there is no store for it (stores: {known})")
            return ""
        version = store.last_store_sync_resource_version()
        if not version:
            self._warn(resource, "its cache has no resource version; run its informer on REAL_FIFO")
        return version

    def _warn(self, resource: Any, why: str) -> None:
        with self._lock:
            if resource in self._warned:
                return
            self._warned.add(resource)
        _log.warning("syncs do not wait for writes of %s: %s", _text(resource), why)


def _text(resource: object) -> str:
    return str(getattr(resource, "__name__", resource))
