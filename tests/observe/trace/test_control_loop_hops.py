"""The hops of a ControlLoop: it is traced without a word in its sync."""

from __future__ import annotations

from clientgo.api.core_v1 import ConfigMap
from clientgo.control_loop import ControlLoop
from clientgo.meta import ObjectMeta, ObjectName
from clientgo.observe.trace import Recorder, tracing
from clientgo.testing import FakeClient
from clientgo.util.wait import StopEvent
from tests.background import Background


def test_a_control_loop_shows_each_hop_and_its_requests() -> None:
    recorder, stop = Recorder(), StopEvent()
    seen = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"))
    with tracing(recorder), FakeClient(seen) as client:
        loop = ControlLoop(client, "maps")
        loop.watch(ConfigMap)

        def sync(name: ObjectName) -> float:
            client.resource(ConfigMap).namespace(name.namespace).get(name.name)
            return 60.0  # look again then

        running = Background(lambda: loop.run(sync, stop, workers=1))
        recorder.wait_for(lambda hop: hop.hop == "queue.done")
        stop.set()
        running.result()

    assert [(hop.of, hop.hop) for hop in recorder.hops(key="default/a")] == [
        ("ConfigMap", "fifo.append"),
        ("ConfigMap", "fifo.pop"),
        ("ConfigMap", "index.update"),
        ("ConfigMap", "handler.call"),
        ("maps", "queue.add"),
        ("maps", "queue.get"),
        ("maps", "sync.start"),
        ("maps", "request.sent"),
        ("maps", "request.answered"),
        ("maps", "queue.add_after"),
        ("maps", "sync.end"),
        ("maps", "queue.forget"),
        ("maps", "queue.done"),
    ]
