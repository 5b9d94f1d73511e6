"""The objects of a fake: a store with watches, in memory.

Promises: objects are JSON values, copied when they are stored and when they are returned;
every change reaches every open watch of its namespace, and of all namespaces, in order; a watch
buffers without bound and costs nothing once it is stopped.

Does not promise what a server does: objects are not defaulted, validated, pruned, finalized or
collected, and a status is not kept apart from a spec. :class:`Realism` switches some of it on,
``clientgo.testcluster.server.EmbeddedAPIServer`` has all of it.

Upstream: client-go ``testing`` ObjectTracker. Differs in that an object without a name, or whose
metadata no client could read, is refused immediately, and that a full watch cannot fail the write
that filled it. Why it is not the server: ``clientgo.testing.tracker``.
"""

from __future__ import annotations

import builtins
import itertools
import threading
import uuid
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from clientgo.meta import (
    AlreadyExistsError,
    BadRequestError,
    ConflictError,
    EventType,
    GroupVersionResource,
    InvalidError,
    NotFoundError,
    ObjectName,
    StatusError,
    WatchEvent,
)
from clientgo.meta.json_values import JSONObject, copy_json
from clientgo.meta.timestamps import format_time
from clientgo.testing.fake_source import FakeStream
from clientgo.testing.tracker.realism import Realism
from clientgo.testing.tracker.seeds import ResourceLike, check_header, gvr_of, plain_of, seeds
from clientgo.testing.tracker.writes import PLAIN_WRITE, WriteOptions, applied, owned
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable

_Change: TypeAlias = Callable[[JSONObject | None], JSONObject]
"""From the stored object, None if there is none, to the one to store."""


@uncopyable("it has locks; make one in each process")
class ObjectTracker:
    """Objects by resource, namespace and name; thread-safe, blocks only for its own lock.

    Raises what a server would answer: :class:`~clientgo.meta.NotFoundError`,
    :class:`~clientgo.meta.AlreadyExistsError`, :class:`~clientgo.meta.BadRequestError`, and with
    ``Realism.VERSIONS`` :class:`~clientgo.meta.ConflictError`.

    Each resource has a version: 1 while it is empty, one more after every create and update, the
    same after a delete. Lists carry it; objects keep the one they came with. With
    ``Realism.ONE_COUNTER`` all resources have the same.
    """

    def __init__(self, realism: Realism = Realism.NONE, *, clock: Clock = REAL_CLOCK) -> None:
        self.realism = realism
        self._clock = clock
        self._lock = threading.Lock()
        self._versions: defaultdict[GroupVersionResource | None, int] = defaultdict(lambda: 1)
        self._collections: dict[GroupVersionResource, _Collection] = {}
        self._numbers = itertools.count(1)

    def add(self, *objs: Any) -> None:
        """Store objects, and the items of lists, in place of what has their names.

        A declared class says which resource it belongs to; for others the plural is guessed from
        the kind, and where that is odd :meth:`create` takes it explicitly. Raises ``TypeError`` and
        ``ValueError`` for what is no API object.
        """
        for obj in objs:
            for resource, plain in seeds(obj):
                key = ObjectName(_ensure_namespace(plain, ""), self._ensure_name(plain))
                self._write(resource, key, lambda _, plain=plain: plain)  # type: ignore[misc]

    def create(
        self,
        resource: ResourceLike,
        obj: Any,
        namespace: str = "",
        options: WriteOptions = PLAIN_WRITE,
    ) -> JSONObject:
        """Store a new object and return it; ``namespace`` is that of the request."""
        gvr, new = gvr_of(resource), plain_of(obj)
        key = ObjectName(_ensure_namespace(new, namespace), self._ensure_name(new))

        def change(live: JSONObject | None) -> JSONObject:
            if live is not None:
                raise _about(AlreadyExistsError, gvr, key.name, "already exists")
            return new

        return self._write(gvr, key, self._owned(change, options), options)

    def update(
        self,
        resource: ResourceLike,
        obj: Any,
        namespace: str = "",
        options: WriteOptions = PLAIN_WRITE,
    ) -> JSONObject:
        """Replace an object, status and all, and return it."""
        new = plain_of(obj)
        namespace = _ensure_namespace(new, namespace)
        name = new["metadata"].get("name") or ""
        return self.patch(resource, namespace, name, lambda _: new, options)

    def patch(
        self,
        resource: ResourceLike,
        namespace: str,
        name: str,
        change: Callable[[JSONObject], JSONObject],
        options: WriteOptions = PLAIN_WRITE,
    ) -> JSONObject:
        """Replace an object by what ``change`` makes of it, in one step, and return that.

        ``change`` must not call the tracker; if it raises, nothing is stored.
        """
        gvr = gvr_of(resource)

        def change_existing(live: JSONObject | None) -> JSONObject:
            if live is None:
                raise _about(NotFoundError, gvr, name, "not found")
            return change(live)

        key = ObjectName(namespace, name)
        return self._write(gvr, key, self._owned(change_existing, options), options)

    def apply(
        self,
        resource: ResourceLike,
        config: JSONObject,
        namespace: str,
        options: WriteOptions,
        *,
        force: bool = False,
    ) -> JSONObject:
        """Make the fields of ``config`` so, and the writer their owner; create if need be.

        Keeps owners with or without ``Realism.OWNERSHIP``. Raises, besides,
        :class:`~clientgo.testcluster.fields.managed_fields.ApplyConflictError`.
        """
        config = plain_of(config)
        key = ObjectName(_ensure_namespace(config, namespace), config["metadata"].get("name") or "")

        def change(live: JSONObject | None) -> JSONObject:
            return applied(live, config, options, self._clock.time, force=force)

        return self._write(gvr_of(resource), key, change, options)

    def get(self, resource: ResourceLike, namespace: str, name: str) -> JSONObject:
        """A copy of an object."""
        gvr = gvr_of(resource)
        with self._lock:
            return self._stored_locked(gvr, ObjectName(namespace, name)).copy()

    def list(self, resource: ResourceLike, namespace: str = "") -> builtins.list[JSONObject]:
        """Copies of the objects of a namespace, or of all, by namespace and name."""
        with self._lock:
            return self._collection_locked(gvr_of(resource)).copies(namespace)

    def resource_version(self, resource: ResourceLike) -> int:
        """The version that a list of the resource carries now."""
        with self._lock:
            return self._versions[self._counter(gvr_of(resource))]

    def delete(
        self,
        resource: ResourceLike,
        namespace: str,
        name: str,
        options: WriteOptions = PLAIN_WRITE,
    ) -> JSONObject:
        """Remove an object without regard to its finalizers; return its last state."""
        gvr, key = gvr_of(resource), ObjectName(namespace, name)
        with self._lock:
            last = self._stored_locked(gvr, key).copy()
            if not options.dry_run:
                collection = self._collection_locked(gvr)
                del collection.objects[key]
                collection.tell(EventType.DELETED, namespace, last)
            return last

    def watch(
        self, resource: ResourceLike, namespace: str = "", *, since: int | None = None
    ) -> FakeStream:
        """What happens to the objects of a namespace, or of all, from now on.

        With ``since``, the existing objects that were written after that version come first, as
        ADDED; what was deleted since then does not show. Selectors do not apply.
        """
        stream = FakeStream()
        with self._lock:
            collection = self._collection_locked(gvr_of(resource))
            if since is not None:
                newer = collection.copies(namespace, since)
                stream.put([WatchEvent(EventType.ADDED, obj) for obj in newer])
            collection.watches.append((namespace, stream))
        return stream

    def _write(
        self,
        gvr: GroupVersionResource,
        key: ObjectName,
        change: _Change,
        options: WriteOptions = PLAIN_WRITE,
    ) -> JSONObject:
        if not key.name:
            raise BadRequestError.of(f"an object of {gvr.resource} needs a name")
        with self._lock:
            collection = self._collection_locked(gvr)
            stored = collection.objects.get(key)
            live = stored.copy() if stored else None
            new = change(live)
            _check_name(new, key)
            version = self._versions[self._counter(gvr)] + 1
            self._simulate(gvr, live, new, version)
            if not options.dry_run:
                self._versions[self._counter(gvr)] = version
                collection.objects[key] = _Stored(copy_json(new), version)
                kind = EventType.MODIFIED if stored else EventType.ADDED
                collection.tell(kind, key.namespace, new)
            return new

    def _owned(self, change: _Change, options: WriteOptions) -> _Change:
        """The same change, after which the writer owns what it changed, if that is wanted."""
        if Realism.OWNERSHIP not in self.realism:
            return change
        return lambda live: owned(live, change(live), options, self._clock.time)

    def _counter(self, gvr: GroupVersionResource) -> GroupVersionResource | None:
        """What the version is counted for: a resource, or None for all together."""
        return None if Realism.ONE_COUNTER in self.realism else gvr

    def _collection_locked(self, gvr: GroupVersionResource) -> _Collection:
        return self._collections.setdefault(gvr, _Collection())

    def _stored_locked(self, gvr: GroupVersionResource, key: ObjectName) -> _Stored:
        try:
            return self._collection_locked(gvr).objects[key]
        except KeyError:
            raise _about(NotFoundError, gvr, key.name, "not found") from None

    def _ensure_name(self, new: JSONObject) -> str:
        metadata = new["metadata"]
        name: str = metadata.get("name") or ""
        prefix = metadata.get("generateName")
        if not name and prefix:
            if Realism.NAMES not in self.realism:
                raise InvalidError.of(
                    f"the generateName {prefix!r} makes no name in this fake; give the object a "
                    "name, or the fake Realism.NAMES"
                )
            name = metadata["name"] = f"{prefix}{next(self._numbers):05}"
        return name

    def _simulate(
        self, gvr: GroupVersionResource, live: JSONObject | None, new: JSONObject, version: int
    ) -> None:
        """Do to ``new`` what a server would, as far as that is wanted."""
        metadata = new["metadata"]
        if Realism.VERSIONS in self.realism:
            sent = metadata.get("resourceVersion")
            if live is not None and sent and sent != live["metadata"]["resourceVersion"]:
                raise _about(
                    ConflictError,
                    gvr,
                    metadata["name"],
                    "has been modified; apply your changes to the latest version",
                )
            metadata["resourceVersion"] = str(version)
        if Realism.IDENTITY in self.realism:
            if live is None:
                metadata["uid"] = str(uuid.UUID(int=next(self._numbers)))
                metadata["creationTimestamp"] = format_time(self._clock.time())
            else:
                metadata["uid"] = live["metadata"]["uid"]
                metadata["creationTimestamp"] = live["metadata"]["creationTimestamp"]


@dataclass(frozen=True, slots=True)
class _Stored:
    """An object, and the version of its resource since which it is as it is."""

    obj: JSONObject
    version: int

    def copy(self) -> JSONObject:
        obj: JSONObject = copy_json(self.obj)
        return obj


@dataclass(slots=True)
class _Collection:
    """The objects of one resource and who watches them; guarded by the tracker's lock."""

    objects: dict[ObjectName, _Stored] = field(default_factory=dict)
    watches: list[tuple[str, FakeStream]] = field(default_factory=list)

    def copies(self, namespace: str, since: int = 0) -> list[JSONObject]:
        return [
            stored.copy()
            for key, stored in sorted(self.objects.items())
            if namespace in ("", key.namespace) and stored.version > since
        ]

    def tell(self, kind: EventType, namespace: str, obj: JSONObject) -> None:
        self.watches = [watch for watch in self.watches if not watch[1].is_stopped]
        for watched, stream in self.watches:
            if watched in ("", namespace):
                stream.put([WatchEvent(kind, copy_json(obj))])


def _ensure_namespace(new: JSONObject, namespace: str) -> str:
    """The namespace of an object, which is that of the request if it does not say one itself."""
    metadata = new["metadata"]
    own: str = metadata.get("namespace") or ""
    if own and namespace and own != namespace:
        raise BadRequestError.of(
            f"the namespace of the object ({own}) is not that of the request ({namespace})"
        )
    if namespace:
        metadata["namespace"] = namespace
    return own or namespace


def _check_name(new: JSONObject, key: ObjectName) -> None:
    name = check_header(new)
    if name != key.name:
        raise BadRequestError.of(f"the name of the object ({name!r}) is not {key.name!r} any more")


def _about(
    error: type[StatusError], gvr: GroupVersionResource, name: str, problem: str
) -> StatusError:
    group_resource = f"{gvr.resource}.{gvr.group}" if gvr.group else gvr.resource
    return error.of(
        f'{group_resource} "{name}" {problem}', name=name, kind=gvr.resource, group=gvr.group
    )
