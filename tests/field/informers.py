"""Informers with the options that a test chooses, and a thread to run them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from clientgo.api.core_v1 import Pod
from clientgo.cache import SharedIndexInformer
from clientgo.client import Client, ResourceListWatch
from clientgo.rest import RestConfig
from tests.field.objects import NAMESPACE
from tests.field.scenario import Field


@contextmanager
def pod_informer(
    field: Field, *, timeout_seconds: int | None = None, watch_grace: float = 30.0, **options: Any
) -> Iterator[SharedIndexInformer[Pod]]:
    """An informer of the field's Pods, not running; its connections are closed in the end."""
    config = RestConfig(server=field.server.url, qps=-1, watch_grace=watch_grace)
    with Client(config) as client:
        tweak = None
        if timeout_seconds is not None:
            tweak = lambda asked: replace(asked, timeout_seconds=timeout_seconds)  # noqa: E731
        source = ResourceListWatch(client.resource(Pod), NAMESPACE, tweak)
        yield SharedIndexInformer(source, Pod, **options)


@contextmanager
def running_pod_informer(field: Field, **options: Any) -> Iterator[SharedIndexInformer[Pod]]:
    """A running one; the field looks again at what it waits for whenever a Pod is told."""
    with pod_informer(field, **options) as informer:
        informer.add_event_handler(
            on_add=field.notify, on_update=field.notify, on_delete=field.notify
        )
        with running(informer):
            yield informer


@contextmanager
def running(informer: SharedIndexInformer[Any]) -> Iterator[threading.Event]:
    """Run it until the end of the block, or until the event is set."""
    stop = threading.Event()
    thread = threading.Thread(target=informer.run, args=(stop,), name="informer", daemon=True)
    thread.start()
    try:
        yield stop
    finally:
        stop.set()
        thread.join(30)
        assert not thread.is_alive(), "run() did not return after its stop was set"
