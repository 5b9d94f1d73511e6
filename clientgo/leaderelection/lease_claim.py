"""One candidate's claim on a lock: what it has seen of it, and the next request to send.

Promises: for each version of the record one candidate's write succeeds at most; another holder's
record is left alone until it has not changed for its lease duration, measured by our clock since we
saw the last change. No threads. A new candidate waits a whole lease even for a dead holder.

Differs from client-go (`tools/leaderelection`, tryAcquireOrRenew, release): a holder that reads a
foreign record has lost immediately, where client-go may take the lease back. A deleted lease is not
taken before the term that we saw would have ended. Only our own record is released.
"""

from __future__ import annotations

import enum
import logging
import threading
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import inf
from typing import Final, Protocol

from clientgo.leaderelection.locks.lock import Lock
from clientgo.leaderelection.locks.record import LeaderElectionRecord
from clientgo.leaderelection.timing import Timing
from clientgo.meta import NotFoundError
from clientgo.observe.metrics import Counter
from clientgo.util.clock import Clock, nanoseconds
from clientgo.util.wait import retry_on_conflict

_log = logging.getLogger("clientgo.leaderelection")

_NEVER_SEEN: Final = LeaderElectionRecord()

_RELEASED_SECONDS: Final = 1
"""What a released lease says; the API refuses 0."""


class Renewal(enum.Enum):
    """How an attempt to renew ended."""

    DONE = "done"
    FAILED = "failed"
    """It is unknown if the lease is still ours: try again."""
    OVER = "over"
    """The lease is not ours any more, or shall not be."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A record, and when we first saw it like that."""

    record: LeaderElectionRecord
    at: float


class LeaseClaim:
    """Reads and writes the lock of one candidate; one thread acts at a time, all may look.

    ``observed`` is what was last read or written, ``renewed_at`` when the last write that
    succeeded was sent. ``slow_path`` counts renewals that had to read first.
    """

    def __init__(self, lock: Lock, timing: Timing, *, clock: Clock, slow_path: Counter) -> None:
        self._lock = lock
        self._timing = timing
        self._clock = clock
        self._slow_path = slow_path
        self._me = lock.identity
        self._failures: set[str] = set()
        # Replaced as a whole, so that a reader in another thread sees record and time together.
        self.observed = Observation(_NEVER_SEEN, clock.monotonic())
        self.renewed_at = -inf

    @property
    def is_ours(self) -> bool:
        """Return True if the record that was last seen names us; it may have expired since."""
        return self.observed.record.holder_identity == self._me

    def expires_in(self) -> float:
        """For how many seconds the record that was last seen is valid; negative if it is not."""
        observed = self.observed
        ends = observed.at + observed.record.lease_duration_seconds
        return (nanoseconds(ends) - nanoseconds(self._clock.monotonic())) / 1e9

    def acquire(self, stop: threading.Event) -> bool:
        """Try once to become the holder. Blocks; does not raise."""
        try:
            acquired = self._try_to_acquire(stop)
        except Exception as error:  # noqa: BLE001 - a lock may fail in any way; we try again
            self._log_failure("not acquired", error, stop)
            return False
        self._log_success("the lock is reachable again")
        return acquired

    def renew(self, deadline: float, stop: threading.Event) -> Renewal:
        """Try once to stay the holder, until ``deadline`` at the latest. Blocks; does not raise."""
        try:
            renewal = self._try_to_renew(deadline, stop)
        except Exception as error:  # noqa: BLE001 - a lock may fail in any way; we try again
            self._log_failure("not renewed", error, stop)
            return Renewal.FAILED
        if renewal is Renewal.DONE:
            self._log_success("renewed again")
        return renewal

    def release(self) -> bool:
        """Give the lease up if it is ours, so that the next leader need not wait for its end.

        Takes up to one ``renew_deadline``. Return True if no candidate has to wait for us any more.
        Does not raise.
        """
        deadline = self._clock.monotonic() + self._timing.renew_deadline
        try:
            retry_on_conflict(lambda: self._release_if_ours(deadline), clock=self._clock)
        except Exception as error:  # noqa: BLE001 - the lease then ends by itself
            _log.warning(
                "%s could not release %s: %s; others wait until it expires",
                self._me,
                self._lock.describe(),
                error,
            )
            return False
        return True

    def _try_to_acquire(self, stop: threading.Event) -> bool:
        now = self._now()
        ours = LeaderElectionRecord(
            holder_identity=self._me,
            lease_duration_seconds=self._timing.lease_seconds,
            acquire_time=now,
            renew_time=now,
        )
        send: _Send = self._lock.update
        try:
            found = self._read(inf, stop)
        except NotFoundError:
            # Its last holder may not know yet that it was deleted.
            found, send = self.observed.record, self._lock.create
        if found is _NEVER_SEEN:
            self._write(send, ours, inf, stop)
            return True
        if found.holder_identity == self._me:
            # Ours from an earlier life, or an answer got lost: the same term goes on.
            self._slow_path.inc()
            ours = self._renewed(found)
        elif found.holder_identity and self.expires_in() > 0:
            return False
        else:
            ours = replace(ours, leader_transitions=found.leader_transitions + 1)
        self._write(send, ours, inf, stop)
        return True

    def _try_to_renew(self, deadline: float, stop: threading.Event) -> Renewal:
        renewed = self._renewed(self.observed.record)
        if self.expires_in() > 0:
            try:
                self._write(self._lock.update, renewed, deadline, stop)
            except Exception as error:  # noqa: BLE001 - reading the record tells what is the matter
                _log.debug(
                    "%s: %s not renewed by one write, reading it: %s",
                    self._me,
                    self._lock.describe(),
                    error,
                )
            else:
                return Renewal.DONE
        try:
            found = self._read(deadline, stop)
        except NotFoundError:
            self._write(self._lock.create, renewed, deadline, stop)
            return Renewal.DONE
        if found.holder_identity != self._me:
            return Renewal.OVER
        self._slow_path.inc()
        self._write(self._lock.update, self._renewed(found), deadline, stop)
        return Renewal.DONE

    def _release_if_ours(self, deadline: float) -> None:
        found = self._read(deadline, None)
        if found.holder_identity != self._me:
            return
        now = self._now()
        released = replace(
            found,
            holder_identity="",
            lease_duration_seconds=_RELEASED_SECONDS,
            acquire_time=now,
            renew_time=now,
        )
        self._write(self._lock.update, released, deadline, None)

    def _renewed(self, record: LeaderElectionRecord) -> LeaderElectionRecord:
        return replace(
            record, lease_duration_seconds=self._timing.lease_seconds, renew_time=self._now()
        )

    def _read(self, deadline: float, stop: threading.Event | None) -> LeaderElectionRecord:
        found = self._lock.get(timeout=self._allowance(deadline), stop=stop)
        if found != self.observed.record:
            self.observed = Observation(found, self._clock.monotonic())
        return found

    def _write(
        self,
        send: _Send,
        record: LeaderElectionRecord,
        deadline: float,
        stop: threading.Event | None,
    ) -> None:
        sent_at = self._clock.monotonic()
        send(record, timeout=self._allowance(deadline), stop=stop)
        self.observed = Observation(record, self._clock.monotonic())
        self.renewed_at = sent_at

    def _allowance(self, deadline: float) -> float:
        """How long the next request may take."""
        remaining = deadline - self._clock.monotonic()
        if remaining <= 0:
            raise TimeoutError("no time is left before the deadline")
        return min(remaining, self._timing.request_timeout)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.time(), UTC)

    def _log_failure(self, what: str, error: Exception, stop: threading.Event) -> None:
        """Warn of each kind of failure once until an attempt succeeds.

        A failure that our own stop causes is logged at DEBUG only.
        """
        kind = type(error).__name__
        is_new = kind not in self._failures and not stop.is_set()
        self._failures.add(kind)
        level = logging.WARNING if is_new else logging.DEBUG
        _log.log(level, "%s: %s %s: %s", self._me, self._lock.describe(), what, error)

    def _log_success(self, what: str) -> None:
        if self._failures:
            self._failures.clear()
            _log.info("%s: %s %s", self._me, self._lock.describe(), what)


class _Send(Protocol):
    def __call__(
        self, record: LeaderElectionRecord, /, *, timeout: float, stop: threading.Event | None
    ) -> None: ...
