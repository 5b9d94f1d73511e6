"""What the broadcasters of both event APIs share.

Promises: publishing never blocks; each watch gets the events that were published after its start,
in order, in its own thread. `flush` waits until everything is handled; `shutdown` joins the
threads. A full queue drops events and counts them.

Differs from client-go (`watch` Broadcaster, `tools/record`): `flush`, and `shutdown` waits for
earlier events, for a limited time.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from clientgo.record.event_watch import EventWatch
from clientgo.util.clock import Clock
from clientgo.util.process import ForkAwareContext
from clientgo.util.wait import Registration, call_when_set

E = TypeVar("E")

_log = logging.getLogger("clientgo.record")


class Broadcaster(ForkAwareContext, Generic[E]):
    """Spreads events to handlers; see ``EventBroadcaster`` and ``SeriesBroadcaster``.

    As a context manager it shuts down at the end of the block.
    """

    def __init__(self, *, clock: Clock, queue_size: int) -> None:
        self._clock = clock
        self._queue_size = queue_size
        self._lock = threading.Lock()
        self._watches: tuple[EventWatch[E], ...] = ()
        self._stopping = threading.Event()
        self._stop_registration: Registration | None = None

    def _end_block(self) -> None:
        self.shutdown()

    def start_event_watcher(
        self, handler: Callable[[E], object], *, name: str = "event-watcher", threads: int = 1
    ) -> EventWatch[E]:
        """Call ``handler`` with each event from now on, in a thread of its own.

        Events are shared with other watches: the handler must not change them. What it raises is
        logged. The watch's ``stop`` ends it.
        """
        watch = EventWatch(
            handler, name=name, queue_size=self._queue_size, threads=threads, clock=self._clock
        )
        with self._lock:
            self._watches += (watch,)
            if self._stopping.is_set():
                watch.close(discard=True)
        return watch

    def publish(self, event: E) -> None:
        """Hand an event to every watch. Never blocks."""
        for watch in self._watches:
            watch.offer(event)

    def flush(self, timeout: float | None = None) -> bool:
        """Block until all events published so far are written or given up.

        Returns False after ``timeout`` seconds.
        """
        deadline = None if timeout is None else self._clock.monotonic() + timeout
        return all(queue.flush(deadline) for queue in self._queues)

    def shutdown(self, timeout: float = 5.0) -> None:
        """Take no more events, give those that wait one try each, and end all threads.

        Blocks for at most ``timeout`` seconds; what is not written by then is dropped, counted
        and said. Idempotent.
        """
        with self._lock:
            queues = self._queues
            for queue in queues:
                queue.close()
            self._stopping.set()
        if self._stop_registration is not None:
            self._stop_registration.cancel()
        deadline = self._clock.monotonic() + timeout
        late = [queue for queue in queues if not queue.join(deadline)]
        if late:
            _log.warning(
                "Shut down while events were still unwritten after %.1f s; dropped: %d",
                timeout,
                sum(queue.statistics().pending for queue in late),
            )
        for queue in late:
            queue.close(discard=True)

    @property
    def _queues(self) -> tuple[EventWatch[E], ...]:
        """All queues that are flushed and closed."""
        return self._watches

    def _shut_down_with(self, stop: threading.Event | None) -> None:
        if stop is not None:
            self._stop_registration = call_when_set(stop, self.shutdown)
