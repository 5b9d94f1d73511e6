"""The elector: competes for a lock and runs the guarded work while it holds it.

Promises: no two electors of one lock let their work act at the same time, under the assumptions in
docs/concepts/leader-election.md. A run ends when it is stopped, when leadership is lost and when
the work ends: the work is stopped first, then the lock is released if possible.

Does not lead again after a loss, nor end the process: call `run` again, or exit.

Differs from client-go (`tools/leaderelection`, LeaderElector): a candidate tries at the moment a
lease ends or is released, not up to two retry periods later; a failure of the work is raised.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable

from clientgo.leaderelection.config import LeaderElectionConfig
from clientgo.leaderelection.health import LeaseExpiredError
from clientgo.leaderelection.leader_reporter import LeaderReporter
from clientgo.leaderelection.leadership import Leadership
from clientgo.leaderelection.lease_claim import LeaseClaim
from clientgo.leaderelection.lease_watch import LeaseWatch
from clientgo.leaderelection.term import Ending, Term
from clientgo.leaderelection.timing import JITTER_FACTOR
from clientgo.observe.metrics import MetricsProvider, default_provider
from clientgo.observe.metrics.names import LEADER_ELECTION_MASTER_STATUS, LEADER_ELECTION_SLOWPATH
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable
from clientgo.util.process import refuse_in_child
from clientgo.util.wait import jitter

_log = logging.getLogger("clientgo.leaderelection")


@uncopyable("it has threads; make one in each process")
class LeaderElector:
    """One candidate. Its questions are answered in every thread; one thread runs it.

    Source: tools/leaderelection, LeaderElector.
    """

    def __init__(
        self,
        config: LeaderElectionConfig,
        *,
        clock: Clock = REAL_CLOCK,
        metrics: MetricsProvider | None = None,
        random: Callable[[], float] = random.random,
    ) -> None:
        provider = metrics if metrics is not None else default_provider()
        self._config = config
        self._timing = config.timing
        self._lock = config.lock
        self._name = config.name or config.lock.describe()
        self._clock = clock
        self._random = random
        self._running = threading.Lock()
        self._reporter = LeaderReporter(config.on_new_leader, self._name, self._lock.identity)
        self._master = provider.gauge(LEADER_ELECTION_MASTER_STATUS, name=self._name)
        self._master.set(0)
        self._claim = LeaseClaim(
            config.lock,
            config.timing,
            clock=clock,
            slow_path=provider.counter(LEADER_ELECTION_SLOWPATH, name=self._name),
        )
        refuse_in_child(
            self,
            f"the elector {self._name}",
            "_running",
            "_claim",
            advice="make an elector with another identity in the child",
        )
        if config.timing.is_cut_short:
            _log.warning(
                "%s: lease_duration should exceed renew_deadline by two retry periods; as it is, "
                "a leader gives up %g s after its last renewal",
                self._name,
                config.timing.safe_period,
            )

    def run(self, stop: threading.Event) -> Ending:
        """Compete until ``stop`` is set or one term as leader is over, and tell which.

        Blocks; all threads have ended on return. ``on_stopped_leading`` is called last. Raises
        what the guarded work raised; :class:`WorkStillRunningError` if that could not be stopped,
        after which the process should end; ``RuntimeError`` if it runs already.
        """
        if not self._running.acquire(blocking=False):
            raise RuntimeError(f"{self._name}: this elector runs already; make another one")
        led = False
        try:
            led = self._acquire(stop)
            return self._lead(stop) if led else Ending.STOPPED
        finally:
            self._reporter.close()
            self._running.release()
            self._config.on_stopped_leading(led)

    def get_leader(self) -> str:
        """Return who led when the lock was last seen; empty if there was none, or before that."""
        return self._claim.observed.record.holder_identity

    def is_leader(self) -> bool:
        """Return True if we led when the lock was last seen.

        That may be long ago: guarded work asks its :class:`Leadership`, which looks at the clock.
        """
        return self._claim.is_ours

    def check(self, tolerance: float) -> None:
        """Raise :class:`LeaseExpiredError` if we believe to lead, and our lease has expired.

        ``tolerance`` is how many seconds that is excused for.
        """
        overdue = self._clock.monotonic() - self._claim.observed.at - self._timing.lease_duration
        if self.is_leader() and overdue > tolerance:
            raise LeaseExpiredError(
                f"{self._name}: {self._lock.identity} failed to renew its lease, which expired "
                f"{overdue:g} s ago; restart this process"
            )

    def _acquire(self, stop: threading.Event) -> bool:
        """Try until we lead; False if ``stop`` comes first."""
        if stop.is_set():
            return False
        _log.info("%s: %s attempts to become leader", self._name, self._lock.identity)
        pause = self._timing.retry_period
        with LeaseWatch(self._lock, stop, pause=pause, clock=self._clock) as watch:
            while not self._try_once(stop):
                if watch.wait(self._pause()):
                    return False
        if stop.is_set():
            # The answer came as we were leaving: a term that only stops need not begin.
            self._release()
            return False
        return True

    def _try_once(self, stop: threading.Event) -> bool:
        acquired = self._claim.acquire(stop)
        self._report()
        # A response that took as long as the lease lasts is useless.
        return acquired and self._safe_until() > self._clock.monotonic()

    def _pause(self) -> float:
        """The time until the next attempt to acquire."""
        pause = jitter(self._timing.retry_period, JITTER_FACTOR, random=self._random)
        expires_in = self._claim.expires_in()
        return min(pause, expires_in) if expires_in > 0 else pause

    def _lead(self, stop: threading.Event) -> Ending:
        me = self._lock.identity
        transitions = self._claim.observed.record.leader_transitions
        term = Term(
            self._claim,
            self._timing,
            Leadership(me, transitions, self._safe_until(), self._clock),
            self._config.on_started_leading,
            name=self._name,
            stop_timeout=self._config.stop_timeout,
            after_attempt=self._report,
            clock=self._clock,
        )
        self._master.set(1)
        try:
            self._lock.record_event("became leader")
            _log.info("%s: %s became leader (transition %d)", self._name, me, transitions)
            ending = term.run(stop)
            if ending is Ending.LOST:
                self._log_loss()
            return ending
        finally:
            self._master.set(0)
            if term.is_over:
                self._release()
            if term.work_has_ended:  # else WorkStillRunningError says that it goes on
                self._lock.record_event("stopped leading")
                _log.info("%s: %s stopped leading", self._name, me)

    def _log_loss(self) -> None:
        me, leader = self._lock.identity, self.get_leader()
        if leader in ("", me):
            age = self._clock.monotonic() - self._claim.renewed_at
            why = f"it was last renewed {age:.0f} s ago"
        else:
            why = f"it is held by {leader}"
        _log.warning("%s: %s has lost the lease: %s", self._name, me, why)

    def _release(self) -> None:
        if self._config.release_on_stop:
            self._claim.release()

    def _report(self) -> None:
        self._reporter.report(self.get_leader())

    def _safe_until(self) -> float:
        return self._claim.renewed_at + self._timing.safe_period


def run_or_raise(
    config: LeaderElectionConfig,
    stop: threading.Event,
    *,
    clock: Clock = REAL_CLOCK,
    metrics: MetricsProvider | None = None,
) -> Ending:
    """Run one elector, watched by the ``health`` of its configuration.

    Blocks and raises as :meth:`LeaderElector.run` does.

    Source: tools/leaderelection, RunOrDie.
    """
    elector = LeaderElector(config, clock=clock, metrics=metrics)
    if config.health is not None:
        config.health.attach(elector)
    return elector.run(stop)
