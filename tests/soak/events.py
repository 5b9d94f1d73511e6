"""A recorder of events: each event is accounted for."""

from __future__ import annotations

import random
import threading
import time

from clientgo.api.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta
from clientgo.record import NORMAL, EventBroadcaster, EventSink
from tests.soak.clients import STOP_BOUND, SoakClient
from tests.soak.world import World


class Recorder(SoakClient):
    """Records events all the time; each must be accounted for."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._stop = threading.Event()
        self._rng = random.Random(world.rng.random())
        self._broadcaster = EventBroadcaster(retry_interval=0.2)
        self._broadcaster.start_recording_to_sink(EventSink(world.client("events")))
        self._recorder = self._broadcaster.new_recorder("soak")
        self._published = 0
        self._pause = threading.Event()
        world.findings.track(self._broadcaster)
        self._thread = threading.Thread(target=self._record, daemon=True)
        self._thread.start()

    def _record(self) -> None:
        rng = self._rng
        while not self._stop.wait(0.01):
            name = f"configmap-{rng.randrange(30)}"
            about = ConfigMap(metadata=ObjectMeta(name=name, namespace="default", uid=name))
            self._recorder.event(about, NORMAL, f"Reason{rng.randrange(3)}", f"{rng.randrange(5)}")
            self._published += 1

    def problem(self) -> str:
        counts = self._broadcaster.statistics()
        ended = counts.written + counts.silenced + counts.given_up + counts.dropped
        if self._published - ended - counts.pending > 3:
            return f"events are lost: {self._published} published, {counts}"
        return f"events wait: {counts}" if counts.pending > 20 else ""

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(10)
        began = time.monotonic()
        self._broadcaster.shutdown()
        if time.monotonic() - began > STOP_BOUND:
            self._world.findings.fail("the recorder does not stop", "")
        counts = self._broadcaster.statistics()
        ended = counts.written + counts.silenced + counts.given_up + counts.dropped + counts.pending
        if ended != self._published:
            self._world.findings.fail("events are lost", f"{self._published}, {counts}")
        self._world.findings.count("events recorded", self._published)
