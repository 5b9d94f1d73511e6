"""The same as from_parts.py: a ControlLoop connects the parts."""

from clientgo.api.core_v1 import ConfigMap
from clientgo.client import Client
from clientgo.control_loop import ControlLoop
from clientgo.meta import ObjectName
from clientgo.util.wait import setup_signal_handler

client = Client()
loop = ControlLoop(client, "greeter")
lister = loop.watch(ConfigMap)


def sync(name: ObjectName) -> None:
    config_map = lister.namespace(name.namespace).find(name.name)
    if config_map is None:
        print(f"{name} is deleted", flush=True)
    elif "greet" in config_map.metadata.labels and "hello" not in (config_map.data or {}):
        config_maps = client.resource(ConfigMap).namespace(name.namespace)
        config_maps.patch(name.name, {"data": {"hello": f"from {name}"}})
        print(f"greeted {name}", flush=True)


loop.run(sync, setup_signal_handler())
