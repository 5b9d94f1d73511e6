"""Watched namespaces that change at run time: a ConfigMap says which.

The operator greets ConfigMaps labelled ``greet``, in those namespaces that its own configuration,
the ConfigMap ``greeter/config``, lists. An edit of it takes effect immediately, without a restart.

``python -m examples.namespaces`` runs on the cluster of your kubeconfig;
``python -m examples.namespaces --demo`` runs on an API server of its own.
"""

from __future__ import annotations

import sys
from typing import Any

from clientgo.api.core_v1 import ConfigMap, Namespace
from clientgo.client import Client
from clientgo.meta import ObjectMeta
from clientgo.operator import Context, Controller, Manager, Predicate, Result
from clientgo.operator.permissions import rbac
from clientgo.operator.predicates import label_selector
from examples.embedded import embedded, manager_of, run_on_your_cluster, see

HOME = "greeter"
CONFIG = "config"


# The namespaces are chosen at run time, so the permissions can't be limited to some.
@rbac(groups=[""], resources=["configmaps"], verbs=["get", "list", "watch", "patch"])
class Greeter:
    """The work itself; it does not know which namespaces are watched."""

    def reconcile(self, ctx: Context[ConfigMap], config_map: ConfigMap) -> Result:
        data = config_map.data or {}
        config_map.data = {**data, "hello": f"from the operator, {ctx.key}"}
        return Result.resource(config_map)


class Configuration:
    """Turns the operator's own configuration into the namespaces of the greeter."""

    def __init__(self, greeter: Controller[Any]) -> None:
        self._greeter = greeter

    def reconcile(self, ctx: Context[ConfigMap], config: ConfigMap) -> None:
        names = (config.data or {}).get("namespaces", "").split()
        # Nothing listed is a mistake rather than a wish to watch everything.
        self._greeter.change_namespaces(names or [HOME])
        ctx.log.info("watching", namespaces=names)


def new_manager(client: Client) -> Manager:
    manager = manager_of(client, "greeter")
    greeter = (
        manager.controller(ConfigMap)
        .with_predicate(label_selector("greet"))
        .options(name="greeter", namespaces=[HOME])
        .build(Greeter())
    )
    is_config = Predicate.of(lambda obj: obj.metadata.name == CONFIG)
    (
        manager.controller(ConfigMap)
        .with_predicate(is_config)
        .options(name="configuration", namespaces=[HOME])
        .build(Configuration(greeter))
    )
    return manager


def demo() -> None:
    from clientgo.testing.observer import Observer

    with embedded() as client:
        for name in (HOME, "red", "blue"):
            client.resource(Namespace).create(Namespace(metadata=ObjectMeta(name=name)))
        config_maps = client.resource(ConfigMap)
        config = ObjectMeta(name=CONFIG, namespace=HOME)
        config_maps.create(ConfigMap(metadata=config, data={"namespaces": "red"}))
        for colour in ("red", "blue"):
            labelled = ObjectMeta(name="visitor", namespace=colour, labels={"greet": ""})
            config_maps.create(ConfigMap(metadata=labelled))
        manager = new_manager(client)
        with manager, Observer(client, ConfigMap) as seen:
            lister = seen.lister(ConfigMap)

            def greeted(colour: str) -> bool:
                return "hello" in (lister.namespace(colour).get("visitor").data or {})

            see(seen, "the visitor in red is greeted", lambda: greeted("red"))
            print("the one in blue is" + ("" if greeted("blue") else " not"))
            config_maps.namespace(HOME).patch(CONFIG, {"data": {"namespaces": "red blue"}})
            see(seen, "blue was added, and its visitor is greeted", lambda: greeted("blue"))


if __name__ == "__main__":
    if "--demo" in sys.argv:
        demo()
    else:
        run_on_your_cluster(new_manager)
