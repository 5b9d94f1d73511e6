"""One task method, for all objects of its controller.

Promises that the task of an object never runs twice at the same time, and that what it raises is
logged, recorded as an Event and followed by another try. Each object is a key of a ``RunQueue``: a
timer is a run that asks to be repeated, a daemon a run that goes on for long.
"""

from __future__ import annotations

import inspect
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from clientgo.meta import ObjectName, deep_copy, metadata_of
from clientgo.operator.addons.tasks.declarations import TaskDeclaration
from clientgo.operator.context import Context
from clientgo.operator.controller.parts import Services
from clientgo.operator.errors import CancelledError
from clientgo.operator.metrics import queue_metrics
from clientgo.operator.runs import FailedRun, Run, RunQueue, RunSettings
from clientgo.operator.runs.run_fields import RunFields, logging_about
from clientgo.operator.runs.steps import raising
from clientgo.util.process import SupervisedThread, ThreadStartError
from clientgo.util.wait import StopEvent

TASK_FAILED: Final = "TaskFailed"

_UNLIMITED: Final = 2**31
"""Daemons at a time: one for each object."""

_log = logging.getLogger("clientgo.operator.addons.tasks")


class Life:
    """The task of one object, from its first run until it was stopped and has ended."""

    def __init__(self, ctx: Context[Any], obj: Any) -> None:
        self.new_context = ctx.for_tasks()
        self.uid = metadata_of(obj).uid
        self.generation = metadata_of(obj).generation
        self.stop = StopEvent()
        self.asked_at = 0.0
        """The instant at which it was asked to stop."""
        self.abandoned = False
        self.thread: threading.Thread | None = None


class ObjectTask:
    """Thread-safe. ``ended`` is called with the key of a task that was stopped and has ended."""

    def __init__(
        self,
        name: str,
        method: Callable[..., Any],
        declaration: TaskDeclaration,
        services: Services,
        read: Callable[[ObjectName], Any | None],
        ended: Callable[[ObjectName], object],
    ) -> None:
        self.name = name
        self._method = method
        self._declaration = declaration
        self._services = services
        self._read = read
        self._ended = ended
        self._is_async = inspect.iscoroutinefunction(method)
        self._goes_on = self._is_async or declaration.interval is None
        """True if a run goes on without the thread that began it."""
        self._lock = threading.Lock()
        self._lives: dict[ObjectName, Life] = {}
        self._running: dict[ObjectName, Life] = {}
        """What has begun and has not ended, also after its object is gone."""
        self._queue = RunQueue(
            name,
            RunSettings(retry=declaration.retry, max_interval=0.0),
            stopping=StopEvent(),
            ownership=services.ownership,
            on_crash=services.crashed,
            metrics=queue_metrics(name, services.metrics),
            clock=services.clock,
        )

    # The objects

    def keep(self, ctx: Context[Any], obj: Any) -> None:
        """Let the task of an object run; start it again if it has to be."""
        key, metadata = ctx.key, metadata_of(obj)
        with self._lock:
            life = self._lives.get(key)
            changed = self._declaration.restart_on_change and life is not None
            if (
                life is not None
                and life.uid == metadata.uid
                and not (changed and life.generation != metadata.generation)
            ):
                return
            if self._queue.cancelled.is_set():
                return
            self._lives[key] = started = Life(ctx, obj)
        if life is not None:
            self._end(life)
            self._queue.forget(key)
        ownership = self._services.ownership
        if ownership is not None and not ownership.owns(key):
            # The shard is being given up while this run ends: its next owner starts the task.
            with self._lock:
                if self._lives.get(key) is started:
                    del self._lives[key]
            return
        self._queue.trigger(key)

    def stop(self, key: ObjectName) -> float:
        """End the task of an object; return how many seconds its end may still take, 0 if it has
        ended or is waited for no longer."""
        with self._lock:
            life = self._lives.pop(key, None)
            running = self._running.get(key)
        if life is not None:
            self._end(life)
            self._queue.forget(key)
        if running is None or running.abandoned:
            return 0.0
        waited = self._services.clock.monotonic() - running.asked_at
        left = self._declaration.stop_timeout - waited
        if left > 0:
            return left
        running.abandoned = True
        _log.error(
            "%s %s: has not ended within %g s and is left behind; it has to end when ctx.cancelled "
            "is set%s",
            self.name,
            key,
            self._declaration.stop_timeout,
            _stack_of(running.thread),
        )
        return 0.0

    def forget_if(self, condition: Callable[[ObjectName], bool]) -> None:
        """End the tasks of objects that a condition holds for, without waiting for them."""
        with self._lock:
            keys = [key for key in self._lives if condition(key)]
        for key in keys:
            self.stop(key)

    def running(self) -> int:
        """Return how many have begun and have not ended."""
        with self._lock:
            return len(self._running)

    # All of them

    def start(self) -> None:
        daemons = self._declaration.interval is None
        at_a_time = _UNLIMITED if daemons else self._declaration.workers
        self._queue.start(self._work, at_a_time, threads=1 if self._goes_on else None)

    def begin_stop(self) -> None:
        """Tell all to end; does not block."""
        self._queue.begin_stop()
        with self._lock:
            lives = [*self._lives.values(), *self._running.values()]
            self._lives.clear()
        for life in lives:
            self._end(life)

    def wait_stopped(self, timeout: float | None) -> bool:
        """Block until all have ended, for so many real seconds; log what has not."""
        began = time.monotonic()
        if not self._queue.stop(timeout):
            return True
        with self._lock:
            running = dict(self._running)
        for key, life in running.items():
            _log.warning(
                "%s %s: has not ended %.0f s after it was asked to; it has to end when "
                "ctx.cancelled is set%s",
                self.name,
                key,
                time.monotonic() - began,
                _stack_of(life.thread),
            )
        return False

    # Running

    def _end(self, life: Life) -> None:
        if not life.stop.is_set():
            life.asked_at = self._services.clock.monotonic()
            life.stop.set()

    def _work(self, run: Run) -> None:
        obj = self._read(run.key)
        with self._lock:
            life = None if obj is None else self._lives.get(run.key)
            if life is not None:
                self._running[run.key] = life
        if life is None:
            run.gone()
            if self._goes_on:
                run.over()
            return
        ctx = life.new_context(run, life.stop)
        ctx.obj = deep_copy(obj)
        ctx.retry = run.identify(life.uid)
        fields = RunFields(self.name, ctx.primary, run.key, lambda: ctx.reconcile_id, obj=ctx.obj)
        with logging_about(fields):
            if self._is_async:
                self._services.event_loop().start(
                    f"{self.name} {run.key}",
                    self._method(ctx, ctx.obj),
                    partial(self._over, run, ctx, life),
                    life.stop,
                )
            elif self._goes_on:
                self._start_thread(run, ctx, life, fields)
            else:
                life.thread = threading.current_thread()
                self._finish(run, ctx, life, partial(self._method, ctx, ctx.obj))

    def _start_thread(self, run: Run, ctx: Context[Any], life: Life, fields: RunFields) -> None:
        try:
            life.thread = SupervisedThread.started(
                self._in_thread,
                args=(run, ctx, life, fields),
                name=f"{self.name} {run.key}",
                then="the task of this object does not run; restart this process",
            )
        except ThreadStartError as error:
            self._over(run, ctx, life, raising(error))

    def _in_thread(self, run: Run, ctx: Context[Any], life: Life, fields: RunFields) -> None:
        with logging_about(fields):
            self._over(run, ctx, life, partial(self._method, ctx, ctx.obj))

    def _over(self, run: Run, ctx: Context[Any], life: Life, call: Callable[[], object]) -> None:
        failure: BaseException | None = None
        try:
            self._finish(run, ctx, life, call)
        except BaseException as error:  # noqa: BLE001 - the manager stops, and raises it
            failure = error
        run.over(failure)

    def _finish(self, run: Run, ctx: Context[Any], life: Life, call: Callable[[], object]) -> None:
        """Call the method, or take its outcome, and note what follows."""
        try:
            call()
        except Exception as error:  # noqa: BLE001 - it is called again
            if not life.stop.is_set():
                self._failed(run, ctx, error)
            elif not isinstance(error, CancelledError):
                _log.warning("%s %s: failed when it was stopped: %s", self.name, run.key, error)
        else:
            run.succeeded(self._declaration.interval)
        finally:
            with self._lock:
                self._running.pop(run.key, None)
            if life.stop.is_set():
                run.gone()
                self._ended(run.key)

    def _failed(self, run: Run, ctx: Context[Any], error: Exception) -> None:
        generation = metadata_of(ctx.obj).generation
        retry = run.failed(FailedRun(error, obj=ctx.obj), generation)
        now = self._services.clock.monotonic()
        then = "does not start again" if retry is None else f"starts in {retry.due - now:.3g} s"
        ctx.events.warning(TASK_FAILED, f"{self.name}: {error}")
        _log.warning(
            "%s %s: failed and %s: %s: %s",
            self.name,
            run.key,
            then,
            type(error).__name__,
            error,
            exc_info=error if ctx.retry.last_error is None else None,
        )


def _stack_of(thread: threading.Thread | None) -> str:
    """Return the stack of a thread for a log line; nothing for a coroutine."""
    if thread is None or thread.ident not in (frames := sys._current_frames()):
        return ""
    return ":\n" + "".join(traceback.format_stack(frames[thread.ident])).rstrip()
