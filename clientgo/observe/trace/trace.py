"""The trace of a process: how hops come from the components to the tracers.

Promises: the hops of one queue, FIFO or informer come in the order in which they happened, because
a component notes a hop while it holds the lock that guards what the hop is about. A hop that led
to another has the smaller number. No tracer runs under a lock of the library or of its caller.

Does not promise an order of hops that neither share a lock nor lead to one another.

How: a component appends a plain tuple to a `SimpleQueue`, whose `put` may be called anywhere, in
signal handlers and by the garbage collector too. Numbers, keys as text and calls of tracers are
left to a thread of the trace. If the tracers are so slow that `MOST_WAITING` notes wait, further
ones are left out, and a hop ``trace.lost`` says so.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Any, Final
from weakref import ReferenceType, ref

from clientgo.observe.trace.hops import Hop
from clientgo.observe.trace.tracer import Tracer
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable
from clientgo.util.process import SupervisedThread, generation, renew_in_child

_log = logging.getLogger("clientgo.observe.trace")

MOST_WAITING: Final = 1_000_000
"""Notes that may wait for the tracers: about 200 MB."""

Described = tuple[str, object, object, dict[str, Any]]
"""A hop, its key, the object whose version it has (or the version), and its details."""

Describe = Callable[..., Iterable[Described]]
"""Makes hops of the arguments of a note, later, in the thread of the trace."""

_NOBODY: Final = ("", None)
_acting: ContextVar[tuple[str, object]] = ContextVar("clientgo-acting", default=_NOBODY)
"""The component that this thread works for, and the key that it works on."""


class _ThreadName(threading.local):
    """The name of the thread that asks, read once a thread."""

    def __init__(self) -> None:
        self.name = threading.current_thread().name


@uncopyable("it has locks; make one in each process")
class Trace:
    """Takes notes of what happens, and tells the tracers. Thread-safe.

    Components get it from `active_trace` when they are made, and keep it.
    """

    def __init__(self, tracers: tuple[Tracer, ...], clock: Clock = REAL_CLOCK) -> None:
        self._tracers = tracers
        self._clock = clock
        self.now: Final = time.monotonic if clock is REAL_CLOCK else clock.monotonic
        self._this_thread = _ThreadName()
        self._holding = [t for t in tracers if type(t).before is not Tracer.before]
        self.holds: Final = bool(self._holding)
        """True if a tracer wants to be asked before the boundaries."""
        self._notes: SimpleQueue[Any] = SimpleQueue()
        self._put: Callable[[Any], object] = self._notes.put
        self._waiting = self._notes.qsize
        self._loses = False
        self._closed = False
        self._made_in = generation()
        self._failures: dict[Tracer, int] = {}
        self._lock = threading.Lock()
        self._began_at = 0.0
        self._last_at = 0.0
        self._count = 0
        self._components: list[ReferenceType[object]] = []
        self._thread = SupervisedThread(
            self._deliver, name="clientgo-trace", then="nothing is traced any more"
        )
        renew_in_child(self, "_lock", renew=Trace._close)  # its thread is not there

    # For components

    def note(
        self,
        hop: str,
        of: str,
        key: object = None,
        obj: object = None,
        *,
        thread: str = "",
        **details: Any,
    ) -> None:
        """Note a hop. Never blocks and calls no user code; legal under any lock.

        `obj` is the object whose resource version the hop has, or that version. `thread` names the
        thread that asked for it, if that is another one.
        """
        if self._waiting() < MOST_WAITING:
            thread = thread or self._this_thread.name
            self._put((self.now(), thread, hop, of, key, obj, details))
        else:
            self._lose()

    def note_all(self, of: str, describe: Describe, *arguments: Any) -> None:
        """Note what `describe(*arguments)` will make hops of. As cheap as one `note`."""
        if self._waiting() < MOST_WAITING:
            thread = self._this_thread.name
            self._put((self.now(), thread, None, of, describe, arguments, None))
        else:
            self._lose()

    def note_request(self, hop: str, **details: Any) -> None:
        """Note a hop of the component that this thread works for."""
        of, key = _acting.get()
        self.note(hop, of, key, **details)

    def before(self, boundary: str, of: str, key: object = None) -> None:
        """Ask the tracers before a boundary. May block; call it without any lock."""
        text = "" if key is None else str(key)
        for tracer in self._holding:
            if self._closed:
                return
            try:
                tracer.before(boundary, of, text)
            except Exception as error:  # noqa: BLE001 - a tracer must not break what it traces
                self._failed(tracer, error)

    def acts_for(self, of: str, key: object = None) -> None:
        """Note for whom this thread works now: the requests that it sends are theirs."""
        _acting.set((of, key))

    def add_component(self, component: object) -> None:
        """Let a tool act on what it shows. The component lives no longer for it."""
        with self._lock:
            kept = [each for each in self._components if each() is not None]
            self._components = [*kept, ref(component)]

    # For who traces

    def components(self) -> list[object]:
        """Return the informers that were made in this trace and still exist."""
        with self._lock:
            found = [reference() for reference in self._components]
        return [component for component in found if component is not None]

    @property
    def failures(self) -> int:
        """How many calls of tracers have failed."""
        with self._lock:
            return sum(self._failures.values())

    def begin(self) -> None:
        self._thread.start()
        self._began_at = self.now()
        for tracer in self._tracers:
            self._call(tracer, tracer.began, self._clock.time())

    def flush(self, timeout: float | None = None) -> bool:
        """Block until the tracers have seen everything noted so far.

        Return False after `timeout` seconds. Must not be called by a tracer's `hop`.
        """
        if self._closed:
            return True
        seen = threading.Event()
        self._notes.put(seen)
        return seen.wait(timeout)

    def end(self) -> None:
        """Take no more notes, tell the tracers the rest, and end the thread."""
        self._close()
        if self._made_in != generation():
            return  # the thread and the tracers are those of the parent process
        self._notes.put(None)
        self._thread.join()
        for tracer in self._tracers:
            self._call(tracer, tracer.ended)

    # Inside

    def _close(self) -> None:
        self._closed = True
        self._put = _ignore

    def _lose(self) -> None:
        if not self._loses:
            self._loses = True
            self._put((self.now(), self._this_thread.name, "trace.lost", "", None, None, {}))

    def _deliver(self) -> None:
        get = self._notes.get
        while (note := get()) is not None:
            if type(note) is not tuple:
                note.set()  # what `flush` waits for
                continue
            at, thread, hop, of, key, obj, details = note
            if hop is not None:
                self._tell(at, thread, of, hop, key, obj, details)
                continue
            try:
                for described in key(*obj):
                    self._tell(at, thread, of, *described)
            except Exception:  # noqa: BLE001 - one bad note must not end the trace
                _log.exception("hops of %s could not be described", of)

    def _tell(
        self,
        at: float,
        thread: str,
        of: str,
        name: str,
        key: object,
        obj: object,
        details: dict[str, Any],
    ) -> None:
        """Tell the tracers of a hop. This runs for every hop: it avoids calls."""
        if name == "trace.lost":
            self._loses = False
        self._count += 1
        at -= self._began_at
        if at < self._last_at:
            at = self._last_at  # two threads may note in another order than they asked the time
        self._last_at = at
        if type(key) is not str:
            key = "" if key is None else _text(key)
        version = "" if obj is None else _version(obj)
        hop = Hop(self._count, at, thread, name, of, key, version, details)
        for tracer in self._tracers:
            try:
                tracer.hop(hop)
            except BaseException as error:  # noqa: BLE001 - the next hop must be delivered
                self._failed(tracer, error)

    def _call(self, tracer: Tracer, method: Callable[..., object], *arguments: Any) -> None:
        try:
            method(*arguments)
        except Exception as error:  # noqa: BLE001 - a tracer must not break what it traces
            self._failed(tracer, error)

    def _failed(self, tracer: Tracer, error: BaseException) -> None:
        with self._lock:
            is_first = tracer not in self._failures
            self._failures[tracer] = self._failures.get(tracer, 0) + 1
        if is_first:
            _log.error(
                "the tracer %s failed: %s; it is called again, and further failures are counted",
                type(tracer).__name__,
                error,
                exc_info=error,
            )


def _ignore(_note: object) -> None:
    """What a component notes after the end."""


def _text(key: object) -> str:
    try:
        return str(key)
    except Exception as error:  # noqa: BLE001 - a key of the user's own type
        return f"<{type(key).__name__}: {error}>"


def _version(obj: Any) -> str:
    """Return the resource version of an object of any type, or a version itself."""
    if isinstance(obj, str):
        return obj
    try:
        return obj.metadata.resource_version or ""
    except AttributeError:
        return ""


# The trace of this process

_active: Trace | None = None


def active_trace() -> Trace | None:
    """Return the trace for components that are made now; None if nothing is traced."""
    return _active


def set_tracer(*tracers: Tracer, clock: Clock = REAL_CLOCK) -> None:
    """Trace components that are made from now on, with these tracers; with none, end the trace.

    Blocks until the tracers of the trace before have seen everything. Components keep the trace
    that they were made with: call this before they are made.
    """
    global _active
    before, _active = _active, None
    if before is not None:
        before.end()
    if tracers:
        trace = Trace(tracers, clock)
        trace.begin()
        _active = trace


@contextmanager
def tracing(*tracers: Tracer, clock: Clock = REAL_CLOCK) -> Iterator[Trace]:
    """Trace the components that are made in the block, until its end."""
    set_tracer(*tracers, clock=clock)
    assert _active is not None
    try:
        yield _active
    finally:
        set_tracer()
