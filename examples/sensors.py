"""Tasks that live as long as an object: each sensor is listened to, and asked now and then.

A ``Sensor`` publishes readings on a topic of a message broker. A daemon, which is a coroutine,
listens to that topic while the object exists, and writes each reading into its status; a change of
the topic starts it again. A timer asks the sensor for a reading. The broker is a stand-in for one
like MQTT.

``python -m examples.sensors --demo`` runs on an API server of its own.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from clientgo.client import Client
from clientgo.meta import Model, ObjectMeta, Resource, resource
from clientgo.operator import Context, Manager, controller
from clientgo.operator.addons.tasks import daemon, timer
from examples.embedded import embedded, manager_of, see


class SensorSpec(Model):
    """Where the sensor is."""

    topic: str = ""


class SensorStatus(Model):
    """What it said last."""

    topic: str = ""
    reading: int = 0


@resource(group="example.com", version="v1", plural="sensors")
class Sensor(Resource):
    """A thing that measures."""

    spec: SensorSpec = SensorSpec()
    status: SensorStatus | None = None


class Broker:
    """Passes readings from sensors to listeners. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[str, tuple[asyncio.AbstractEventLoop, asyncio.Queue[int]]] = {}
        self._readings: dict[str, int] = {}

    @contextmanager
    def listening(self, topic: str) -> Iterator[asyncio.Queue[int]]:
        """Give a coroutine the readings of a topic, until the end of the block."""
        readings: asyncio.Queue[int] = asyncio.Queue()
        with self._lock:
            self._listeners[topic] = asyncio.get_running_loop(), readings
        try:
            yield readings
        finally:
            with self._lock:
                del self._listeners[topic]

    def topics(self) -> list[str]:
        """The topics with a listener."""
        with self._lock:
            return sorted(self._listeners)

    def ask(self, topic: str) -> None:
        """Let the sensor of a topic publish a reading."""
        with self._lock:
            reading = self._readings[topic] = self._readings.get(topic, 0) + 1
            if topic in self._listeners:
                loop, readings = self._listeners[topic]
                loop.call_soon_threadsafe(readings.put_nowait, reading)


@controller(Sensor)
class SensorReconciler:
    """Keeps what it listens to in step with the sensors that there are."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def reconcile(self, ctx: Context[Sensor], sensor: Sensor) -> None:
        """Nothing to do: the tasks do it."""

    @daemon(restart_on_change=True)
    async def listen(self, ctx: Context[Sensor], sensor: Sensor) -> None:
        topic = sensor.spec.topic
        with self._broker.listening(topic) as readings:
            while True:
                status = {"topic": topic, "reading": await readings.get()}
                await ctx.aclient.status.patch(sensor, {"status": status})

    @timer(interval=0.2)
    def ask(self, ctx: Context[Sensor], sensor: Sensor) -> None:
        self._broker.ask(sensor.spec.topic)


def new_manager(client: Client, broker: Broker) -> Manager:
    manager = manager_of(client, "sensors")
    manager.register(SensorReconciler(broker))
    return manager


def demo() -> None:
    from clientgo.testing.observer import Observer

    broker = Broker()
    with embedded(Sensor) as client, Observer(client, Sensor) as seen, new_manager(client, broker):
        sensors = client.resource(Sensor).namespace("default")
        lister = seen.lister(Sensor).namespace("default")

        def status() -> SensorStatus:
            return lister.get("door").status or SensorStatus()

        sensors.create(Sensor(metadata=ObjectMeta(name="door"), spec=SensorSpec(topic="house/1")))
        see(seen, "the sensor is asked, and its reading is in the status", lambda: status().reading)
        see(seen, "it is asked again and again", lambda: status().reading >= 3)
        sensors.patch("door", {"spec": {"topic": "house/2"}})
        see(seen, "it moves, and is listened to there", lambda: status().topic == "house/2")
        print(f"listening to {broker.topics()}")
        sensors.delete("door")
        see(seen, "the object is gone", lambda: not lister.list())
        print(f"listening to {broker.topics()}")


if __name__ == "__main__":
    if sys.argv[1:] != ["--demo"]:
        sys.exit("usage: python -m examples.sensors --demo")
    demo()
