"""Events about an object, as ``kubectl describe`` shows them: new ones, and one that repeats.

Run it on an API server of its own::

    clientgo apiserver -- python examples/events.py
"""

import sys

from clientgo.api.core_v1 import ConfigMap, Event
from clientgo.api.events_v1 import Event as SeriesEvent
from clientgo.client import Client
from clientgo.meta import ListOptions, ObjectMeta
from clientgo.record import (
    NORMAL,
    WARNING,
    EventBroadcaster,
    EventSeriesSink,
    EventSink,
    SeriesBroadcaster,
)

with Client(sys.argv[1] if len(sys.argv) > 1 else None) as client:
    config_map = client.resource(ConfigMap).create(
        ConfigMap(metadata=ObjectMeta(generate_name="talked-about-", namespace="default"))
    )
    about = ListOptions(field_selector=f"involvedObject.uid={config_map.metadata.uid}")

    broadcaster = EventBroadcaster()
    broadcaster.start_recording_to_sink(EventSink(client))
    recorder = broadcaster.new_recorder("events-example")
    recorder.event(config_map, NORMAL, "Created", "it is there")
    for _ in range(3):
        recorder.eventf(config_map, WARNING, "TooSmall", "only %d bytes", 12)
    broadcaster.shutdown()  # writes what still waits

    for event in client.resource(Event).namespace("default").list(about).items:
        print(f"{event.type} {event.reason} x{event.count}: {event.message}")
    print(f"{broadcaster.statistics().dropped} dropped")

    series = SeriesBroadcaster(EventSeriesSink(client))
    for _ in range(3):
        series.new_recorder("example.com/events").eventf(
            config_map, None, NORMAL, "Looked", "Looking", "nothing to see"
        )
    series.shutdown()

    for found in client.resource(SeriesEvent).namespace("default").list().items:
        if found.action == "Looking" and found.regarding.uid == config_map.metadata.uid:
            count = found.series.count if found.series else 1
            print(f"{found.action} by {found.reporting_controller}: {count} times so far")
