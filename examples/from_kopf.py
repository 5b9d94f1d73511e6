"""A controller as kopf's users would write it, next to docs/coming-from/kopf.md.

Each Greeting has a ConfigMap with its text. An edit of the text updates it, the audience is
reported when it changes, and the ConfigMap comes back if another client deletes it.

``python -m examples.from_kopf`` runs on the cluster of your kubeconfig;
``python -m examples.from_kopf --demo`` runs on an API server of its own.
"""

from __future__ import annotations

import sys

from clientgo.api.core_v1 import ConfigMap
from clientgo.client import Client
from clientgo.meta import Model, ObjectMeta, Resource, resource
from clientgo.operator import Context, Manager, Result, TerminalError, controller, retry, watch
from clientgo.operator.addons.changes import LastReconciled
from examples.embedded import embedded, manager_of, run_on_your_cluster, see


class GreetingSpec(Model):
    text: str = ""
    audience: str = "world"


class GreetingStatus(LastReconciled):
    config_map: str = ""
    moved_from: str = ""


@resource(group="example.com", version="v1", plural="greetings")
class Greeting(Resource):
    spec: GreetingSpec = GreetingSpec()
    status: GreetingStatus = GreetingStatus()


LABELS = {"example.com/part-of": "greetings"}


@controller(
    Greeting,
    owns=[watch(ConfigMap, labels=LABELS)],
    changes=["spec.audience"],
    retry=retry.fixed(60, max_attempts=3),
    max_interval=3600,
)
class GreetingReconciler:
    def reconcile(self, ctx: Context[Greeting], greeting: Greeting) -> Result:
        if not greeting.spec.text:
            raise TerminalError("spec.text must be set")
        metadata = ObjectMeta(name=ctx.key.name, namespace=ctx.key.namespace, labels=LABELS)
        text = f"{greeting.spec.text}, {greeting.spec.audience}"
        ctx.client.create_or_update(ctx.own(ConfigMap(metadata=metadata, data={"text": text})))
        if ctx.changes.changed("spec.audience"):
            greeting.status.moved_from = ctx.changes.old("spec.audience")
            ctx.events.normal("Moved", f"from {greeting.status.moved_from}")
        greeting.status.config_map = metadata.name
        return Result.status(greeting)


def new_manager(client: Client) -> Manager:
    manager = manager_of(client, "greetings")
    manager.register(GreetingReconciler())
    return manager


def demo() -> None:
    from clientgo.testing.observer import Observer

    with embedded(Greeting) as client, Observer(client, Greeting, ConfigMap) as seen:
        greetings = client.resource(Greeting).namespace("default")
        config_maps = client.resource(ConfigMap).namespace("default")

        def says(text: str) -> bool:
            return (seen.lister(ConfigMap).namespace("default").get("a").data or {})["text"] == text

        def status() -> GreetingStatus:
            return seen.lister(Greeting).namespace("default").get("a").status

        with new_manager(client):
            hello = GreetingSpec(text="Hello")
            greetings.create(Greeting(metadata=ObjectMeta(name="a"), spec=hello))
            see(seen, "create: Hello, world", lambda: says("Hello, world") and status().config_map)
            greetings.patch("a", {"spec": {"audience": "moon"}})
            see(seen, "update: Hello, moon", lambda: says("Hello, moon"))
            see(seen, "field: moved from world", lambda: status().moved_from == "world")
            before = config_maps.get("a").metadata.uid
            config_maps.delete("a")
            see(
                seen,
                "deleted by another client, and there again",
                lambda: seen.lister(ConfigMap).namespace("default").get("a").metadata.uid != before,
            )


if __name__ == "__main__":
    if "--demo" in sys.argv:
        demo()
    else:
        run_on_your_cluster(new_manager, Greeting)
