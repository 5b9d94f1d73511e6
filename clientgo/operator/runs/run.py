"""One run of an object, as it is given to the controller's work."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from clientgo.meta import ObjectName
from clientgo.observe.trace import NOT_TRACED, Syncing
from clientgo.operator.retry import RetryState, exponential
from clientgo.operator.runs.object_state import ObjectState
from clientgo.operator.runs.past_failures import FailedRun, RetryInfo
from clientgo.operator.runs.schedule import Timer, TimerKind, timer_in
from clientgo.operator.settings.durations import instant
from clientgo.util.clock import Clock
from clientgo.util.copies import uncopyable

_log = logging.getLogger("clientgo.operator.reconcile")


@uncopyable("it belongs to one run; pass on what you read from it")
class Run:
    """Says what is known of the object, and takes how the run went. For one thread at a time.

    ``lock`` guards ``state``, which other threads ask for further runs. ``sync`` shows the run to a
    tracer. ``over(run, failure)`` is called when the run is over.
    """

    __slots__ = ("_clock", "_lock", "_over", "key", "priority", "state", "sync")

    def __init__(
        self,
        key: ObjectName,
        state: ObjectState,
        clock: Clock,
        *,
        priority: int = 0,
        lock: threading.Lock | None = None,
        sync: Syncing = NOT_TRACED,
        over: Callable[[Run, BaseException | None], object] | None = None,
    ) -> None:
        self.key = key
        self.priority = priority
        self.state = state
        self.sync = sync
        self._clock = clock
        self._lock = lock or threading.Lock()
        self._over = over

    # What is known

    @property
    def rerun_pending(self) -> bool:
        """True if the object was triggered since this run began."""
        with self._lock:
            return self.state.pending

    @property
    def last_known(self) -> Any:
        """The last state of a deleted object, see :meth:`RunQueue.deleted`."""
        with self._lock:
            return self.state.seen.last_known

    @property
    def has_succeeded(self) -> bool:
        """True if an earlier run for the object has succeeded in this process."""
        with self._lock:
            return self.state.seen.has_succeeded

    def identify(self, uid: str, version: str = "") -> RetryInfo:
        """Say which object it is, in which version; return what failed before."""
        with self._lock:
            return self.state.identify(uid, version)

    def is_reported_invalid(self, generation: int) -> bool:
        """Return True if this generation was reported as invalid."""
        with self._lock:
            return self.state.seen.invalid_reported == generation

    def reported_invalid(self, generation: int) -> None:
        """Note that this generation was reported as invalid."""
        with self._lock:
            self.state.seen.invalid_reported = generation

    def is_first_abandoned(self) -> bool:
        """Return True once for each object: nothing removes its finalizer, which is reported."""
        with self._lock:
            seen = self.state.seen
            known, seen.abandoned_reported = seen.abandoned_reported, True
            return not known

    def initialised(self, generation: int) -> int:
        """Count an initialisation of a generation; return how many that makes in a row."""
        with self._lock:
            return self.state.seen.initialised(generation)

    def settled(self) -> None:
        """Note that the object needed no initialisation."""
        with self._lock:
            self.state.seen.settled()

    # How it went

    def succeeded(self, delay: float | None = None, priority: int | None = None) -> None:
        """End the run well; with ``delay`` the object runs again after so many seconds."""
        with self._lock:
            priority = self.priority if priority is None else priority
            self.state.succeeded(self._clock.monotonic(), delay, priority)

    def failed(self, failure: FailedRun, generation: int = 0) -> Timer | None:
        """End the run badly; return the timer of the next try, None if there is none."""
        now, wall = self._clock.monotonic(), self._clock.time()
        with self._lock:
            retry = self.state.failing(failure, now=now, wall=wall, generation=generation)
        if isinstance(retry, RetryState):
            delay = self._delay(retry, failure.error)
            length = None if delay is None else max(delay, failure.at_least)
            retry = None if length is None else timer_in(TimerKind.RETRY, now, length)
        with self._lock:
            return self.state.failed(retry, now, self.priority)

    def _delay(self, state: RetryState, error: Exception) -> float | None:
        """Ask the retry policy, which is the user's code: no lock is held."""
        try:
            delay = self.state.policy.delay(state, error)
            return None if delay is None else float(delay)
        except Exception:  # noqa: BLE001 - the object must be retried anyway
            _log.exception("%s: the retry policy failed; the default policy decides", self.key)
            return exponential().delay(state, error)

    def again(self) -> None:
        """End this pass; another one follows immediately."""
        with self._lock:
            self.state.again(self.priority)

    def again_after(self, delay: float) -> None:
        """However it ends, run the object again after so many seconds at the latest."""
        with self._lock:
            due = instant(self._clock.monotonic() + delay)
            self.state.trigger_at(due, self.priority)

    def over(self, failure: BaseException | None = None) -> None:
        """The run has ended; ``failure`` is what must stop the queue."""
        if self._over is not None:
            self._over(self, failure)

    def gone(self) -> None:
        """There is no such object any more; nothing is remembered of it."""
        with self._lock:
            self.state.gone = True
