"""Sources: where the events of a controller come from, of the cluster and from elsewhere.

::

    Source ──emit(event)──► predicate ──► mapper ──► keys ──► the controller's queue
           ──enqueue(key)──────────────────────────►
"""

from clientgo.operator.sources.inbound import (
    ChannelSource,
    FunctionSource,
    InboundSource,
    channel,
    func,
    inbound,
)
from clientgo.operator.sources.kind_source import KindSource, owned, watch
from clientgo.operator.sources.source import Sink, Source, SourceContext

__all__ = [
    "Source",
    "SourceContext",
    "Sink",
    "watch",
    "owned",
    "inbound",
    "channel",
    "func",
    "KindSource",
    "InboundSource",
    "ChannelSource",
    "FunctionSource",
]
