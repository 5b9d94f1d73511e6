"""The engine of a controller: which object runs next, and when.

Promises that an object never runs twice at the same time, that triggers during a run are one more
run afterwards, that an object which waits occupies no worker, and that an exception of a run ends
no worker. Several triggers may be one run. ``object_state.py`` decides when an object runs next;
the order is that of one ``PriorityQueue``. Before the start objects only wait: none gains by it,
and those that are gone are forgotten.

Source: controller-runtime pkg/internal/controller and its priority queue; Java Operator SDK
EventProcessor.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from clientgo.meta import ObjectName
from clientgo.observe.metrics import MetricsProvider
from clientgo.operator.errors import AlreadyStartedError
from clientgo.operator.runs.object_state import ObjectState, RunSettings
from clientgo.operator.runs.run import Run
from clientgo.operator.runs.workers import AsyncWorkers, ThreadWorkers, Work, Workers
from clientgo.operator.settings.durations import instant
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable
from clientgo.workqueue import LOW_PRIORITY, PriorityQueue

if TYPE_CHECKING:
    from clientgo.operator.runs.explanation import RunExplanation
    from clientgo.sharding import Deletions, Ownership

_AGEING: Final = 0.6
"""Seconds of waiting that count as much as one level of priority: 100 levels are a minute."""


@dataclass(frozen=True, slots=True)
class RunQueueStatistics:
    """A run queue at one instant: objects known, ready, running, and with a timer, the first of
    which ends at ``next_due``."""

    known: int
    ready: int
    running: int
    waiting: int
    next_due: float | None
    exhausted: int
    paused: bool


@uncopyable("it has locks; make one in each process")
class RunQueue:
    """Runs the work of :meth:`start` for triggered objects. Thread-safe.

    ``work(run)`` ends by calling one of the run's methods. It handles its own failures: if it
    raises anyway, the queue stops, and ``on_crash`` is called with the error.
    """

    def __init__(
        self,
        name: str,
        settings: RunSettings,
        *,
        stopping: threading.Event | None = None,
        ownership: Ownership[ObjectName] | None = None,
        on_crash: Callable[[BaseException], object] | None = None,
        metrics: MetricsProvider | None = None,
        fair_by: Callable[[ObjectName], str] | None = None,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self.name = name
        self.settings = settings
        self.cancelled = stopping or threading.Event()
        """Set when the queue stops: runs should end."""
        self._on_crash = on_crash
        self._clock = clock
        self._ownership = ownership
        self._deletions: Deletions[ObjectName] | None = None
        if ownership is not None:
            from clientgo.sharding import Deletions  # for those who share the work

            self._deletions = Deletions(clock=clock)
        self._lock = threading.Lock()
        """Taken before that of the queue below."""
        self._states: dict[ObjectName, ObjectState] = {}
        self._queue: PriorityQueue[ObjectName] = PriorityQueue(
            ageing=_AGEING, fair_by=fair_by, name=name, metrics=metrics, clock=clock
        )
        self._workers: Workers | None = None
        self._changed: dict[ObjectName, None] = {}
        """Objects that changed before the start, the newest change last."""
        self._paused = False
        self._held: Callable[[ObjectName], bool] | None = None
        self._parked: dict[ObjectName, None] = {}
        """Objects whose turn came while they may not run, in that order."""

    # What asks for runs

    def trigger(self, key: ObjectName, priority: int = 0, *, after: float = 0.0) -> None:
        """Ask for a run, now or after so many seconds. Never blocks.

        A delayed trigger replaces the object's timer unless that is due before. An object that
        another process owns is left to that.
        """
        if self._ownership is not None and not self._ownership.owns(key):
            return
        now = self._clock.monotonic()
        with self._lock:
            state = self._state_locked(key)
            if after <= 0:
                state.trigger(now, priority)
            else:
                state.trigger_at(instant(now + after), priority)
            self._schedule_locked(key, state, now)

    def note_change(self, key: ObjectName) -> None:
        """Note that a run was asked for because of a change. Of what waits at the start the newest
        change runs first: the last leader may not have seen it."""
        if not self.has_started:
            with self._lock:
                if key in self._states:
                    self._changed.pop(key, None)
                    self._changed[key] = None

    def wrote_itself(self, key: ObjectName, version: str) -> tuple[int, float]:
        """Ask for a run because of the event of a write that the last run made.

        Return how many runs in a row had that cause, and how long the next one has to wait.
        """
        now = self._clock.monotonic()
        with self._lock:
            state = self._state_locked(key)
            wait = state.own_write(now, version)
            self._schedule_locked(key, state, now)
            return state.wakes.own_in_a_row, wait or 0.0

    def wake_failed(self, after: float) -> None:
        """Run every object whose last run failed, so many seconds from now at the latest."""
        now = self._clock.monotonic()
        with self._lock:
            for key, state in self._states.items():
                if state.last_error is not None and not state.running:
                    state.trigger_at(instant(now + after), LOW_PRIORITY)
                    self._schedule_locked(key, state, now)

    def note_deleted(self, key: ObjectName, last_known: Any = None) -> None:
        """The object is gone, which :meth:`recall` may have to tell a run."""
        if self._deletions is not None:
            self._deletions.note(key, last_known)

    def recall(self, condition: Callable[[ObjectName], bool]) -> None:
        """Ask for runs of objects, now this process's, that were deleted before."""
        for key, last_known in self._deletions.select(condition) if self._deletions else ():
            if last_known is None:
                self.trigger(key)
            else:
                self.deleted(key, last_known)

    def deleted(self, key: ObjectName, last_known: Any) -> None:
        """The object is gone; ask for a run that is given its last state."""
        if self._ownership is not None and not self._ownership.owns(key):
            return
        now = self._clock.monotonic()
        with self._lock:
            state = self._state_locked(key)
            state.seen.last_known = last_known
            state.trigger(now, 0)
            self._schedule_locked(key, state, now)

    def forget(self, key: ObjectName) -> None:
        """The object is gone: forget its failures and timers. A current run continues."""
        with self._lock:
            state = self._states.get(key)
            if state is None:
                return
            if not state.pending or self._workers is None:
                self._forget_locked(key)
                return
            # Perhaps for an object of that name that is there again: it must not wait for the
            # failures of the old one.
            state.start_over()
            self._schedule_locked(key, state, self._clock.monotonic())

    def forget_if(self, condition: Callable[[ObjectName], bool]) -> None:
        """Forget all objects that a condition holds for, those that are ready too."""
        with self._lock:
            for key in [key for key in self._states if condition(key)]:
                self._forget_locked(key)

    # Running

    def start(self, work: Work, workers: int, *, threads: int | None = None) -> None:
        """Run so many objects at a time, each in a thread of its own.

        With ``threads`` so many begin the runs, and ``work`` only begins them: ``run.over()`` ends
        them. The threads have the context variables of this one. Raises ``AlreadyStartedError``.
        """
        with self._lock:
            if self._workers is not None:
                raise AlreadyStartedError(f"the workers of {self.name} run already")
            made: Workers = (
                ThreadWorkers(self, work, workers)
                if threads is None
                else AsyncWorkers(self, work, threads, at_a_time=workers)
            )
            self._workers = made
            try:
                self._schedule_all_locked()
                made.start()
            except BaseException:
                self._workers = None
                raise

    def pause(self) -> None:
        """Begin no run from now on; triggers are kept."""
        with self._lock:
            self._paused = True

    def resume(self) -> None:
        """Go on: what was triggered during the pause runs now, each object once."""
        with self._lock:
            self._paused = False
            self._schedule_parked_locked()

    def hold(self, condition: Callable[[ObjectName], bool] | None) -> None:
        """Begin no run of objects that a condition holds for; None lets all run again, once each.

        ``condition`` is called with the queue's lock held.
        """
        with self._lock:
            self._held = condition
            self._schedule_parked_locked()

    def begin_stop(self) -> None:
        """Tell current runs to end, begin none; does not block."""
        self.cancelled.set()

    def stop(self, timeout: float | None = None) -> list[str]:
        """Stop, wait for current runs, and return the names of threads that did not end, and of
        objects that still run without one."""
        self.begin_stop()
        self._queue.shut_down()
        return [] if self._workers is None else self._workers.stop(timeout)

    @property
    def has_started(self) -> bool:
        """True from the start of the workers on; before it, triggers only wait."""
        return self._workers is not None

    def threads_alive(self) -> bool:
        """Return True if all workers that were started still work."""
        return self._workers is None or self._workers.are_alive()

    def statistics(self) -> RunQueueStatistics:
        with self._lock:
            exhausted = sum(state.exhausted for state in self._states.values())
            known, paused = len(self._states), self._paused
            before = None if self._workers else sum(s.pending for s in self._states.values())
        queue = self._queue.statistics()
        due = queue.next_due is not None and queue.next_due <= self._clock.monotonic()
        return RunQueueStatistics(
            known=known,
            ready=queue.ready + due if before is None else before,
            running=queue.processing,
            waiting=queue.delayed,
            next_due=queue.next_due,
            exhausted=exhausted,
            paused=paused,
        )

    def running(self) -> dict[ObjectName, float]:
        """Return the objects that run now, and the instants at which their runs began."""
        with self._lock:
            return {key: state.began_at for key, state in self._states.items() if state.running}

    def explain(self, key: ObjectName) -> RunExplanation:
        """Return what is known of an object right now."""
        from clientgo.operator.runs.explanation import RunExplanation  # for those who ask

        now, elsewhere = self._clock.monotonic(), self.running()
        elsewhere.pop(key, None)
        idle = self._queue.statistics().idle_getters
        with self._lock:
            queue: dict[str, Any] = {
                "now": now,
                "started": self._workers is not None,
                "paused": self._must_wait_locked(key),
                "idle_workers": idle,
                "elsewhere": {str(other): began for other, began in elsewhere.items()},
            }
            state = self._states.get(key)
            if state is None:
                return RunExplanation(**queue)
            following = None if state.running else state.next_run(now)
            return RunExplanation(
                **queue,
                known=True,
                running=state.began_at if state.running else None,
                pending=state.pending,
                due=None if following is None else following[0],
                timer=None if state.timer is None else state.timer.kind,
                holds={} if state.running else state.holds(now),
                attempt=state.retry_info().attempt,
                exhausted=state.exhausted,
                last_error=state.last_error,
                self_wakes=state.wakes.own_in_a_row,
            )

    def depths(self) -> dict[int, int]:
        """How many objects are ready, by priority."""
        with self._lock:
            if self._workers is not None:
                return self._queue.depths()
            waiting = (state for state in self._states.values() if state.pending)
            return Counter(state.wakes.priority for state in waiting)

    # What the workers call

    def begin(self, over: Callable[[Run, BaseException | None], object]) -> Run | None:
        """Block for the next run and begin it; return None at the stop.

        ``run.over()`` calls ``over``, which has to call :meth:`end`.
        """
        while True:
            key, shutting_down = self._queue.get()
            if shutting_down:
                return None
            try:
                run = self._begin(key, over)
            except BaseException as error:  # noqa: BLE001 - the manager stops, and raises it
                self._queue.done(key)
                self._crash(error)
                return None
            if run is not None:
                return run
            self._queue.done(key)

    def end(self, run: Run, failure: BaseException | None) -> None:
        """Take a run back; with a ``failure`` the queue stops."""
        try:
            try:
                self._end(run, failure)
            except BaseException as error:  # noqa: BLE001 - the manager stops, and raises it
                failure = failure or error
            if failure is not None:
                self._crash(failure)
        finally:
            self._queue.done(run.key)

    # Inside

    def _state_locked(self, key: ObjectName) -> ObjectState:
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = ObjectState(self.settings)
        return state

    def _schedule_locked(self, key: ObjectName, state: ObjectState, now: float) -> None:
        """Give the queue the object's next run. Under the lock, so that of two threads the one
        that decides later also schedules later."""
        if state.running or self._workers is None:
            return  # until the run has ended, or the start
        following = state.next_run(now)
        if following is None:
            self._queue.unschedule(key)
        else:
            self._queue.schedule(key, following[0], priority=following[1])

    def _schedule_all_locked(self) -> None:
        """List what waits, the newest change first."""
        changed, self._changed = self._changed, {}
        now = self._clock.monotonic()
        for key in dict.fromkeys((*reversed(changed), *self._states)):
            if key in self._states:
                self._schedule_locked(key, self._states[key], now)

    def _must_wait_locked(self, key: ObjectName) -> bool:
        return self._paused or (self._held is not None and self._held(key))

    def _schedule_parked_locked(self) -> None:
        parked, self._parked = self._parked, {}
        now = self._clock.monotonic()
        for key in parked:
            state = self._states.get(key)
            if state is not None:
                self._schedule_locked(key, state, now)

    def _forget_locked(self, key: ObjectName) -> None:
        del self._states[key]
        self._changed.pop(key, None)
        self._queue.unschedule(key)

    def _crash(self, error: BaseException) -> None:
        """Stop; raise the error if only the log of the thread can have it."""
        self.begin_stop()
        if self._on_crash is None:
            raise error
        self._on_crash(error)

    def _begin(
        self, key: ObjectName, over: Callable[[Run, BaseException | None], object]
    ) -> Run | None:
        """Begin a run of an object whose turn it is, unless that has changed."""
        with self._lock:
            state = self._states.get(key)
            if self.cancelled.is_set() or state is None:
                return None
            if self._must_wait_locked(key):
                self._parked[key] = None
                return None
            now = self._clock.monotonic()
            if not state.is_due(now):
                # It was ready for an object that has been forgotten since.
                self._schedule_locked(key, state, now)
                return None
            if self._ownership is not None and not self._ownership.begin(key):
                self._forget_locked(key)
                return None
            priority = state.begin(now)
        sync = self._queue.syncing(key)
        sync.begin()
        return Run(
            key, state, self._clock, priority=priority, lock=self._lock, sync=sync, over=over
        )

    def _end(self, run: Run, failure: BaseException | None) -> None:
        key, state = run.key, run.state
        run.sync.end(failure or state.last_error)
        try:
            with self._lock:
                state.ended()
                if self._states.get(key) is not state:
                    return
                if state.gone and not state.wakes.pending:
                    self._forget_locked(key)
                else:
                    now = self._clock.monotonic() if state.wakes.pending else 0.0
                    self._schedule_locked(key, state, now)
        finally:
            if self._ownership is not None:
                self._ownership.end(key)
