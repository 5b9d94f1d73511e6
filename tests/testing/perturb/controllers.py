"""Small controllers that copy ConfigMaps: one that is right, and some with classic bugs.

Each makes one Secret for every ConfigMap that has the label ``copy``.
"""

from __future__ import annotations

import errno
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from clientgo.api.core_v1 import ConfigMap, Secret
from clientgo.cache import Lister
from clientgo.client import Client
from clientgo.informers import SharedInformerFactory
from clientgo.meta import AlreadyExistsError, NotFoundError, ObjectMeta, ObjectName
from clientgo.rest import RestConfig
from clientgo.workqueue import RateLimitingQueue, run_workers

SOURCE = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "source", "namespace": "default", "labels": {"copy": "yes"}},
    "data": {"k": "v"},
}


def change_source(client: Client) -> None:
    """Edit the data that is copied."""
    client.resource(ConfigMap).namespace("default").patch("source", {"data": {"k": "w"}})


Sync = Callable[[Client, Lister[Secret], ConfigMap], object]


def copy_of(source: ConfigMap, metadata: ObjectMeta) -> Secret:
    return Secret(metadata=metadata, string_data=dict(source.data or {}))


@contextmanager
def running(config: RestConfig, sync: Sync) -> Iterator[None]:
    """Run two informers, a queue and a worker around a sync function."""
    stop = threading.Event()
    queue: RateLimitingQueue[ObjectName] = RateLimitingQueue()
    with Client(config) as client, SharedInformerFactory(client) as factory:
        sources, copies = factory.lister_for(ConfigMap), factory.lister_for(Secret)

        def enqueue(obj: Any) -> None:
            queue.add(ObjectName("default", "source"))

        for kind in (ConfigMap, Secret):
            factory.informer_for(kind).add_event_handler(
                on_add=enqueue, on_update=lambda _, new: enqueue(new), on_delete=enqueue
            )

        def process(name: ObjectName) -> None:
            try:
                source = sources.namespace(name.namespace).get(name.name)
            except NotFoundError:
                return
            if "copy" in source.metadata.labels:
                sync(client, copies, source)

        factory.start(stop)
        factory.wait_for_cache_sync(stop)
        thread = threading.Thread(target=run_workers, args=(stop, queue, process))
        thread.start()
        yield
        stop.set()
        thread.join()


def level_triggered(config: RestConfig) -> Any:
    """Right: compares what is with what should be, under a name that it can find again."""

    def sync(client: Client, copies: Lister[Secret], source: ConfigMap) -> None:
        secrets = client.resource(Secret).namespace("default")
        wanted = copy_of(source, ObjectMeta(name="copy"))
        try:
            present = secrets.get("copy")
        except NotFoundError:
            secrets.create(wanted)
            return
        values = {key: bytes(value).decode() for key, value in (present.data or {}).items()}
        if values != dict(source.data or {}):
            secrets.patch("copy", {"stringData": dict(source.data or {})})

    return running(config, sync)


@contextmanager
def acting_on_events(config: RestConfig) -> Iterator[None]:
    """Wrong: does its work in the handler, so that what fails is not tried again."""
    stop = threading.Event()
    with Client(config) as client, SharedInformerFactory(client) as factory:

        def on_add(source: ConfigMap) -> None:
            if "copy" not in source.metadata.labels:
                return
            secrets = client.resource(Secret).namespace("default")
            try:
                secrets.create(copy_of(source, ObjectMeta(name="copy")))
            except AlreadyExistsError:
                return

        factory.informer_for(ConfigMap).add_event_handler(on_add=on_add)
        factory.start(stop)
        factory.wait_for_cache_sync(stop)
        yield
        stop.set()


def creating_before_it_checks(config: RestConfig) -> Any:
    """Wrong: creates under a generated name unless its cache, which may lag, has one already."""

    def sync(client: Client, copies: Lister[Secret], source: ConfigMap) -> None:
        secrets = client.resource(Secret).namespace("default")
        if not copies.namespace("default").list():
            secrets.create(copy_of(source, ObjectMeta(generate_name="copy-")))

    return running(config, sync)


def restless(config: RestConfig) -> Any:
    """Wrong: writes in every run, and each write causes the next run."""
    number = iter(range(10**9))

    def sync(client: Client, copies: Lister[Secret], source: ConfigMap) -> None:
        annotations = {"seen": str(next(number))}
        configmaps = client.resource(ConfigMap).namespace("default")
        configmaps.patch("source", {"metadata": {"annotations": annotations}})

    return running(config, sync)


def slow_after_a_restart(config: RestConfig) -> Any:
    """Right, but its second process is slow; keeps every value that it has seen."""
    first = config.user_agent.endswith("/1")

    def sync(client: Client, copies: Lister[Secret], source: ConfigMap) -> None:
        secrets = client.resource(Secret).namespace("default")
        if not first:
            threading.Event().wait(0.5)
            source = client.resource(ConfigMap).namespace("default").get("source")
        value = (source.data or {})["k"]
        try:
            present = secrets.get("copy")
        except NotFoundError:
            secrets.create(Secret(metadata=ObjectMeta(name="copy"), string_data={value: "seen"}))
            return
        if value not in (present.data or {}):
            secrets.patch("copy", {"stringData": {value: "seen"}})

    return running(config, sync)


def random_password(config: RestConfig) -> Any:
    """Right, but the password is another one in each run."""

    def sync(client: Client, copies: Lister[Secret], source: ConfigMap) -> None:
        if not copies.namespace("default").list():
            metadata = ObjectMeta(name="copy")
            _create(client, Secret(metadata=metadata, string_data={"p": secrets.token_hex()}))

    return running(config, sync)


def random_name(config: RestConfig) -> Any:
    """Makes a name of its own instead of letting the server do that."""

    def sync(client: Client, copies: Lister[Secret], source: ConfigMap) -> None:
        if not copies.namespace("default").list():
            _create(client, copy_of(source, ObjectMeta(name=f"copy-{secrets.token_hex(4)}")))

    return running(config, sync)


def _create(client: Client, secret: Secret) -> None:
    with suppress(AlreadyExistsError):
        client.resource(Secret).namespace("default").create(secret)


def with_a_port(lives: int) -> Callable[[RestConfig], Any]:
    """Return a controller that is right, but whose port is taken after so many lives."""
    left = iter(range(lives))

    def run(config: RestConfig) -> Any:
        if next(left, None) is None:
            raise RuntimeError("no metrics") from OSError(errno.EADDRINUSE, "in use")
        return level_triggered(config)

    return run


@contextmanager
def idle(config: RestConfig) -> Iterator[None]:
    """A controller that uses another configuration: it makes no request."""
    yield


def without_data(obj: dict[str, Any]) -> dict[str, Any]:
    """Remove what the controller with a random password writes."""
    return {name: value for name, value in obj.items() if name != "data"}
