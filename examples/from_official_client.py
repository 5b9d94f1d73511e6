"""Greets ConfigMaps as a program of the official client does that moves over in steps.

It connects with the ``kubernetes`` package and keeps its models. clientgo watches, caches and
retries. Needs a kubeconfig and ``pip install 'clientgo[kubernetes]'``; then try
``kubectl apply -f examples/greet-me.yaml``.
"""

from kubernetes import config
from kubernetes.client import ApiClient, V1ConfigMap

from clientgo.client import Client
from clientgo.informers import SharedInformerFactory
from clientgo.meta import NotFoundError, ObjectName
from clientgo.util.wait import setup_signal_handler
from clientgo.workqueue import RateLimitingQueue, run_workers


def greet(config_map: V1ConfigMap) -> bool:
    """The code of the program that moves over: it does not change."""
    labels = (config_map.metadata and config_map.metadata.labels) or {}
    if "greet" not in labels or "hello" in (config_map.data or {}):
        return False
    config_map.data = {**(config_map.data or {}), "hello": "from the official client's models"}
    return True


config.load_config()  # type: ignore[no-untyped-call]
stop = setup_signal_handler()
queue: RateLimitingQueue[ObjectName] = RateLimitingQueue()

with Client(ApiClient()) as client, SharedInformerFactory(client) as factory:
    lister = factory.lister_for(V1ConfigMap)
    factory.informer_for(V1ConfigMap).add_event_handler(
        on_add=lambda obj: queue.add(ObjectName.of(obj)),
        on_update=lambda _, new: queue.add(ObjectName.of(new)),
    )

    def sync(name: ObjectName) -> None:
        try:
            config_map = lister.namespace(name.namespace).get(name.name)
        except NotFoundError:
            return  # it was deleted after its key was queued
        if greet(config_map):
            client.update(config_map)
            print(f"greeted {name}", flush=True)

    factory.start(stop)
    factory.wait_for_cache_sync(stop)
    run_workers(stop, queue, sync, workers=2)
