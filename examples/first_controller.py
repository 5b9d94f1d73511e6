"""A first controller: it greets every ConfigMap that carries the label ``greet``."""

import sys
import threading

from clientgo.api.core_v1 import ConfigMap
from clientgo.cache import wait_for_cache_sync
from clientgo.client import Client
from clientgo.informers import SharedInformerFactory
from clientgo.meta import NotFoundError, ObjectName
from clientgo.rest import RestConfig, load_config
from clientgo.wait import setup_signal_handler
from clientgo.workqueue import RateLimitingQueue, run_workers


def run(config: RestConfig, stop: threading.Event) -> None:
    with Client(config) as client:
        factory = SharedInformerFactory(client)
        informer, lister = factory.informer_for(ConfigMap), factory.lister_for(ConfigMap)
        queue: RateLimitingQueue[ObjectName] = RateLimitingQueue()
        informer.add_event_handler(
            on_add=lambda obj: queue.add(ObjectName.of(obj)),
            on_update=lambda _, obj: queue.add(ObjectName.of(obj)),
        )

        def sync(name: ObjectName) -> None:
            try:
                config_map = lister.namespace(name.namespace).get(name.name)
            except NotFoundError:
                return  # deleted since its key was queued
            if "greet" in config_map.metadata.labels and "hello" not in (config_map.data or {}):
                client.resource(ConfigMap).namespace(name.namespace).patch(
                    name.name, {"data": {"hello": f"from {name}"}}
                )
                print(f"greeted {name}", flush=True)

        factory.start(stop)
        if wait_for_cache_sync(stop, informer):
            run_workers(stop, queue, sync, workers=2)
        factory.shutdown()


def demo() -> None:
    """Run it on an API server of its own until a ConfigMap has been greeted."""
    from clientgo.apiserver import EmbeddedAPIServer
    from clientgo.meta import ObjectMeta
    from clientgo.testing.observer import Observer

    stop = threading.Event()
    with EmbeddedAPIServer() as server:
        config = load_config(str(server.kubeconfig))
        controller = threading.Thread(target=run, args=(config, stop))
        controller.start()
        with Client(config) as client, Observer(client, ConfigMap) as observer:
            metadata = ObjectMeta(name="world", namespace="default", labels={"greet": "yes"})
            client.resource(ConfigMap).namespace("default").create(ConfigMap(metadata=metadata))
            seen = observer.lister(ConfigMap).namespace("default")
            observer.wait_until(lambda: "hello" in (seen.get("world").data or {}))
            print(seen.get("world").data)
        stop.set()
        controller.join()


if __name__ == "__main__":
    if "--demo" in sys.argv:
        demo()
    else:
        run(load_config(), setup_signal_handler())
