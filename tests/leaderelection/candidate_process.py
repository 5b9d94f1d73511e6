"""A candidate in a process of its own: ``python candidate_process.py URL IDENTITY CLOCK``.

Writes ``read`` for each look at the Lease, ``act TOKEN TIME`` for everything it does while it
leads, and at last ``end HOW``. The time is that of a clock in a file, which all candidates share.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from clientgo.leaderelection import (
    LeaderElectionConfig,
    LeaderElectionRecord,
    Leadership,
    Timing,
    lease_lock_from_config,
    run_or_raise,
)
from clientgo.util.wait import setup_signal_handler
from tests.leaderelection.shared_clock import SharedClock

TIMING = Timing(lease_duration=60, renew_deadline=59, retry_period=0.3)


def act(clock: SharedClock, leadership: Leadership) -> None:
    while not leadership.stop.wait(0.02):
        now = clock.monotonic()
        leadership.check()
        print("act", leadership.transitions, now, flush=True)


def main(url: str, identity: str, clock_file: str) -> None:
    clock = SharedClock(Path(clock_file))
    lock = lease_lock_from_config(url, "default", "le", identity, timing=TIMING)
    get = lock.get

    def read(**options: Any) -> LeaderElectionRecord:
        record = get(**options)
        print("read", flush=True)
        return record

    lock.get = read  # type: ignore[method-assign]
    config = LeaderElectionConfig(
        timing=TIMING,
        lock=lock,
        on_started_leading=partial(act, clock),
        on_stopped_leading=lambda _: None,
        on_new_leader=lambda leader: print("sees", leader, flush=True),
    )
    print("end", run_or_raise(config, setup_signal_handler(), clock=clock).value, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
