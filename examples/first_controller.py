"""Greets every ConfigMap that carries the label ``greet``."""

from clientgo.api.core_v1 import ConfigMap
from clientgo.client import Client
from clientgo.informers import SharedInformerFactory
from clientgo.meta import NotFoundError, ObjectName
from clientgo.util.wait import setup_signal_handler
from clientgo.workqueue import RateLimitingQueue, run_workers

stop = setup_signal_handler()
queue: RateLimitingQueue[ObjectName] = RateLimitingQueue()

with Client() as client, SharedInformerFactory(client) as factory:
    lister = factory.lister_for(ConfigMap)
    factory.informer_for(ConfigMap).add_event_handler(
        on_add=lambda obj: queue.add(ObjectName.of(obj)),
        on_update=lambda _, new: queue.add(ObjectName.of(new)),
    )

    def sync(name: ObjectName) -> None:
        try:
            config_map = lister.namespace(name.namespace).get(name.name)
        except NotFoundError:
            return  # it was deleted after its key was queued
        if "greet" in config_map.metadata.labels and "hello" not in (config_map.data or {}):
            config_maps = client.resource(ConfigMap).namespace(name.namespace)
            config_maps.patch(name.name, {"data": {"hello": f"from {name}"}})
            print(f"greeted {name}", flush=True)

    factory.start(stop)
    factory.wait_for_cache_sync(stop)
    run_workers(stop, queue, sync, workers=2)
