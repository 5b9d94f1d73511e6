"""Delivers notifications to one handler, in a thread of its own.

Promises: calls come one at a time, in order, without a lock held. A call that fails is logged and
counted, and the next one follows. The backlog has no bound unless notifications are coalesced;
statistics and a high-water callback show it.

Differs from client-go (``tools/cache`` processorListener): one thread instead of two. A failing
handler does not end the process, and its initial items count as handled.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from clientgo.cache.informer.handlers import ResourceEventHandler
from clientgo.cache.informer.notifications import (
    Backlog,
    Chunk,
    CoalescingBacklog,
    Kind,
    Notification,
    subject_of,
)
from clientgo.cache.queues.done_checker import SingleFileTracker
from clientgo.cache.store.keys import key_for_report
from clientgo.util.clock import Clock
from clientgo.util.process import SupervisedThread

_log = logging.getLogger("clientgo.cache.listener")

LOG_FAILURES_EVERY: Final = 1.0
"""Seconds; a handler that fails for every object of a large list must not fill the disk."""

MANY_WAITING: Final = 1024
"""Slow calls are logged when more notifications than this wait, as in client-go."""

SLOW_CALL: Final = 0.1
"""Seconds, as in client-go. A handler that only enqueues a key takes a thousandth of that."""


@dataclass(frozen=True, slots=True)
class HighWater:
    """Call ``tell`` with the backlog when it reaches ``mark``, and again after it has been empty.

    ``tell`` runs in the thread that feeds all handlers, with no lock held, and must be quick.
    """

    mark: int
    tell: Callable[[int], object]


@dataclass(frozen=True, slots=True)
class ListenerStatistics:
    """A handler's deliveries at one instant.

    ``backlog`` includes the call in progress, ``delivered`` counts the calls that have ended,
    those that ``failed`` included.
    """

    name: str
    backlog: int
    delivered: int
    failed: int
    last_error: BaseException | None


class Listener:
    """The delivery to one handler; ``coalesce`` merges what waits for each object."""

    def __init__(
        self,
        handler: ResourceEventHandler[Any],
        *,
        name: str,
        clock: Clock,
        coalesce: bool = False,
        high_water: HighWater | None = None,
    ) -> None:
        self.tracker: Final = SingleFileTracker(name)
        self._handler = handler
        self._timed_handler = SlowCallLog(handler, name, clock)
        self._name = name
        self._clock = clock
        self._high_water = high_water
        self._changed = threading.Condition(threading.Lock())
        self._waiting = CoalescingBacklog() if coalesce else Backlog()
        self._taken = 0
        self._delivered = 0
        self._failed = 0
        self._last_error: BaseException | None = None
        self._is_high = False
        self._is_closed = False
        self._has_ended = False
        self._called_for: Notification | None = None
        """The last call to the handler, for the report when it blocks."""
        self._thread: threading.Thread | None = None
        self._quiet_until = 0.0
        self._unlogged = 0

    def start(self) -> None:
        """Start to deliver, in a thread of its own, unless it was closed before."""
        if not self._is_closed:
            thread = self.new_thread()
            thread.start()
            self.started(thread)

    def new_thread(self) -> SupervisedThread:
        """Return the thread that will deliver, for `start_threads`."""
        return SupervisedThread(
            self._run, name=self._name, then="the handler is not called any more"
        )

    def started(self, thread: SupervisedThread) -> None:
        """Note the thread that delivers from now on, until :meth:`close`."""
        self._thread = thread

    def hand_over(self, chunk: Chunk) -> bool:
        """Queue notifications. Does not wait for the handler and calls no user code.

        Return True if the backlog has just passed its high-water mark.
        """
        with self._changed:
            if self._is_closed:
                return False
            if chunk.initial:
                self.tracker.start(chunk.initial)
            self._waiting.append(chunk)
            self._changed.notify_all()
            if self._high_water is None or self._is_high:
                return False
            self._is_high = self._backlog_locked() >= self._high_water.mark
            return self._is_high

    def report_high_water(self) -> None:
        """Report that the backlog has passed its mark."""
        backlog = self.statistics().backlog
        _log.warning("%s: %d notifications wait for the handler", self._name, backlog)
        try:
            if self._high_water is not None:
                self._high_water.tell(backlog)
        except Exception:  # noqa: BLE001 - it must not stop what feeds the other handlers
            _log.exception("%s: the high-water callback failed", self._name)

    def close(self) -> None:
        """Deliver nothing more. Does not wait for the call in progress. Idempotent."""
        with self._changed:
            self._is_closed = True
            self._waiting.take()
            self._changed.notify_all()

    def join(self, deadline: float | None = None) -> None:
        """Wait until the thread has ended, after :meth:`close`.

        Gives up at ``deadline``, an instant of the clock, and logs which handler did not return
        and for which object. Its thread ends when the handler returns, and not before. Does not
        wait for a thread that never started, nor in the handler's own thread.
        """
        thread = self._thread
        if thread is None or self.is_here():
            return
        with self._changed:
            while not self._has_ended:
                if deadline is not None and self._clock.monotonic() >= deadline:
                    blocked = self._called_for
                    break
                self._clock.wait_until(self._changed, deadline)
        if self._has_ended:
            thread.join()
        else:
            self._report_blocked(blocked)

    def is_here(self) -> bool:
        """Return True in its thread, that is in a call of its handler."""
        return self._thread is threading.current_thread()

    def is_alive(self) -> bool:
        """Return True while its thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def wait_until_idle(self, timeout: float | None = None) -> bool:
        """Block until everything handed over so far has been handled, or dropped by a close.

        Return False after ``timeout`` real seconds. Must not be called by the handler.
        """
        with self._changed:
            return self._changed.wait_for(lambda: not self._backlog_locked(), timeout)

    def statistics(self) -> ListenerStatistics:
        with self._changed:
            return ListenerStatistics(
                name=self._name,
                backlog=self._backlog_locked(),
                delivered=self._delivered,
                failed=self._failed,
                last_error=self._last_error,
            )

    def _run(self) -> None:
        try:
            while not self._is_closed:
                try:
                    self._deliver_until_closed()
                except BaseException:  # noqa: BLE001 - the handler must not silently miss changes
                    _log.exception("%s: the delivery failed; continuing", self._name)
        finally:
            with self._changed:
                self._has_ended = True
                self._changed.notify_all()

    def _deliver_until_closed(self) -> None:
        while True:
            with self._changed:
                # A caller that waits for an idle listener is woken after the last delivery.
                self._taken = self._delivered
                self._changed.notify_all()
                while not self._waiting and not self._is_closed:
                    self._is_high = False
                    self._clock.wait(self._changed, None)
                if self._is_closed:
                    return
                chunks = self._waiting.take()
                self._taken += sum(len(chunk.notifications) for chunk in chunks)
            for chunk in chunks:
                try:
                    self._deliver(chunk)
                finally:
                    if chunk.initial:
                        self.tracker.finished(chunk.initial)

    def _deliver(self, chunk: Chunk) -> None:
        """Call the handler for each. This loop runs for every event of every handler."""
        with self._changed:
            behind = self._backlog_locked() - len(chunk.notifications)
        handler = self._handler if behind <= MANY_WAITING else self._timed_handler
        on_add, on_update = handler.on_add, handler.on_update
        on_resync, on_delete = handler.on_resync, handler.on_delete
        update, sync, add = Kind.UPDATE, Kind.SYNC, Kind.ADD
        for notification in chunk.notifications:
            if self._is_closed:
                return
            kind, first, second = notification
            self._called_for = notification
            try:
                if kind is update:
                    on_update(first, second)
                elif kind is add:
                    on_add(first, second)
                elif kind is sync:
                    on_resync(first, second)
                else:
                    on_delete(first)
            except BaseException as error:  # noqa: BLE001 - not even exit() may end a delivery
                self._report(notification, error)
            self._delivered += 1

    def _report_blocked(self, notification: Notification | None) -> None:
        call = "its last call"
        key = None
        if notification is not None:
            key = key_for_report(subject_of(notification))
            call = f"the {notification[0]} of {key}"
        _log.error(
            "%s: stopping without it: the handler has not returned from %s; "
            "a handler must not block, it should only enqueue a key",
            self._name,
            call,
            extra={"object": key},
        )

    def _report(self, notification: Notification, error: BaseException) -> None:
        self._failed += 1
        self._last_error = error
        now = self._clock.monotonic()
        if now < self._quiet_until:
            self._unlogged += 1
            return
        self._quiet_until = now + LOG_FAILURES_EVERY
        unlogged, self._unlogged = self._unlogged, 0
        key = key_for_report(subject_of(notification))
        _log.error(
            "%s: the handler failed for the %s of %s: %s; continuing with the next object%s",
            self._name,
            notification[0],
            key,
            error,
            f" ({unlogged} failures before this one were not logged)" if unlogged else "",
            exc_info=error,
            extra={"object": key},
        )

    def _backlog_locked(self) -> int:
        return 0 if self._is_closed else self._waiting.size + self._taken - self._delivered


class SlowCallLog(ResourceEventHandler[Any]):
    """Passes calls on to ``handler`` and logs those that take longer than :data:`SLOW_CALL`.

    It costs more than a quick call does, so it is only used for a handler that has work waiting.
    """

    def __init__(self, handler: ResourceEventHandler[Any], name: str, clock: Clock) -> None:
        self._handler = handler
        self._name = name
        self._now = clock.monotonic

    # A context manager would be shorter, and take ten times as long as a quick call does.

    def on_add(self, obj: Any, is_in_initial_list: bool) -> None:
        started = self._now()
        try:
            self._handler.on_add(obj, is_in_initial_list)
        finally:
            self._called("add", obj, self._now() - started)

    def on_update(self, old: Any, new: Any) -> None:
        started = self._now()
        try:
            self._handler.on_update(old, new)
        finally:
            self._called("update", new, self._now() - started)

    def on_resync(self, old: Any, new: Any) -> None:
        started = self._now()
        try:
            self._handler.on_resync(old, new)
        finally:
            self._called("resync", new, self._now() - started)

    def on_delete(self, obj: Any) -> None:
        started = self._now()
        try:
            self._handler.on_delete(obj)
        finally:
            self._called("delete", obj, self._now() - started)

    def _called(self, what: str, obj: Any, took: float) -> None:
        if took > SLOW_CALL:
            key = key_for_report(obj)
            _log.info(
                "%s: the handler took %.1f s for the %s of %s while others wait",
                self._name,
                took,
                what,
                key,
                extra={"object": key},
            )
