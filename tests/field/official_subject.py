"""The informer of the official client, ``kubernetes.informer``, in a scenario."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kubernetes.client import ApiClient, Configuration, CoreV1Api, CustomObjectsApi
from kubernetes.informer import ADDED, DELETED, ERROR, MODIFIED, SharedInformer

from tests.field.objects import NAMESPACE, PODS, key
from tests.field.subject import Call, Handler, NotOfferedError, Options

_KINDS = {ADDED: "add", MODIFIED: "update", DELETED: "delete"}


class OfficialSubject:
    """It has no way to shorten its pauses; scenarios wait for it longer instead."""

    def __init__(self, url: str, options: Options, changed: Callable[[], None]) -> None:
        if options.idle_timeout is not None:
            raise NotOfferedError("no way to set how long a watch may be silent")
        self._changed = changed
        self._errors = 0
        configuration = Configuration(host=url)
        api_client = ApiClient(configuration)
        self._core = CoreV1Api(api_client)
        source: Any = self._core.list_namespaced_pod
        if options.path != PODS:
            source = partial(
                CustomObjectsApi(api_client).list_namespaced_custom_object,
                group="samplecontroller.k8s.io",
                version="v1alpha1",
                plural="foos",
            )
        if options.wrapped_source:
            inner = source
            source = lambda **arguments: inner(**arguments)  # noqa: E731 - what users write
        self._informer = SharedInformer(
            source,
            namespace=NAMESPACE,
            resync_period=options.resync_period,
            key_func=options.key_func,
        )
        self._informer.add_event_handler(ERROR, self._note_error)

    def start(self) -> None:
        self._informer.start()

    def stop(self) -> None:
        self._informer.stop()

    def stop_in_handler(self) -> None:
        self._informer.stop()

    def keys(self) -> set[str]:
        return set(self._informer.cache.list_keys())

    def add_handler(self, handler: Handler) -> Any:
        told = {
            event_type: partial(self._tell, handler, kind) for event_type, kind in _KINDS.items()
        }
        for event_type, function in told.items():
            self._informer.add_event_handler(event_type, function)
        return told

    def remove_handler(self, registration: Any) -> None:
        for event_type, function in registration.items():
            self._informer.remove_event_handler(event_type, function)

    def handler_has_synced(self, registration: Any, timeout: float) -> bool:
        raise NotOfferedError("no way to tell whether a handler was told everything")

    def has_synced(self, timeout: float) -> bool:
        raise NotOfferedError("no way to tell an empty cache from one that was never filled")

    def health(self) -> tuple[bool, Exception | None]:
        raise NotOfferedError("no way to tell whether the cache is kept up to date")

    def errors(self) -> int:
        return self._errors

    def write_back(self, key: str) -> None:
        pod = self._informer.cache.get_by_key(key)
        pod.metadata.labels = {"touched": "yes"}
        self._core.replace_namespaced_pod(pod.metadata.name, NAMESPACE, pod)

    def _note_error(self, _: Any) -> None:
        self._errors += 1
        self._changed()

    def _tell(self, handler: Handler, kind: Any, obj: Any) -> None:
        name, version, uid = _header(obj)
        handler(
            Call(
                kind=kind,
                key=key(name),
                version=version,
                uid=uid,
                cached=self._informer.cache.get_by_key(key(name)) is not None,
            )
        )


def _header(obj: Any) -> tuple[str, str, str]:
    if isinstance(obj, dict):
        metadata = obj["metadata"]
        return metadata["name"], metadata["resourceVersion"], metadata["uid"]
    return obj.metadata.name, obj.metadata.resource_version, obj.metadata.uid
