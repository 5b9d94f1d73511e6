"""Change the namespaces of a controller that runs, one change at a time.

Promises that nothing is reconciled during the change in a namespace that comes or goes, and that
afterwards all primaries of the new ones are known and the others forgotten. Namespaces that stay go
on meanwhile. If the new ones cannot be listed in time nothing changes. Where one of the two is
everywhere, nothing at all is reconciled during the change, and the old ones are listed again if it
fails.

Source: Java Operator SDK RegisteredController.changeNamespaces.
"""

from __future__ import annotations

import logging
import threading
from typing import Any, Final

from clientgo.cache import HandlerFuncs, ResourceEventHandler
from clientgo.meta import ObjectName, metadata_of
from clientgo.operator.cache.scope import EVERYWHERE, NamespaceSet
from clientgo.operator.controller.parts import ControllerParts
from clientgo.operator.controller.sources import ControllerSources
from clientgo.operator.errors import CacheSyncTimeoutError
from clientgo.operator.finalizers import has_finalizer, way_out
from clientgo.operator.runs import RunQueue
from clientgo.util.process import deadline_after, time_left

DRAIN_LIMIT: Final = 120.0
"""Real seconds that the finalizers of a namespace are waited for."""

_MOST_NAMED: Final = 10

_log = logging.getLogger("clientgo.operator.controller")


class NamespaceChanges:
    """Changes the namespaces of one controller. Thread-safe."""

    def __init__(self, parts: ControllerParts, queue: RunQueue, sources: ControllerSources) -> None:
        self._parts = parts
        self._queue = queue
        self._sources = sources
        self._lock = threading.Lock()

    def change(self, wanted: NamespaceSet, *, drain: bool) -> None:
        """See :meth:`~clientgo.operator.controller.Controller.change_namespaces`."""
        with self._lock:
            before = self._sources.namespaces
            if wanted == before:
                return
            left = self._drain(wanted) if drain else self._left_behind(wanted)
            everything = EVERYWHERE in (before, wanted)
            changing = before ^ wanted
            self._queue.hold(lambda key: everything or key.namespace in changing)
            try:
                self._change(before, wanted)
            finally:
                self._queue.hold(None)
            if left:
                self._tell_of(left)
        _log.info(
            "%s: watches %s now", self._parts.controller, ", ".join(sorted(wanted)) or "everything"
        )

    def _change(self, before: NamespaceSet, wanted: NamespaceSet) -> None:
        # The new ones first: then a failure costs nothing of what is known of the old ones.
        together = wanted if EVERYWHERE in (before, wanted) else before | wanted
        try:
            self._sources.follow(together)
            self._sources.wait_synced(self._parts.config.cache_sync_timeout)
        except BaseException:
            self._sources.follow(before)
            if together == wanted:
                self._wait_for_old()
            raise
        if together != wanted:
            self._sources.follow(wanted)
        if wanted != EVERYWHERE:
            self._queue.forget_if(lambda key: key.namespace not in wanted)

    def _wait_for_old(self) -> None:
        """Wait until the old ones, which are listed again, are known: nothing may run before."""
        while True:
            try:
                return self._sources.wait_synced(self._parts.config.cache_sync_timeout)
            except CacheSyncTimeoutError as error:
                _log.warning("%s; it is paused until then", error)

    def _left_behind(self, wanted: NamespaceSet) -> list[Any]:
        """Return the primaries that have a finalizer of the controller's and are about to be left:
        once they are deleted, they stay."""
        finalizers = self._parts.finalizers
        if not finalizers or wanted == EVERYWHERE:
            return []
        return [
            obj
            for obj in self._parts.cache.select()
            if metadata_of(obj).namespace not in wanted
            and self._parts.selects(obj)
            and any(has_finalizer(obj, name) for name in finalizers)
        ]

    def _tell_of(self, left: list[Any]) -> None:
        names = ", ".join(str(ObjectName.of(obj)) for obj in left[:_MOST_NAMED])
        _log.error(
            "%s: leaves %d objects with its finalizer behind, %s%s among them: once they are "
            "deleted they stay, unless their namespace is watched again, or, for each, you %s",
            self._parts.controller,
            len(left),
            names,
            " and others" if len(left) > _MOST_NAMED else "",
            way_out(self._parts.primary, left[0], self._parts.finalizers),
        )

    def _drain(self, wanted: NamespaceSet) -> list[Any]:
        """Wait until no primary that is left behind has a finalizer of the controller's; return
        those that have one after two minutes."""
        changed = threading.Event()
        cache = self._parts.cache
        anything: ResourceEventHandler[Any] = HandlerFuncs(
            on_add=lambda _: changed.set(),
            on_update=lambda _old, _new: changed.set(),
            on_delete=lambda _: changed.set(),
        )
        subscription = cache.subscribe(anything, self._sources.namespaces)
        deadline = deadline_after(DRAIN_LIMIT)
        try:
            while True:
                changed.clear()
                left = self._left_behind(wanted)
                if not left or not changed.wait(time_left(deadline)):
                    return left
        finally:
            cache.unsubscribe(subscription)
