"""One term as leader: the guarded work, the renewals, and their end in the right order.

Promises: the work runs while the lease is renewed. It is told to stop when the program stops, when
the lease is lost, or early enough before it would expire. The lease is renewed until the work has
ended, which ends the term. A renewal that hangs delays neither.

Work that ignores its stop event raises :class:`WorkStillRunningError`: end the process then.

Differs from client-go (`tools/leaderelection`, LeaderElector.renew), which may release the lease
while the work runs, and keeps it when the work has died.
"""

from __future__ import annotations

import enum
import logging
import threading
from collections.abc import Callable
from functools import partial

from clientgo.leaderelection.leadership import Leadership, LeadershipLostError
from clientgo.leaderelection.lease_claim import LeaseClaim, Renewal
from clientgo.leaderelection.timing import Timing
from clientgo.util.clock import Clock, nanoseconds
from clientgo.util.copies import CopyableError
from clientgo.util.process import SupervisedThread, start_threads
from clientgo.util.wait import WaitInterruptedError, call_when_set, poll_until

_log = logging.getLogger("clientgo.leaderelection")


class Ending(enum.Enum):
    """Why an election came to its end."""

    STOPPED = "stopped"
    """The program asked for it."""
    LOST = "lost"
    """The lease was taken, or could not be renewed in time."""
    FINISHED = "finished"
    """The guarded work returned."""


class WorkStillRunningError(CopyableError, RuntimeError):
    """The guarded work did not end in time. Another leader may begin: end this process."""


class Term:
    """Runs once. ``after_attempt`` is called after each attempt to renew."""

    def __init__(
        self,
        claim: LeaseClaim,
        timing: Timing,
        leadership: Leadership,
        work: Callable[[Leadership], object],
        *,
        name: str,
        stop_timeout: float,
        after_attempt: Callable[[], object],
        clock: Clock,
    ) -> None:
        self._claim = claim
        self._timing = timing
        self._leadership = leadership
        self._guarded = work
        self._name = name
        self._stop_timeout = stop_timeout
        self._after_attempt = after_attempt
        self._clock = clock
        self._changed = threading.Condition(threading.Lock())
        self._work_ended: Ending | None = None
        self._work_error: BaseException | None = None
        self._renewal_ended = False
        self._end_renewal = threading.Event()

    @property
    def work_has_ended(self) -> bool:
        """Return True once the guarded work has returned or raised."""
        with self._changed:
            return self._work_ended is not None

    @property
    def is_over(self) -> bool:
        """Return True if nothing of this term is left: only then may the lease be given up."""
        with self._changed:
            return self._work_ended is not None and self._renewal_ended

    def run(self, stop: threading.Event) -> Ending:
        """Block until the term is over, and tell why.

        Raises what the guarded work raised, and :class:`WorkStillRunningError` if it runs on.
        """
        work = self._thread(self._work, "leading")
        renewal = self._thread(self._renew, "renewal")
        try:
            start_threads([work, renewal])
        except BaseException:
            with self._changed:  # nothing runs, so the lease may be given up
                self._work_ended, self._renewal_ended = Ending.FINISHED, True
            raise
        registration = call_when_set(stop, self._wake)
        try:
            ending = self._wait_for_end(stop)
        finally:
            registration.cancel()
            self._leadership.stop.set()
            if self._wait_for_work():
                work.join()
            self._end_renewal.set()
            if self._wait_for_renewal():
                renewal.join()
        with self._changed:
            if self._work_ended is None:
                raise WorkStillRunningError(
                    f"{self._name}: the guarded work still runs although it was told to stop; "
                    "its lease is left to expire; end this process before another leader begins"
                )
            if self._work_error is not None:
                raise self._work_error
        return ending

    def _thread(self, target: Callable[[], None], role: str) -> SupervisedThread:
        return SupervisedThread(target, name=f"{self._name}-{role}", then="the term ends")

    def _work(self) -> None:
        ended, error = Ending.FINISHED, None
        try:
            self._guarded(self._leadership)
        except LeadershipLostError:
            # It has looked at the clock before we have.
            ended = Ending.LOST
        except BaseException as raised:  # noqa: BLE001 - raised again by run()
            error = raised
        with self._changed:
            self._work_ended, self._work_error = ended, error
            self._changed.notify_all()

    def _renew(self) -> None:
        try:
            while True:
                deadline = self._clock.monotonic() + self._timing.renew_deadline
                poll_until(
                    partial(self._renew_once, deadline),
                    interval=self._timing.retry_period,
                    timeout=self._timing.renew_deadline,
                    stop=self._end_renewal,
                    clock=self._clock,
                )
                if self._clock.sleep(self._timing.retry_period, self._end_renewal):
                    break
        except (WaitInterruptedError, _LeaseOverError) as reason:
            _log.debug("%s: renewals end: %s", self._name, reason)
        finally:
            with self._changed:
                self._renewal_ended = True
                self._changed.notify_all()

    def _renew_once(self, deadline: float) -> bool:
        renewal = self._claim.renew(deadline, self._end_renewal)
        self._after_attempt()
        if renewal is Renewal.OVER:
            raise _LeaseOverError("the lease is not ours any more")
        self._leadership.extend(self._claim.renewed_at + self._timing.safe_period)
        return renewal is Renewal.DONE

    def _wait_for_end(self, stop: threading.Event) -> Ending:
        with self._changed:
            while (ending := self._ending_locked(stop)) is None:
                self._clock.wait_until(self._changed, self._leadership.safe_until)
            return ending

    def _ending_locked(self, stop: threading.Event) -> Ending | None:
        if self._work_ended is not None:
            return self._work_ended
        if stop.is_set():
            return Ending.STOPPED
        if self._renewal_ended or self._leadership.remaining() <= 0:
            return Ending.LOST
        return None

    def _wait_for_work(self) -> bool:
        """Wait while the lease lasts, which is still renewed, and not longer than we may.

        If the lease is over already, as it may be for a process that was suspended, the work gets
        its margin anyway.
        """
        told = self._clock.monotonic()
        with self._changed:
            while self._work_ended is None:
                lease_ends = max(self._leadership.safe_until, told) + self._timing.stop_margin
                deadline = min(told + self._stop_timeout, lease_ends)
                if self._has_come(deadline):
                    return False
                self._clock.wait_until(self._changed, deadline)
        return True

    def _wait_for_renewal(self) -> bool:
        """Wait for an attempt that was cut off; one that hangs anyway is left behind."""
        deadline = self._clock.monotonic() + self._timing.request_timeout
        with self._changed:
            while not self._renewal_ended and not self._has_come(deadline):
                self._clock.wait_until(self._changed, deadline)
            return self._renewal_ended

    def _has_come(self, instant: float) -> bool:
        return nanoseconds(self._clock.monotonic()) >= nanoseconds(instant)

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()


class _LeaseOverError(Exception):
    """Ends the renewals."""
