"""The versions of the objects that the studied controller watches.

Promises: each kind that the controller watches is watched here too, by an informer of its own, and
each version of an object is reported once.

Does not promise every version: what changes while a watch is down is seen as one change.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final
from urllib.parse import urlsplit

from clientgo.cache import DeletedFinalStateUnknown, SharedIndexInformer
from clientgo.client import Client, NoMatchError, ResourceListWatch
from clientgo.meta import DecodeError, StatusError, Unstructured
from clientgo.rest import TransportError
from clientgo.testcluster.server import parse_path
from clientgo.util.process import SupervisedThread

OWN: Final = "study"
"""What the names of this package's informers and threads begin with."""

_log = logging.getLogger("clientgo.tools.study")

OnVersion = Callable[[str, str, Unstructured], object]
"""Called with the plural of the kind, ADDED, MODIFIED or DELETED, and the object."""


class ObjectHistory:
    """Reports versions to ``on_version``, from several threads."""

    def __init__(self, client: Client, on_version: OnVersion) -> None:
        self._client = client
        self._on_version = on_version
        self._stop = threading.Event()
        self._paths: SimpleQueue[str | None] = SimpleQueue()
        self._known: set[str] = set()
        self._threads: list[threading.Thread] = []
        self._thread = SupervisedThread(
            self._follow_all, name=f"{OWN}-history", then="versions of objects are missing"
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End all informers; blocks."""
        self._stop.set()
        self._paths.put(None)
        self._thread.join()
        for thread in self._threads:
            thread.join()

    def requested(self, path: str) -> None:
        """Follow the kind at a path, if the path is that of a watch. Does not block."""
        if "watch=" in path:
            self._paths.put(path)

    def _follow_all(self) -> None:
        while (path := self._paths.get()) is not None and not self._stop.is_set():
            info = parse_path(urlsplit(path).path)
            if info is None or info.resource in self._known:
                continue
            self._known.add(info.resource)
            try:
                self._follow(f"{info.resource}.{info.group}" if info.group else info.resource)
            except (DecodeError, NoMatchError, StatusError, TransportError) as error:
                _log.warning("no versions of %s are shown: %s", info.resource, error)

    def _follow(self, name: str) -> None:
        kind = self._client.mapper.resource(name)
        informer: SharedIndexInformer[Unstructured] = SharedIndexInformer(
            ResourceListWatch(self._client.resource(kind)), name=f"{OWN} {kind.plural}"
        )
        report = self._on_version

        def deleted(obj: Any) -> None:
            last = obj.obj if isinstance(obj, DeletedFinalStateUnknown) else obj
            if last is not None:
                report(kind.plural, "DELETED", last)

        informer.add_event_handler(
            on_add=lambda obj: report(kind.plural, "ADDED", obj),
            on_update=lambda _, obj: report(kind.plural, "MODIFIED", obj),
            on_delete=deleted,
        )
        self._threads.append(
            SupervisedThread.started(
                informer.run,
                args=(self._stop,),
                name=f"{OWN} {kind.plural}",
                then="versions of its objects are missing",
            )
        )
