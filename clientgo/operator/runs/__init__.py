"""Which object runs next, and when: queue, per-object state, deadlines.

::

    event ──► trigger ──► ObjectState ──► PriorityQueue ──► worker ──► Run ──► work
                             ▲                                          │
                             └──────── how it went: next run ◄──────────┘

``steps.py`` says what a run is, ``workers.py`` who takes its steps.
"""

from __future__ import annotations

from clientgo.operator.runs.deadlines import RunDeadlines
from clientgo.operator.runs.object_state import SELF_WAKES_WITHOUT_WAIT, ObjectState, RunSettings
from clientgo.operator.runs.past_failures import NO_FAILURE, FailedRun, RetryInfo
from clientgo.operator.runs.run import Run
from clientgo.operator.runs.run_queue import RunQueue, RunQueueStatistics
from clientgo.operator.runs.schedule import Timer, TimerKind
from clientgo.operator.runs.timers import Timers
from clientgo.operator.runs.transient import is_transient, retry_after
from clientgo.operator.runs.workers import Work

__all__ = [
    "NO_FAILURE",
    "SELF_WAKES_WITHOUT_WAIT",
    "FailedRun",
    "ObjectState",
    "RetryInfo",
    "Run",
    "RunDeadlines",
    "RunQueue",
    "RunQueueStatistics",
    "RunSettings",
    "Timer",
    "TimerKind",
    "Timers",
    "Work",
    "is_transient",
    "retry_after",
]
