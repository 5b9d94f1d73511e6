"""Runs the two halves of an informer: a reflector that fills a queue, and a loop that empties it.

Promises: :meth:`Controller.run` returns with the queue closed and the reflector's thread joined. A
reflector that fails because of a bug is started again. What is still queued at the stop is not
processed. A controller runs once.

Differs from client-go (``tools/cache`` Controller): errors of processing are not discarded.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from clientgo.cache.queues.done_checker import DoneChecker
from clientgo.cache.queues.queue import ProcessBatchFunc, Queue, QueueClosedError
from clientgo.cache.reflector.list_watch import ListWatchError
from clientgo.cache.reflector.reflector import Reflector
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable
from clientgo.util.process import SupervisedThread
from clientgo.util.wait import StopEvent, call_when_set

_log = logging.getLogger("clientgo.cache.controller")

RESTART_AFTER: Final = 1.0
"""Seconds until a reflector that failed is started again."""


@uncopyable("it has threads; make one in each process")
class Controller:
    """Runs ``reflector``, which writes to ``queue``, and passes its batches to ``process``.

    ``processed`` is called after each batch.

    Source: k8s.io/client-go/tools/cache, Controller.
    """

    def __init__(
        self,
        queue: Queue,
        reflector: Reflector,
        process: ProcessBatchFunc,
        *,
        processed: Callable[[], None] = lambda: None,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self._queue = queue
        self._reflector = reflector
        self._process = process
        self._processed = processed
        self._clock = clock
        self._wrong: ListWatchError | None = None

    def run(
        self,
        stop: threading.Event,
        start: Callable[[SupervisedThread], object] = SupervisedThread.start,
    ) -> None:
        """Run until ``stop`` is set. Blocks. ``start`` starts its thread, perhaps beside others.

        Raises what escapes from processing, and :class:`ListWatchError` for a list-watch that can
        never work.
        """
        ending = StopEvent()

        def end() -> None:
            ending.set()
            self._queue.close()

        registration = call_when_set(stop, end)
        thread = SupervisedThread(
            self._run_reflector,
            args=(ending, end),
            name=self._reflector.name,
            then="the cache is not updated any more",
        )
        try:
            start(thread)
        except BaseException:
            registration.cancel()
            raise
        try:
            while not ending.is_set():
                self._queue.pop_batch(self._process)
                self._processed()
        except QueueClosedError:
            pass
        finally:
            end()
            registration.cancel()
            thread.join()
        if self._wrong is not None:
            raise self._wrong

    def has_synced(self) -> bool:
        """Return True if the first list has been processed."""
        return self._queue.has_synced()

    def has_synced_checker(self) -> DoneChecker:
        """Return the condition of :meth:`has_synced`, to wait for it."""
        return self._queue.has_synced_checker()

    def last_sync_resource_version(self) -> str:
        """Return the version up to which the queue has everything."""
        return self._reflector.last_sync_resource_version()

    def _run_reflector(self, ending: threading.Event, end: Callable[[], None]) -> None:
        while not ending.is_set():
            try:
                self._reflector.run(ending)
            except ListWatchError as error:
                self._wrong = error
                end()
            except BaseException:  # noqa: BLE001 - supervised: the cache must not silently go stale
                _log.exception(
                    "%s failed; starting it again in %.0f s", self._reflector.name, RESTART_AFTER
                )
                self._clock.sleep(RESTART_AFTER, ending)
