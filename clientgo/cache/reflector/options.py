"""How a reflector lists and watches: one value that informers and reflectors take.

Both also take its fields as keyword arguments, typed by :class:`ReflectorKeywords`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, TypedDict

from clientgo.observe.metrics import MetricsProvider
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.wait import BackoffManager

SHORTEST_WATCH_TIMEOUT: Final = 300.0
"""Seconds. Each watch asks for a random time between this and twice this, so that many clients
which connected together do not all reconnect together."""


@dataclass(frozen=True, slots=True)
class ReflectorOptions:
    """Options of a reflector, and of an informer for its reflector.

    ``page_size`` replaces the choice of page sizes. A ``min_watch_timeout`` above 300 s makes
    watches last longer. For ``internal_error_window`` seconds a watch that fails with internal
    errors is reopened without a list. ``stream_initial_list`` asks servers to stream the initial
    list. ``delays`` replaces the back-off; it belongs to one reflector.
    """

    page_size: int = 0
    min_watch_timeout: float = SHORTEST_WATCH_TIMEOUT
    internal_error_window: float = 0.0
    stream_initial_list: bool = True
    delays: BackoffManager | None = None
    metrics: MetricsProvider | None = None
    clock: Clock = REAL_CLOCK


class ReflectorKeywords(TypedDict, total=False):
    """The fields of :class:`ReflectorOptions`, as keyword arguments."""

    page_size: int
    min_watch_timeout: float
    internal_error_window: float
    stream_initial_list: bool
    delays: BackoffManager | None
    metrics: MetricsProvider | None
    clock: Clock


def options_of(options: ReflectorOptions | None, keywords: ReflectorKeywords) -> ReflectorOptions:
    """Return ``options`` with the fields that are given as keywords."""
    return replace(options or ReflectorOptions(), **keywords)
