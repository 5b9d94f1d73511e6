"""The engine of a controller: which object runs next, and when.

Promises: an object never runs in two threads at once; triggers during a run are one run more,
afterwards; an object that waits, for a retry or because a result asked for it, occupies no worker;
nothing a run raises ends a worker. What decides about the next run is in ``key_state.py``.

Does not promise one run for each trigger.

Source: controller-runtime pkg/internal/controller and its priority queue; Java Operator SDK
EventProcessor.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from clientgo.clock import REAL_CLOCK, Clock
from clientgo.meta import ObjectName
from clientgo.metrics import MetricsProvider
from clientgo.operator.durations import instant
from clientgo.operator.errors import AlreadyStartedError
from clientgo.operator.key_state import FailedRun, KeyState, RetryInfo, Timer, TimerKind, Waker
from clientgo.operator.rate_limit import RateLimit, RunWindow
from clientgo.operator.retry import RetryPolicy
from clientgo.operator.timers import Timers
from clientgo.process import SupervisedThread
from clientgo.workqueue import LOW_PRIORITY, PriorityQueue

_AGEING: Final = 0.6
"""Seconds of waiting that count as much as one level of priority: 100 levels are a minute."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What a controller decides about its runs; lengths in seconds, ``max_interval`` 0: never."""

    retry: RetryPolicy
    max_interval: float = 36000.0
    rate_limit: RateLimit | None = None


class Run:
    """One run in hand, as it is given to the controller's work. For its worker's thread only,
    except :attr:`rerun_pending`."""

    __slots__ = ("_queue", "_state", "key", "priority")

    def __init__(self, queue: RunQueue, key: ObjectName, state: KeyState, priority: int) -> None:
        self._queue = queue
        self._state = state
        self.key = key
        self.priority = priority

    @property
    def rerun_pending(self) -> bool:
        """Whether the object was triggered since this run began."""
        return self._state.pending

    def identify(self, uid: str) -> RetryInfo:
        """Say which object it is; returns what failed before."""
        with self._queue._lock:
            self._state.identify(uid)
            return self._state.retry_info(self._queue.settings.retry)

    def succeeded(self, delay: float | None = None, priority: int | None = None) -> None:
        """It worked, and wants to run again after ``delay`` seconds, if any."""
        queue, state = self._queue, self._state
        with queue._lock:
            state.succeeded(queue._clock.monotonic(), delay, queue.settings.max_interval)
            if priority is not None:
                state.timer_priority = priority
            else:
                state.timer_priority = self.priority if delay is not None else LOW_PRIORITY

    def failed(self, failure: FailedRun, generation: int = 0) -> Timer | None:
        """It failed; returns the retry that follows, None if none does."""
        queue, state = self._queue, self._state
        with queue._lock:
            state.failed(
                failure,
                queue.settings.retry,
                now=queue._clock.monotonic(),
                wall=queue._clock.time(),
                generation=generation,
                max_interval=queue.settings.max_interval,
            )
            timer = state.timer
            safe = timer is None or timer.kind is TimerKind.SAFETY
            state.timer_priority = LOW_PRIORITY if safe else self.priority
            return None if safe else timer

    def again(self, echo_version: str = "") -> None:
        """This pass is over and another follows at once; the event of our own write, known by its
        version, asks for no third."""
        queue, state = self._queue, self._state
        with queue._lock:
            if echo_version:
                state.expect_echo(echo_version)
            state.held_until = None
            state.trigger(self.priority)
            queue._states.setdefault(self.key, state)
            queue._queue.add(self.key, priority=self.priority)

    def again_after(self, delay: float) -> None:
        """However it ends, the object runs again after so many seconds at the latest."""
        self._queue.trigger(self.key, self.priority, after=delay)

    @property
    def last_known(self) -> Any:
        """The last state of an object that is gone, see :meth:`RunQueue.deleted`."""
        return self._state.last_known

    def was_told(self, generation: int) -> bool:
        """Whether users know that this generation is invalid."""
        return self._state.invalid_told == generation

    def told(self, generation: int) -> None:
        """Users know now that this generation is invalid."""
        self._state.invalid_told = generation

    def initialised(self, generation: int) -> int:
        """Count an initialisation of a generation; returns how many that makes in a row."""
        known, count = self._state.settling
        self._state.settling = (generation, count + 1 if known == generation else 1)
        return self._state.settling[1]

    def settled(self) -> None:
        """The object needed no initialisation."""
        self._state.settling = (0, 0)

    def gone(self) -> None:
        """There is no such object; nothing is remembered of it."""
        self._queue.forget(self.key)


Work: TypeAlias = Callable[[Run], object]


@dataclass(frozen=True, slots=True)
class RunQueueStatistics:
    """A run queue at one instant: objects known, ready, in a worker's hand, and with a timer,
    the first of which ends at ``next_due``."""

    known: int
    ready: int
    running: int
    waiting: int
    next_due: float | None
    exhausted: int
    paused: bool


class RunQueue:
    """Runs ``work(run)`` for triggered objects, in ``workers`` threads. Thread-safe.

    ``work`` ends by calling one of the run's methods. It handles its own failures: if it raises
    all the same, the queue stops, and ``on_crash`` is told.
    """

    def __init__(
        self,
        name: str,
        work: Work,
        settings: RunSettings,
        *,
        on_crash: Callable[[BaseException], object] | None = None,
        metrics: MetricsProvider | None = None,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self.name = name
        self.settings = settings
        self.cancelled = threading.Event()
        """Set when the queue stops; what runs should come to an end."""
        self._work = work
        self._on_crash = on_crash
        self._clock = clock
        self._lock = threading.Lock()
        self._states: dict[ObjectName, KeyState] = {}
        self._queue: PriorityQueue[ObjectName] = PriorityQueue(
            ageing=_AGEING, name=name, metrics=metrics, clock=clock
        )
        self._timers: Timers[ObjectName] = Timers(
            self._timer_due, name=f"{name}-timers", clock=clock
        )
        self._threads: list[threading.Thread] = []
        self._paused = False
        self._parked: dict[ObjectName, None] = {}
        """Objects whose turn came during a pause, in that order."""

    # What asks for runs

    def trigger(self, key: ObjectName, priority: int = 0, *, after: float = 0.0) -> None:
        """Ask for a run, at once or after so many seconds. Never blocks.

        A delayed trigger replaces the object's timer unless that is due before.
        """
        with self._lock:
            state = self._states.get(key)
            if state is None:
                state = self._states[key] = KeyState()
            if after <= 0:
                self._trigger_locked(key, state, priority)
                return
            self._trigger_after_locked(key, state, priority, after)

    def wrote_itself(self, key: ObjectName) -> tuple[int, float]:
        """Ask for a run because of the event of an own write.

        Return how many runs in a row had that cause, and how long the next one waits.
        """
        with self._lock:
            state = self._states.get(key)
            if state is None:
                state = self._states[key] = KeyState()
            wait = state.own_write_wait()
            if wait > 0:
                self._trigger_after_locked(key, state, 0, wait)
            else:
                self._trigger_locked(key, state, 0, Waker.OWN_WRITE)
            return state.self_wakes, wait

    def wake_failed(self, after: float) -> None:
        """Run every object whose last run failed, so many seconds from now at the latest."""
        with self._lock:
            due = instant(self._clock.monotonic() + after)
            for key, state in self._states.items():
                if state.last_error is not None and not state.running:
                    state.trigger_later(due, LOW_PRIORITY)
                    self._arm_locked(key, state)

    def is_echo(self, key: ObjectName, version: str) -> bool:
        """Whether an event brings nothing but our own last write; asks once for each."""
        with self._lock:
            state = self._states.get(key)
            if state is None or version not in state.echo_versions:
                return False
            state.echo_versions = tuple(v for v in state.echo_versions if v != version)
            return True

    def deleted(self, key: ObjectName, last_known: Any) -> None:
        """The object is gone; ask for a run that is given its last state."""
        with self._lock:
            state = self._states.setdefault(key, KeyState())
            state.last_known = last_known
            self._trigger_locked(key, state, 0)

    def forget(self, key: ObjectName) -> None:
        """The object is gone: forget its failures and timers. A run in hand goes on."""
        with self._lock:
            state = self._states.get(key)
            if state is not None and not state.pending:
                del self._states[key]
                self._timers.cancel(key)

    def forget_if(self, condition: Callable[[ObjectName], bool]) -> None:
        """Forget all objects that a condition holds for, those that wait in the queue too."""
        with self._lock:
            for key in [key for key in self._states if condition(key)]:
                del self._states[key]
                self._timers.cancel(key)

    # Running

    def start(self, workers: int) -> None:
        """Start so many worker threads, which have the context variables of this one.

        Raises ``AlreadyStartedError``.
        """
        with self._lock:
            if self._threads:
                raise AlreadyStartedError(f"the workers of {self.name} run already")
            self._threads = [
                SupervisedThread(
                    contextvars.copy_context().run,
                    args=(self._run,),
                    name=f"{self.name}-worker-{n}",
                    then="no run of this controller begins any more; restart this process",
                )
                for n in range(1, workers + 1)
            ]
        for thread in self._threads:
            thread.start()

    def pause(self) -> None:
        """Begin no run from now on; triggers are kept."""
        with self._lock:
            self._paused = True

    def resume(self) -> None:
        """Go on: what was triggered during the pause runs now, each object once."""
        with self._lock:
            self._paused = False
            parked, self._parked = self._parked, {}
            for key in parked:
                state = self._states.get(key)
                if state is not None:
                    self._queue.add(key, priority=state.next_priority())

    def begin_stop(self) -> None:
        """Tell runs in hand to end, begin none; does not block."""
        self.cancelled.set()

    def stop(self, timeout: float | None = None) -> list[str]:
        """Stop, wait for what is in hand, and return the names of threads that did not end."""
        self.begin_stop()
        self._timers.stop()
        self._queue.shut_down()
        deadline = None if timeout is None else self._clock.monotonic() + timeout
        for thread in self._threads:
            thread.join(None if deadline is None else max(deadline - self._clock.monotonic(), 0.0))
        return [thread.name for thread in self._threads if thread.is_alive()]

    def threads_alive(self) -> bool:
        """Whether all workers that were started still are at work."""
        return all(thread.is_alive() for thread in self._threads)

    def statistics(self) -> RunQueueStatistics:
        with self._lock:
            exhausted = sum(state.exhausted for state in self._states.values())
            known, paused = len(self._states), self._paused
        timers, queue = self._timers.statistics(), self._queue.statistics()
        return RunQueueStatistics(
            known=known,
            ready=queue.ready + timers.due,
            running=queue.processing,
            waiting=timers.waiting,
            next_due=timers.next_due,
            exhausted=exhausted,
            paused=paused,
        )

    def depths(self) -> dict[int, int]:
        """How many objects are ready, by priority."""
        return self._queue.depths()

    # Inside

    def _trigger_after_locked(
        self, key: ObjectName, state: KeyState, priority: int, after: float
    ) -> None:
        due = instant(self._clock.monotonic() + after)
        if state.running:
            state.ask_for(due, priority)
        else:
            state.trigger_later(due, priority)
            self._arm_locked(key, state)

    def _trigger_locked(
        self, key: ObjectName, state: KeyState, priority: int, waker: Waker = Waker.OTHER
    ) -> None:
        limit, first = self.settings.rate_limit, not state.pending
        state.trigger(priority, waker)
        if first and limit is not None and limit.debounce and state.held_until is None:
            state.held_until = instant(self._clock.monotonic() + float(limit.debounce))  # type: ignore[arg-type]  # checked() made it seconds
            if not state.running:
                self._arm_locked(key, state)
        elif state.held_until is None:
            self._queue.add(key, priority=priority)

    def _arm_locked(self, key: ObjectName, state: KeyState) -> None:
        """Make the object's timer that of its next look. Under the lock, so that of two threads
        the one that decides later also sets the timer later."""
        look = state.next_look()
        if look is None:
            self._timers.cancel(key)
        else:
            self._timers.set(key, look)

    def _timer_due(self, key: ObjectName) -> None:
        with self._lock:
            state = self._states.get(key)
            look = None if state is None else state.next_look()
            if state is not None and look is not None and look <= self._clock.monotonic():
                self._queue.add(key, priority=state.next_priority())

    def _run(self) -> None:
        while True:
            key, shutting_down = self._queue.get()
            if shutting_down:
                return
            try:
                self._process(key)
            except BaseException as error:
                self.begin_stop()
                if self._on_crash is None:
                    raise
                self._on_crash(error)
                return
            finally:
                self._queue.done(key)

    def _process(self, key: ObjectName) -> None:
        run = self._begin(key)
        if run is None:
            return
        state = run._state
        try:
            self._work(run)
        finally:
            with self._lock:
                state.ended()
                waits = not state.pending or state.held_until is not None
                if waits and self._states.get(key) is state:
                    self._arm_locked(key, state)

    def _begin(self, key: ObjectName) -> Run | None:
        """Take an object in hand; None if it is not its time, or nobody's any more."""
        with self._lock:
            state = self._states.get(key)
            if self.cancelled.is_set() or state is None:
                return None
            if self._paused:
                self._parked[key] = None
                return None
            now = self._clock.monotonic()
            state.held_until = self._held_until(state, now)
            if state.held_until is not None:
                self._arm_locked(key, state)
                return None
            if state.next_look() is not None:
                self._timers.cancel(key)
            return Run(self, key, state, state.begin(now))

    def _held_until(self, state: KeyState, now: float) -> float | None:
        """The instant until which a run has to wait; None if it begins now."""
        if state.held_until is not None and state.held_until > now:
            return state.held_until
        until = state.wait_until(now)
        limit = self.settings.rate_limit
        if limit is None or until is not None:
            return until
        if state.window is None:
            state.window = RunWindow()
        admitted = state.window.admits_at(now, limit)
        if admitted > now:
            return admitted
        state.window.began(now)
        return None
