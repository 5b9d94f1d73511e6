"""See a key travel: every hop on the way from the API server to the sync and back.

::

    API server ─► watch.event ─► fifo.append ─► fifo.pop ─► index.update ─► handler.call
                                                                               │
    API server ◄─ request.sent ◄─ cache.get ◄─ sync.start ◄─ queue.get ◄─ queue.add

Nothing is traced until a tracer is set; then only what is made afterwards is traced::

    from clientgo.observe.trace import Recorder, tracing

    recorder = Recorder()
    with tracing(recorder):                       # or set_tracer(recorder), and set_tracer()
        run_the_controller()
    print(*(hop.to_json() for hop in recorder.hops(key="default/x")), sep="\\n")

A tracer sees the hops in the order in which they happened, and can hold up a thread before one.
"""

from clientgo.observe.trace.chrome import ChromeTracer
from clientgo.observe.trace.hops import HOPS, Hop, hop_from_json
from clientgo.observe.trace.recorder import Recorder
from clientgo.observe.trace.sync import NOT_TRACED, Syncing, TracedSync
from clientgo.observe.trace.text import TextTracer, as_line, by_key
from clientgo.observe.trace.trace import (
    Describe,
    Described,
    Trace,
    active_trace,
    set_tracer,
    tracing,
)
from clientgo.observe.trace.tracer import Tracer

__all__ = [
    "Tracer",
    "Hop",
    "HOPS",
    "hop_from_json",
    "set_tracer",
    "tracing",
    "active_trace",
    "Trace",
    "Syncing",
    "TracedSync",
    "NOT_TRACED",
    "Describe",
    "Described",
    "Recorder",
    "TextTracer",
    "as_line",
    "by_key",
    "ChromeTracer",
]
