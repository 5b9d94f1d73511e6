"""The configuration of an elector.

Promises: values with which no election can work are refused with a `ValueError` that names them.

Differs from client-go (`tools/leaderelection`, LeaderElectionConfig): a lease is released on stop
by default, after the guarded work has ended; `on_stopped_leading` gets whether this process led.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from clientgo.leaderelection.health import LeaderHealth
from clientgo.leaderelection.leadership import Leadership
from clientgo.leaderelection.locks.lock import Lock
from clientgo.leaderelection.timing import Timing


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderElectionConfig:
    """Everything that a :class:`LeaderElector` needs to know.

    ``on_started_leading`` is the guarded work: it runs in a thread of its own for as long as we
    lead, and has to return soon after the ``stop`` of the :class:`Leadership` that it is given is
    set. When it returns or raises, leadership ends. ``on_stopped_leading(led)`` is called once at
    the end of every run, also if we never led. ``on_new_leader(identity)`` is called for every
    leader that is seen, also for ourselves, and with the empty string when the lease was given up.

    ``release_on_stop`` gives the lease up once the guarded work has ended, so that another leader
    can begin immediately. The guarded work may take ``stop_timeout`` seconds to end when the
    program stops; the lease is renewed in the meantime. If it was lost there are only
    ``timing.stop_margin`` seconds.

    ``name`` stands in logs, metrics and names of threads, instead of what the lock is called.
    ``health`` is attached by :func:`run_or_raise`.
    """

    timing: Timing
    on_started_leading: Callable[[Leadership], object]
    on_stopped_leading: Callable[[bool], object]
    lock: Lock
    on_new_leader: Callable[[str], object] | None = None
    release_on_stop: bool = True
    stop_timeout: float = 30.0
    name: str = ""
    health: LeaderHealth | None = None

    def __post_init__(self) -> None:
        for part in ("on_started_leading", "on_stopped_leading", "lock"):
            if getattr(self, part) is None:
                raise ValueError(f"{part} is missing; an election needs it")
        if not self.lock.identity:
            raise ValueError(
                f"the identity of lock {self.lock.describe()} is empty; "
                "give each candidate one of its own"
            )
        if not self.stop_timeout >= 0:
            raise ValueError(f"stop_timeout must not be negative, as {self.stop_timeout} s is")
