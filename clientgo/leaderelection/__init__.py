"""Leader election: one of several processes acts, the others stand by.

::

    LeaderElector ──► LeaseClaim ──► LeaseLock ──► Lease on the API server
         │             what to send    how
         └──► Term ──► Leadership ──► on_started_leading(leadership)
               │                        the guarded work, here a controller's run
               └──► renewals

::

    config = LeaderElectionConfig(
        lock=lease_lock_from_config(None, "default", "foo", unique_identity(), timing=USUAL_TIMING),
        timing=USUAL_TIMING,
        on_started_leading=lambda leadership: controller.run(leadership.stop),
        on_stopped_leading=lambda led: log.info("stopped"),
    )
    run_or_raise(config, stop)

docs/concepts/leader-election.md says what is assumed of clocks and of the guarded work.
"""

from clientgo.leaderelection.config import LeaderElectionConfig
from clientgo.leaderelection.health import LeaderHealth, LeaseExpiredError
from clientgo.leaderelection.leader_elector import LeaderElector, run_or_raise
from clientgo.leaderelection.leadership import Leadership, LeadershipLostError
from clientgo.leaderelection.locks.lease_lock import (
    LeaseLock,
    lease_lock_from_config,
    unique_identity,
)
from clientgo.leaderelection.locks.lock import Lock
from clientgo.leaderelection.locks.record import (
    LeaderElectionRecord,
    lease_spec_to_record,
    record_to_lease_spec,
)
from clientgo.leaderelection.term import Ending, WorkStillRunningError
from clientgo.leaderelection.timing import PATIENT_TIMING, USUAL_TIMING, Timing

__all__ = [
    "LeaderElector",
    "LeaderElectionConfig",
    "Timing",
    "USUAL_TIMING",
    "PATIENT_TIMING",
    "run_or_raise",
    "Ending",
    "WorkStillRunningError",
    # what guarded work sees
    "Leadership",
    "LeadershipLostError",
    # health
    "LeaderHealth",
    "LeaseExpiredError",
    # locks
    "LeaseLock",
    "lease_lock_from_config",
    "unique_identity",
    "Lock",
    "LeaderElectionRecord",
    "record_to_lease_spec",
    "lease_spec_to_record",
]
