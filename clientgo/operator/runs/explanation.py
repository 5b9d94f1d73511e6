"""What a run queue knows of one object, for people who ask why nothing happens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from clientgo.operator.runs.schedule import TimerKind


@dataclass(frozen=True, slots=True, kw_only=True)
class RunExplanation:
    """One object at one instant. Instants are of the clock's ``monotonic()``, as ``now`` is.

    The queue: whether its workers were ``started``, and runs are ``paused``; which objects run
    ``elsewhere``, by the instant of their beginning. The object: since when it is ``running``,
    whether something asked for a run (``pending``), when it runs next (``due``) because of which
    ``timer``, what holds it until when, and how its last runs ended.
    """

    now: float
    started: bool
    paused: bool
    idle_workers: int
    elsewhere: Mapping[str, float]
    known: bool = False
    running: float | None = None
    pending: bool = False
    due: float | None = None
    timer: TimerKind | None = None
    holds: Mapping[str, float] = field(default_factory=dict)
    attempt: int = 0
    exhausted: bool = False
    last_error: Exception | None = None
    self_wakes: int = 0
