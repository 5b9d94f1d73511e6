"""Events: telling people what happened to an object, where they look for it.

::

    recorder.event(foo, "Normal", "Synced", "Foo synced")
        │ never blocks
        ▼
    broadcaster ──► queue ──► log
                └─► queue ──► correlator ──► writer ──► sink ──► API server
                              combines, counts, silences

::

    broadcaster = EventBroadcaster()
    broadcaster.start_recording_to_sink(EventSink(client))
    recorder = broadcaster.new_recorder("foo-controller")
    ...
    broadcaster.shutdown()

That is for core/v1 events. Those of events.k8s.io/v1, which name an action and a related object
and whose repetitions make a series, have a ``SeriesBroadcaster``, used in the same way.
"""

from clientgo.record.correlator import (
    CorrelatorOptions,
    CorrelatorStatistics,
    EventCorrelator,
    combined_message,
    similar_events,
    spam_by_object,
)
from clientgo.record.event_broadcaster import BroadcasterStatistics, EventBroadcaster
from clientgo.record.event_selectors import events_about
from clientgo.record.event_watch import EventWatch, EventWatchStatistics
from clientgo.record.recorder import NORMAL, WARNING, EventRecorder
from clientgo.record.references import NoReferenceError, get_partial_reference, get_reference
from clientgo.record.series.series_broadcaster import SeriesBroadcaster, SeriesStatistics
from clientgo.record.series.series_cache import same_series, same_series_and_note
from clientgo.record.series.series_recorder import SeriesRecorder
from clientgo.record.series.series_writer import EventSeriesSink, SeriesSink
from clientgo.record.sink import EventSink, Sink

__all__ = [
    # core/v1 events
    "EventBroadcaster",
    "BroadcasterStatistics",
    "EventRecorder",
    "NORMAL",
    "WARNING",
    "EventSink",
    "Sink",
    "EventWatch",
    "EventWatchStatistics",
    "EventCorrelator",
    "CorrelatorOptions",
    "CorrelatorStatistics",
    "similar_events",
    "combined_message",
    "spam_by_object",
    # events.k8s.io/v1
    "SeriesBroadcaster",
    "SeriesStatistics",
    "SeriesRecorder",
    "SeriesSink",
    "EventSeriesSink",
    "same_series",
    "same_series_and_note",
    # references and reading
    "events_about",
    "get_reference",
    "get_partial_reference",
    "NoReferenceError",
]
