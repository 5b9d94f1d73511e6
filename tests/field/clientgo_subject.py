"""The informer of this library in a scenario."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from clientgo.api.core_v1 import Pod
from clientgo.cache import (
    DELTA_FIFO,
    DeletedFinalStateUnknown,
    Indexer,
    ListerWatcher,
    ListWatch,
    Queue,
    QueueChoice,
    ResourceEventHandler,
    SharedIndexInformer,
    last_known_state,
    wait_for_cache_sync,
)
from clientgo.client import Client, ResourceListWatch
from clientgo.meta import deep_copy, object_key
from clientgo.rest import RestConfig
from clientgo.util.wait import Backoff, BackoffManager
from sample_controller.types import Foo
from tests.field.objects import FOOS, NAMESPACE, PODS
from tests.field.subject import Call, Handler, Options

_TYPES: dict[str, type[Any]] = {PODS: Pod, FOOS: Foo}
_HURRIED = Backoff(duration=0.001)


class ClientgoSubject:
    """Runs on ``queue``. The client's own limit of requests is off: it would hide a rush."""

    def __init__(
        self,
        url: str,
        options: Options,
        changed: Callable[[], None],
        *,
        queue: QueueChoice = DELTA_FIFO,
    ) -> None:
        self._changed = changed
        self._errors = 0
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._client = Client(
            RestConfig(server=url, qps=-1, watch_idle_timeout=options.idle_timeout)
        )
        kind = _TYPES[options.path]
        self._resource = self._client.resource(kind).namespace(NAMESPACE)
        source: ListerWatcher[Any] = ResourceListWatch(self._resource)
        if options.wrapped_source:
            lists, watches = source.list, source.watch
            source = ListWatch(lambda o, stop: lists(o, stop), lambda o, stop: watches(o, stop))
        self.informer: SharedIndexInformer[Any] = SharedIndexInformer(
            source,
            kind,
            resync_period=options.resync_period,
            queue=_keyed_by(options.key_func, queue) if options.key_func else queue,
            split_recreated=options.split_recreated,
            delays=BackoffManager(_HURRIED) if options.hurried else None,
            on_error=self._note_error,
        )

    def start(self) -> None:
        thread = threading.Thread(target=self.informer.run, args=(self._stop,), name="informer")
        self._threads.append(thread)
        thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._client.close()

    def stop_in_handler(self) -> None:
        self._stop.set()

    def keys(self) -> set[str]:
        return set(self.informer.indexer.list_keys())

    def add_handler(self, handler: Handler) -> Any:
        return self.informer.add_event_handler(_Telling(handler, self.informer.indexer))

    def remove_handler(self, registration: Any) -> None:
        self.informer.remove_event_handler(registration)

    def handler_has_synced(self, registration: Any, timeout: float) -> bool:
        return bool(wait_for_cache_sync(self._stop, registration, timeout=timeout))

    def has_synced(self, timeout: float) -> bool:
        return bool(wait_for_cache_sync(self._stop, self.informer, timeout=timeout))

    def health(self) -> tuple[bool, Exception | None]:
        return self.informer.is_watching(), self.informer.last_error()

    def errors(self) -> int:
        return self._errors

    def write_back(self, key: str) -> None:
        pod: Any = deep_copy(self.informer.indexer.get_by_key(key))
        pod.metadata.labels["touched"] = "yes"
        self._resource.update(pod)

    def _note_error(self, _: Exception) -> None:
        self._errors += 1
        self._changed()


class _Telling(ResourceEventHandler[Any]):
    def __init__(self, handler: Handler, cache: Indexer[Any]) -> None:
        self._handler = handler
        self._cache = cache

    def on_add(self, obj: Any, is_in_initial_list: bool) -> None:
        self._handler(self._call("add", obj))

    def on_update(self, old: Any, new: Any) -> None:
        self._handler(self._call("update", new, old))

    def on_delete(self, obj: Any) -> None:
        self._handler(self._call("delete", obj))

    def _call(self, kind: Any, told: Any, old: Any = None) -> Call:
        obj: Any = last_known_state(told)
        key = object_key(obj)
        return Call(
            kind=kind,
            key=key,
            version=obj.metadata.resource_version,
            uid=obj.metadata.uid,
            cached=self._cache.get_by_key(key) is not None,
            old_version=None if old is None else old.metadata.resource_version,
            may_be_stale=isinstance(told, DeletedFinalStateUnknown),
        )


def _keyed_by(key_func: Callable[[Any], str], queue: QueueChoice) -> QueueChoice:
    def make(store: Indexer[Any], **options: Any) -> Queue:
        return queue.make(store, key_func=key_func, **options)

    return QueueChoice(make, queue.keeps_order)
