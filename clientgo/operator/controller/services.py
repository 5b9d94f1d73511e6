"""What a manager shares with its controllers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from clientgo.clock import Clock
from clientgo.metrics import MetricsProvider
from clientgo.operator.cache.object_cache import ObjectCache
from clientgo.operator.cache.scope import NamespaceSet
from clientgo.operator.client.cached_client import CachedClient
from clientgo.operator.metrics import MetricsSink
from clientgo.record import SeriesRecorder


@dataclass(frozen=True, slots=True)
class Services:
    """``recorder`` gives the event recorder of a controller by its name; ``crashed`` is
    called with what must stop the manager."""

    client: CachedClient
    cache: ObjectCache
    namespaces: NamespaceSet
    clock: Clock
    metrics: MetricsProvider
    recorder: Callable[[str], SeriesRecorder]
    crashed: Callable[[BaseException], object]
    values: Mapping[str, Any] = field(default_factory=dict)
    metrics_per_namespace: bool = False
    sink: MetricsSink | None = None
