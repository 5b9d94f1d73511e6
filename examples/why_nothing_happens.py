"""Why is nothing happening? An operator whose objects wait, and what its debug page says of them.

``python -m examples.why_nothing_happens --demo`` asks for the pages itself and ends.
``python -m examples.why_nothing_happens`` goes on: ask with ``clientgo debug`` from another
terminal.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from clientgo.__main__ import main as clientgo
from clientgo.client import Client
from clientgo.meta import Model, ObjectMeta, Resource, resource
from clientgo.operator import Context, Manager, Result, controller
from clientgo.operator.predicates import label_selector
from clientgo.util.wait import setup_signal_handler
from examples.embedded import embedded


class ParcelSpec(Model):
    to: str = ""


@resource(group="example.com", version="v1", plural="parcels")
class Parcel(Resource):
    """Something to deliver."""

    spec: ParcelSpec = ParcelSpec()


@controller(Parcel, predicate=~label_selector("hold"), namespaces=["default"])
class Courier:
    """Delivers parcels, one at a time."""

    def __init__(self) -> None:
        self.on_the_way = threading.Event()
        self.arrived = threading.Event()
        self.waits_for_address = threading.Event()

    def reconcile(self, ctx: Context[Parcel], parcel: Parcel) -> Result:
        if not parcel.spec.to:
            self.waits_for_address.set()
            return Result.requeue(3600)
        self.on_the_way.set()
        self.arrived.wait()
        return Result.done()


@contextmanager
def working(client: Client) -> Iterator[Manager]:
    """Run an operator that is on its way with one of four parcels, until the end of the block."""
    from clientgo.testing.operator import eventually

    parcels, courier = client.resource(Parcel).namespace("default"), Courier()
    manager = Manager(client, metrics="127.0.0.1:0", debug=True, close_client_on_stop=False)
    controller = manager.register(courier)
    with manager:
        try:
            parcels.create(Parcel(metadata=ObjectMeta(name="unaddressed")))
            courier.waits_for_address.wait()
            parcels.create(Parcel(metadata=ObjectMeta(name="slow"), spec=ParcelSpec(to="Ulm")))
            courier.on_the_way.wait()
            parcels.create(Parcel(metadata=ObjectMeta(name="next"), spec=ParcelSpec(to="Bern")))
            parcels.create(Parcel(metadata=ObjectMeta(name="held", labels={"hold": ""})))
            eventually(lambda: controller.explain("default/next").has("ready"))
            eventually(lambda: controller.explain("default/held").has("predicate"))
            yield manager
        finally:
            courier.arrived.set()


KEYS = ("unaddressed", "slow", "next", "held", "lost")


if __name__ == "__main__":
    with embedded(Parcel) as client, working(client) as manager:
        if "--demo" in sys.argv:
            for key in KEYS:
                clientgo(["debug", manager.bound.metrics, f"default/{key}"])
        else:
            print(f"clientgo debug {manager.bound.metrics} default/slow", flush=True)
            setup_signal_handler().wait()
