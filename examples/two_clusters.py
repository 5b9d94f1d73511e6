"""Two clusters: the data of a ConfigMap in one are copied to that of the same name in the other.

``python -m examples.two_clusters --demo`` runs it on two API servers of its own, and restarts one.
``python -m examples.two_clusters CONTEXT`` copies from the cluster of that context of your
kubeconfig to the one of the current context.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable

from clientgo.api.core_v1 import ConfigMap
from clientgo.client import Client
from clientgo.meta import ObjectMeta
from clientgo.operator import Cluster, Context, Manager, Result, Source, controller
from clientgo.operator.mappers import by_name
from clientgo.rest import RestConfig, load_config
from examples.embedded import manager_of, see

COPIED = {"example.com/copied": "yes"}
"""The label of the ConfigMaps that take part, in both clusters."""


@controller(ConfigMap, labels="example.com/copied=yes", generation_aware=False)
class Copier:
    """Reads the other cluster from a cache, as it reads its own."""

    def __init__(self, other: Cluster) -> None:
        self._other = other

    def sources(self, _services: object) -> Iterable[Source]:
        return [self._other.watch(ConfigMap, mapper=by_name(), labels=COPIED)]

    def reconcile(self, ctx: Context[ConfigMap], config_map: ConfigMap) -> Result:
        source = self._other.client.find(ConfigMap, ctx.key.name, ctx.key.namespace)
        if source is None or source.data == config_map.data:
            return Result.done()
        config_map.data = source.data
        return Result.resource(config_map)


def new_manager(client: Client, other: Cluster) -> Manager:
    manager = manager_of(client, "copier")
    manager.add_cluster(other)  # started and stopped with the manager, and part of its health
    manager.register(Copier(other))
    return manager


def demo() -> None:
    from clientgo.testcluster.server import EmbeddedAPIServer
    from clientgo.testing.observer import Observer

    # That a server restarts is worth a warning; here it is meant.
    logging.getLogger("clientgo").setLevel(logging.ERROR)
    with EmbeddedAPIServer() as here, EmbeddedAPIServer() as there:
        configs = RestConfig(server=here.url), RestConfig(server=there.url)
        with Client(configs[0]) as client, Client(configs[1]) as remote:
            ours, theirs = (c.resource(ConfigMap).namespace("default") for c in (client, remote))
            new = ObjectMeta(name="colours", labels=COPIED)
            ours.create(ConfigMap(metadata=new, data={"a": "red"}))
            theirs.create(ConfigMap(metadata=new, data={"a": "blue"}))
            other = Cluster(configs[1], name="there")
            with new_manager(client, other), Observer(client, ConfigMap) as seen:
                lister = seen.lister(ConfigMap).namespace("default")

                def says(colour: str) -> bool:
                    return (lister.get("colours").data or {}).get("a") == colour

                see(seen, "the other cluster says blue, and so does this one", lambda: says("blue"))
                there.restart()
                print("the other API server has restarted", flush=True)
                theirs.patch("colours", {"data": {"a": "green"}})
                see(seen, "a change after the restart arrives", lambda: says("green"))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m examples.two_clusters CONTEXT, or --demo")
    if sys.argv[1] == "--demo":
        demo()
    else:
        with Client() as client:
            new_manager(client, Cluster(load_config(context=sys.argv[1]), name="other")).run()
