"""The work queue: an ordered set of items that need work, and which of them are being processed.

Promises: items come out in the order in which they were added, once for any number of adds; no
item is processed by two workers at once; an item that is added while it is processed comes out
again after its `done`, at the end; what was accepted before a shutdown is still returned by `get`.

Does not promise one `get` for each add: read the state, do not count events.

Differs from client-go (util/workqueue, `Typed`): three states of an item in place of two sets
(`states.py`). A `done` of an item that is not processed is ignored with a warning.
`shut_down_with_drain(until_empty=True)` also waits for items that are still listed. An operation
that an exception ends half-way, such as KeyboardInterrupt, repairs the queue before it goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Generic, cast, overload

from clientgo.observe.metrics import MetricsProvider
from clientgo.observe.trace import Syncing
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable
from clientgo.util.process import ForkAwareContext, refuse_in_child
from clientgo.workqueue.explanation import ItemExplanation, QueueStatistics
from clientgo.workqueue.lock import LockedOperations
from clientgo.workqueue.observer import QueueObserver
from clientgo.workqueue.orderings.ordering import FIFO, NOTHING, Ordering, T
from clientgo.workqueue.states import DIRTY, PROCESSING, READY, Items

_log = logging.getLogger("clientgo.workqueue")


@uncopyable("it has locks; make one in each process")
class Queue(LockedOperations, ForkAwareContext, Generic[T]):
    """A work queue for any number of producers and workers::

        while True:
            item, shutdown = queue.get()
            if shutdown:
                return
            try:
                sync(item)
            finally:
                queue.done(item)

    Items are hashable and compared by equality. `name` labels the metrics, which go to `metrics`
    (by default to `clientgo.observe.metrics.default_provider()`); a queue without a name has none.
    Leaving a ``with`` block shuts the queue down. Thread-safe; a signal handler may call what adds,
    `done`, `shut_down`, and what reads, also if it interrupts an operation of the queue.

    Source: k8s.io/client-go/util/workqueue, Typed.
    """

    def __init__(
        self,
        *,
        name: str = "",
        ordering: Ordering[T] | None = None,
        metrics: MetricsProvider | None = None,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        super().__init__(name)
        self._clock = clock
        self._items = items = Items(name, FIFO() if ordering is None else ordering)
        self._states, self._ready = items.states, items.ready
        self._getter_needed = self._lock.condition()
        self._idle_getters = 0
        self._callbacks: dict[Callable[[], bool], None] = {}
        """Those of the idle getters that are to be called, and not woken."""
        self._getter_is_waking = False
        self._drained = self._lock.condition()
        self._drains = 0
        self._shutting_down = False
        self._forced_shutdowns = 0
        self._observer = QueueObserver(name, metrics, clock, self._lock)
        self._observed = self._observer.is_active
        self._is_plain = not self._observed
        """True if the queue is not observed, does not shut down, and has no priorities: an unknown
        item need only be listed, and one that is done need only be forgotten."""
        refuse_in_child(
            self,
            f"work queue {name!r}",
            "_token",
            "_lock",
            advice="make the queue in the process that uses it, after the fork",
        )

    # `add`, `get` and `done` spell out `_do_locked`, and the usual case of what they do under the
    # lock. With calls in place of both, an item costs 60 % more; in place of the usual case, 15 %.

    def add(self, item: T) -> None:
        """Note that `item` needs work. Never blocks; does nothing once the queue shuts down.

        Legal in a `__del__` method and in a signal handler.
        """
        try:
            del self._token[0]
        except IndexError:
            self._leave_to_holder(self._add_locked, item)
            return
        try:
            if self._left:
                self._do_left_locked()
            if self._is_plain and item not in self._states:
                self._ready.push(item)
                self._states[item] = READY
                if self._idle_getters and not self._getter_is_waking:
                    self._wake_getter_locked()
            else:
                self._add_locked(item)
        except BaseException:
            self._repair_locked()
            raise
        finally:
            try:
                self._token.append(None)
            finally:
                if self._left:
                    self._do_left()

    def _note_locked(self, item: T) -> None:
        """Note that an item needs work, however it was added."""
        if self._shutting_down:
            return
        before = self._states.get(item)
        if before is None:
            self._list_locked(item)
        elif before is READY:
            self._ready.touch(item)
        elif before is PROCESSING:
            self._states[item] = DIRTY  # so that `done` lists it
        if self._observed:
            self._observer.added(item, before)

    _add_locked = _note_locked
    """Do what `add` does, in any case: a queue with priorities does more."""

    def _list_locked(self, item: T) -> None:
        self._ready.push(item)
        self._states[item] = READY
        if self._idle_getters and not self._getter_is_waking:
            self._wake_getter_locked()

    @overload
    def get(self) -> tuple[T, bool]: ...

    @overload
    def get(self, otherwise: Callable[[], bool]) -> tuple[T, bool] | None: ...

    def get(self, otherwise: Callable[[], bool] | None = None) -> tuple[T, bool] | None:
        """Block until an item is ready, and take it: ``(item, False)``.

        Answers ``(None, True)`` when the queue shuts down and no item is left. Every item that is
        taken must be given to `done`. If it raises, as KeyboardInterrupt, no item is taken.

        With `otherwise` it does not wait, for event loops (`clientgo.aio`): if no item is ready it
        returns None, and `otherwise` is called once when there may be one, unless it is withdrawn.
        That happens with the lock held, in the thread that adds, so it only wakes a loop. It
        returns False if it can't; then the next getter is woken.
        """
        try:
            del self._token[0]
        except IndexError:
            self._wait_for_token()
        item = NOTHING
        try:
            try:
                while not self._ready or (self._observed and not self._may_take_locked()):
                    if self._shutting_down:
                        return cast("T", None), True
                    self._wait_locked(otherwise)
                    if otherwise is not None:
                        return None
                item = self._ready.pop()
                self._states[item] = PROCESSING
                if self._observed:
                    self._observer.taken(item)
                if self._idle_getters and self._ready and not self._getter_is_waking:
                    self._wake_getter_locked()
            except BaseException:
                taken, item = item, NOTHING
                self._repair_locked(taken)
                raise
            finally:
                try:
                    self._token.append(None)
                finally:
                    if self._left:
                        self._do_left()
        except BaseException:
            if item is not NOTHING:  # what others had left raised, with the item taken
                self._leave_to_holder(self._repair_locked, item)
            raise
        return item, False

    def _may_take_locked(self) -> bool:
        """Ask the tracers, without the lock; return True if there is still an item then."""
        self._observer.before_take()
        return bool(self._ready)

    def _wait_locked(self, otherwise: Callable[[], bool] | None) -> None:
        """Wait until there may be an item or a shutdown, or note what is to be called then."""
        self._rest_locked()
        self._idle_getters += 1
        if otherwise is not None:
            self._callbacks[otherwise] = None
            return
        try:
            self._clock.wait(self._getter_needed, None)
        finally:
            self._idle_getters -= 1
            self._getter_is_waking = False

    def _rest_locked(self) -> None:
        """Give memory back while nothing is ready."""
        if not self._states:
            # An emptied dict keeps the table of its largest size until it is cleared.
            self._states.clear()
            self._observer.idle()

    def _wake_getter_locked(self) -> None:
        """Wake one getter. It wakes the next if it leaves items.

        Not called while one is already waking up: a burst of adds costs a few thread switches.
        """
        while self._callbacks:
            if self._call_next_locked():
                return
        if self._idle_getters:
            self._getter_is_waking = True
            self._getter_needed.notify()

    def withdraw(self, otherwise: Callable[[], bool]) -> None:
        """Forget what `get` was told to call; if it was called, wake another getter in its place.

        Never blocks.
        """
        self._do_locked(self._withdraw_locked, otherwise, or_leave=True)

    def _withdraw_locked(self, otherwise: Callable[[], bool]) -> None:
        if otherwise in self._callbacks:
            del self._callbacks[otherwise]
            self._idle_getters -= 1
        elif self._ready and self._idle_getters and not self._getter_is_waking:
            self._wake_getter_locked()

    def _wake_all_getters_locked(self) -> None:
        while self._callbacks:
            self._call_next_locked()
        self._getter_needed.notify_all()

    def _call_next_locked(self) -> bool:
        otherwise = next(iter(self._callbacks))
        del self._callbacks[otherwise]
        self._idle_getters -= 1
        return otherwise()

    def done(self, item: T) -> None:
        """Give back an item that `get` returned. If it was added meanwhile, it is listed again.

        An item that is not being processed is ignored, with a warning: it was given back twice, or
        never taken.
        """
        if self._observed:
            self._observer.ends()
        try:
            del self._token[0]
        except IndexError:
            self._leave_to_holder(self._done_locked, item)
            return
        try:
            if self._is_plain and self._states.get(item) is PROCESSING:
                del self._states[item]
            else:
                self._done_locked(item)
        except BaseException:
            self._repair_locked()
            raise
        finally:
            try:
                self._token.append(None)
            finally:
                if self._left:
                    self._do_left()

    def _done_locked(self, item: T) -> None:
        state = self._states.get(item)
        if state is PROCESSING:
            del self._states[item]
        elif state is DIRTY:
            self._states[item] = READY  # first, so that an interrupt does not lose it
            self._list_locked(item)
        else:
            _log.warning(
                "done(%r) on work queue %r: the item is not being processed; call done once a get",
                item,
                self._name,
            )
            return
        if self._observed:
            self._observer.finished(item, again=state is DIRTY)
        if self._shutting_down:
            self._note_progress_locked()

    def items(self) -> Iterator[T]:
        """Take items until the queue shuts down, giving each back when the next is asked for.

        ``for item in queue.items(): ...`` is the loop of a worker whose body does not raise.
        """
        while True:
            item, shutdown = self.get()
            if shutdown:
                return
            try:
                yield item
            finally:
                self.done(item)

    # The shutdown

    def shut_down(self) -> None:
        """Take no further items; let workers end when the listed ones are handed out.

        Wakes every blocked `get` and releases every running `shut_down_with_drain`. Does not wait
        for items being processed. Calling it again is harmless.

        Legal in a signal handler. If that interrupts an operation of this queue, the queue shuts
        down when the operation ends.
        """
        if self._lock.is_taken_by_interrupted():
            self._leave_to_holder(self._force_shut_down_locked, None)
            return  # the queue's own threads end when the operation does
        self._do_locked(self._force_shut_down_locked)
        self._join_threads()

    def shut_down_with_drain(self, *, until_empty: bool = False) -> None:
        """Shut down, and block until no item is being processed.

        Items that are listed, but that no worker has taken at that moment, are waited for only
        with `until_empty`. A `shut_down` from another thread releases the wait, so that a second
        signal can end a program whose worker hangs.

        Not for a signal handler: the thread that it interrupts may be processing an item. Raises
        RuntimeError if it interrupts an operation of this queue.
        """
        if self._lock.interrupts_operation():
            raise RuntimeError(
                f"shut_down_with_drain of work queue {self._name!r} interrupts an operation of the "
                "same queue, which cannot end before it; in a signal handler call shut_down, or "
                "set an event that another thread waits for"
            )
        forced_shutdowns = self._do_locked(self._begin_drain_locked)
        self._join_threads()
        self._do_locked(partial(self._drain_locked, forced_shutdowns), until_empty)

    @property
    def shutting_down(self) -> bool:
        """Return True if a shutdown has begun."""
        return self._shutting_down

    def _force_shut_down_locked(self, _: object) -> None:
        self._forced_shutdowns += 1
        self._shut_down_locked()

    def _begin_drain_locked(self, _: object) -> int:
        self._shut_down_locked()
        return self._forced_shutdowns

    def _shut_down_locked(self) -> None:
        self._shutting_down, self._is_plain = True, False
        self._wake_all_getters_locked()
        self._observer.stop()
        self._note_progress_locked()

    def _drain_locked(self, forced_shutdowns: int, until_empty: bool) -> None:
        self._drains += 1
        try:
            while self._forced_shutdowns == forced_shutdowns and (
                len(self._states) > len(self._ready) or (until_empty and self._ready)
            ):
                self._clock.wait(self._drained, None)
        finally:
            self._drains -= 1

    def _note_progress_locked(self) -> None:
        """Let those who wait for the end of a shutdown look again."""
        if self._drains:
            self._drained.notify_all()
        if not self._states:
            self._observer.stopped_empty()

    def _join_threads(self) -> None:
        self._observer.join()

    def _end_block(self) -> None:
        self.shut_down()

    def _needs_work_locked(self, item: T) -> bool:
        state = self._states.get(item)
        return state is not None and state is not PROCESSING

    # After an interrupt

    def _repair_locked(self, taken: Any = NOTHING) -> None:
        try:
            self._items.repair(taken)
            self._getter_is_waking = False
            self._wake_all_getters_locked()
            self._drained.notify_all()
        except BaseException:
            self._left.append((self._repair_locked, taken))
            raise

    # What it shows

    def syncing(self, item: T) -> Syncing:
        """Show the sync of `item` to a tracer, in a worker loop of your own::

            with queue.syncing(key):
                sync(key)

        `run_workers` does it. It costs next to nothing while nothing is traced.
        """
        return self._observer.syncing(item)

    def statistics(self) -> QueueStatistics:
        """Return what the queue holds right now."""
        return QueueStatistics(**self._read(self._statistics_locked))

    def processing_items(self) -> list[T]:
        """Return the items that workers have taken and not given back with `done`, in no order."""
        return self._read(self._items.processed)

    def explain(self, item: T) -> ItemExplanation:
        """Return what the queue knows of an item right now."""
        return ItemExplanation(**self._read(lambda: self._explained_locked(item)))

    def __len__(self) -> int:
        """Return how many items are listed: neither processed nor delayed ones."""
        return self._read(self._ready.__len__)

    def _statistics_locked(self) -> dict[str, Any]:
        return {
            "name": self._name,
            "ready": len(self._ready),
            "processing": len(self._states) - len(self._ready),
            "dirty": self._items.count(DIRTY),
            "idle_getters": self._idle_getters,
            "drains": self._drains,
            "shutting_down": self._shutting_down,
        }

    def _explained_locked(self, item: T) -> dict[str, Any]:
        state = self._states.get(item)
        return {
            "state": "unknown" if state is None else state.name.lower(),
            "now": self._clock.monotonic(),
            "since": self._observer.since(item),
            "ready": len(self._ready),
            "idle_getters": self._idle_getters,
            "shutting_down": self._shutting_down,
        }

    def _leave_to_holder(self, operation: Callable[[Any], object], item: Any) -> None:
        if self._observed:
            operation = self._observer.asked_here(operation)
        super()._leave_to_holder(operation, item)
