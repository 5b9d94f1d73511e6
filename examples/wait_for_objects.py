"""Callers that wait for objects share one watch, which ends with the last of them.

``python -m examples.wait_for_objects`` starts an API server of its own. Three threads wait for a
ConfigMap each, as handlers of an HTTP server would.
"""

from __future__ import annotations

import threading
from queue import SimpleQueue

from clientgo.api.core_v1 import ConfigMap
from clientgo.client import Client
from clientgo.informers import InformerHandle, SharedInformerFactory
from clientgo.meta import ObjectMeta
from clientgo.testcluster.server import EmbeddedAPIServer


def wait_for(handle: InformerHandle[ConfigMap], name: str) -> ConfigMap:
    """Block until there is a ConfigMap of this name; release the handle."""
    found: SimpleQueue[ConfigMap] = SimpleQueue()

    def on_add(obj: ConfigMap) -> None:
        if obj.metadata.name == name:
            found.put(obj)

    with handle:
        handle.add_event_handler(on_add=on_add)  # it is called for objects that exist, too
        return found.get()


def main() -> None:
    stop = threading.Event()
    with EmbeddedAPIServer() as server, Client(server.url) as client:
        config_maps = client.resource(ConfigMap).namespace("default")
        with SharedInformerFactory(client) as factory:
            waiting = []
            for name in ("a", "b", "c"):
                handle = factory.acquire(ConfigMap)
                factory.start(stop)  # what does not run yet
                thread = threading.Thread(target=wait_for, args=(handle, name))
                thread.start()
                waiting.append((name, thread))
            for name, thread in waiting:
                print(f"{name} is waited for, informers: {len(factory.informers())}")
                config_maps.create(ConfigMap(metadata=ObjectMeta(name=name)))
                thread.join()
            print(f"no one waits, informers: {len(factory.informers())}")


if __name__ == "__main__":
    main()
