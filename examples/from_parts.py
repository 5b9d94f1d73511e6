"""The whole loop from its parts: a source, an informer, a queue and workers."""

import threading

from clientgo.api.core_v1 import ConfigMap
from clientgo.cache import (
    DeletedFinalStateUnknown,
    SharedIndexInformer,
    deletion_handling_object_name,
    wait_for_cache_sync,
)
from clientgo.client import Client
from clientgo.meta import ObjectName
from clientgo.util.wait import setup_signal_handler
from clientgo.workqueue import RateLimitingQueue, run_workers

client, stop = Client(), setup_signal_handler()
source = client.resource(ConfigMap)
informer = SharedIndexInformer(source, ConfigMap)
queue: RateLimitingQueue[ObjectName] = RateLimitingQueue()


def enqueue(obj: ConfigMap | DeletedFinalStateUnknown) -> None:
    queue.add(deletion_handling_object_name(obj))


informer.add_event_handler(on_add=enqueue, on_update=lambda _, new: enqueue(new), on_delete=enqueue)


def sync(name: ObjectName) -> None:
    config_map = informer.indexer.get_by_key(str(name))
    if config_map is None:
        print(f"{name} is deleted", flush=True)
    elif "greet" in config_map.metadata.labels and "hello" not in (config_map.data or {}):
        source.namespace(name.namespace).patch(name.name, {"data": {"hello": f"from {name}"}})
        print(f"greeted {name}", flush=True)


thread = threading.Thread(target=informer.run, args=(stop,))
thread.start()
if wait_for_cache_sync(stop, informer):
    run_workers(stop, queue, sync, workers=2)
thread.join()
