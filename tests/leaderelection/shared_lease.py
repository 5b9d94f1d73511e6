"""One lease in memory that several candidates compete for, and that can be told to misbehave."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass

from clientgo.leaderelection import LeaderElectionRecord
from clientgo.meta import AlreadyExistsError, ConflictError, InternalServerError, NotFoundError
from clientgo.util.clock import Clock


class SharedLease:
    """What the server holds: a record, and how often it was written."""

    def __init__(self) -> None:
        self.record: LeaderElectionRecord | None = None
        self._version = 0
        self._lock = threading.Lock()

    def get(self) -> tuple[LeaderElectionRecord, int]:
        with self._lock:
            if self.record is None:
                raise NotFoundError.of("there is no such lease")
            return self.record, self._version

    def create(self, record: LeaderElectionRecord) -> int:
        with self._lock:
            if self.record is not None:
                raise AlreadyExistsError.of("there is one already")
            return self._write_locked(record)

    def update(self, record: LeaderElectionRecord, version: int) -> int:
        with self._lock:
            if self.record is None:
                raise NotFoundError.of("there is no such lease")
            if version != self._version:
                raise ConflictError.of("the lease was changed")
            return self._write_locked(record)

    def write(self, record: LeaderElectionRecord | None) -> None:
        """Somebody else edits or, with None, deletes the lease."""
        with self._lock:
            self._write_locked(record)

    def _write_locked(self, record: LeaderElectionRecord | None) -> int:
        self.record = record
        self._version += 1
        return self._version


@dataclass(frozen=True, slots=True)
class Call:
    """One request of a candidate, or an event that it recorded."""

    at: float
    op: str
    record: LeaderElectionRecord | None = None
    error: str = ""
    message: str = ""


_ERRORS = {
    "server_error": InternalServerError.of("oops"),
    "conflict": ConflictError.of("scripted"),
    "already_exists": AlreadyExistsError.of("scripted"),
}


class ScriptedLock:
    """The lock of one candidate.

    Every request takes the next of ``answers``, or passes: ``server_error``, ``conflict`` and
    ``already_exists`` are refusals, ``hang`` sends no answer and ``lost`` carries the request out
    and sends none, until the request's time is up; ``stuck`` does not even heed that. ``late`` is
    carried out at once, and answered after three seconds.
    """

    def __init__(self, lease: SharedLease, identity: str, clock: Clock) -> None:
        self.identity = identity
        self.answers: deque[str] = deque()
        self.calls: list[Call] = []
        self.is_leading = False
        self.is_releasing = False
        self.stuck = threading.Event()
        self.unstick = threading.Event()
        self._lease = lease
        self._clock = clock
        self._version = 0
        self._elector_thread: threading.Thread | None = None

    def describe(self) -> str:
        return "default/le"

    def get(self, *, timeout: float, stop: threading.Event | None = None) -> LeaderElectionRecord:
        found: list[LeaderElectionRecord] = []

        def read() -> int:
            record, version = self._lease.get()
            found.append(record)
            return version

        self._answer("get", None, read, timeout, stop)
        self.calls[-1] = Call(self.calls[-1].at, "get", found[0])
        return found[0]

    def create(
        self, record: LeaderElectionRecord, *, timeout: float, stop: threading.Event | None = None
    ) -> None:
        self._answer("create", record, lambda: self._lease.create(record), timeout, stop)

    def update(
        self, record: LeaderElectionRecord, *, timeout: float, stop: threading.Event | None = None
    ) -> None:
        version = self._version
        self._answer("update", record, lambda: self._lease.update(record, version), timeout, stop)

    def record_event(self, message: str) -> None:
        self.is_leading = message == "became leader"
        self.is_releasing = False
        self._elector_thread = threading.current_thread()
        self.calls.append(Call(self._clock.monotonic(), "event", message=message))

    def ops(self) -> list[str]:
        """The requests so far, without the events."""
        return [call.op for call in self.calls if call.op != "event"]

    def take_calls(self) -> list[Call]:
        taken, self.calls = self.calls, []
        return taken

    def _answer(self, op, record, carry_out, timeout, stop):  # type: ignore[no-untyped-def]
        # While it leads, the elector's own thread asks only to release.
        is_own_thread = threading.current_thread() is self._elector_thread
        self.is_releasing = self.is_leading and is_own_thread
        at = self._clock.monotonic()
        answer = self.answers.popleft() if self.answers else "pass"
        try:
            if answer in _ERRORS:
                raise _ERRORS[answer]
            if answer == "lost":
                carry_out()
            if answer == "stuck":
                self.stuck.set()
                self.unstick.wait()
            if answer in ("hang", "lost", "stuck"):
                self._clock.sleep(timeout, stop)
                raise TimeoutError(f"no answer within {timeout} s")
            self._version = carry_out()
            if answer == "late":
                self._clock.sleep(3.0, stop)
        except Exception as error:
            self.calls.append(Call(at, op, record, error=type(error).__name__))
            raise
        self.calls.append(Call(at, op, record))
