"""Wait until a cache has what the API server has: all that the last leader or owner has written.

Promises that a run which begins afterwards reads no older state of the kind than a read at the API
server would have returned when this began. A list of headers says what there is; the watch brings
it. Where the server does not answer that list, or the watch is late for long, a warning says so.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from typing import Any, Final

from clientgo.cache import (
    HandlerFuncs,
    ListerWatcher,
    ListPager,
    ResourceEventHandler,
    SharedIndexInformer,
)
from clientgo.meta import (
    DecodeError,
    ListOptions,
    NotFoundError,
    ObjectName,
    StatusError,
    metadata_of,
    parse_resource_version,
)
from clientgo.rest import TransportError
from clientgo.util.process import time_left
from clientgo.util.wait import WaitCancelledError, wait_for_event

LONGEST_WAIT: Final = 10.0
"""Real seconds that a new leader, or a new owner of shards, waits for the watches of all kinds."""

_log = logging.getLogger("clientgo.operator.cache")


@dataclass(frozen=True, slots=True)
class _Listed:
    """What a cache lacks: versions up to ``needed``, and that ``gone`` are gone, as ``listed``."""

    needed: int
    gone: list[str]
    listed: int

    def is_missing(self, informer: SharedIndexInformer[Any]) -> bool:
        store = informer.indexer
        if _version(store.last_store_sync_resource_version()) < self.needed:
            return True
        found = map(store.get_by_key, self.gone)
        return any(_version_of(obj) <= self.listed for obj in found if obj is not None)


def catch_up(
    kind: str,
    informer: SharedIndexInformer[Any],
    headers: ListerWatcher[Any],
    deadline: float,
    stop: threading.Event,
) -> None:
    """Block until an informer has what ``headers`` lists, until an instant of the real monotonic
    clock, and not beyond ``stop``."""
    try:
        listed = _compare(informer, headers, stop)
    except NotFoundError:
        return  # there is no such kind, and no object of it
    except (DecodeError, StatusError, TransportError, WaitCancelledError) as error:
        if not stop.is_set():
            message = "%s: runs may begin with an older state than was written before: %s"
            _log.warning(message, kind, error)
        return
    if not listed.is_missing(informer):
        return
    changed = threading.Event()
    anything: ResourceEventHandler[Any] = HandlerFuncs(
        on_add=lambda _: changed.set(),
        on_update=lambda _old, _new: changed.set(),
        on_delete=lambda _: changed.set(),
    )
    registration = informer.add_event_handler(anything)
    try:
        while listed.is_missing(informer) and not stop.is_set():
            if not wait_for_event(changed, time_left(deadline), stop):
                if not stop.is_set():
                    message = "%s: the watch is late; runs may begin with an older state than was "
                    _log.warning(message + "written before", kind)
                return
            changed.clear()
    finally:
        informer.shut_down_event_handler(registration)


def _compare(
    informer: SharedIndexInformer[Any], headers: ListerWatcher[Any], stop: threading.Event
) -> _Listed:
    store, known, needed, version = informer.indexer, set[str](), 0, 0
    for page in ListPager(headers.list).pages(ListOptions(), stop):
        version = _version(page.metadata.resource_version)
        for header in page.items:
            key = str(ObjectName.of(header))
            known.add(key)
            cached = store.get_by_key(key)
            if cached is None or _version_of(cached) < _version_of(header):
                needed = max(needed, _version_of(header))
    gone = [key for key in store.list_keys() if key not in known]
    return _Listed(needed, gone, version)


def _version_of(obj: Any) -> int:
    return _version(metadata_of(obj).resource_version)


def _version(text: str) -> int:
    """Return a version as a number; 0, with which nothing is missing, for one that is none."""
    return parse_resource_version(text) or 0
