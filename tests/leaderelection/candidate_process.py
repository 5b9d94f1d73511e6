"""A candidate in a process of its own: ``python candidate_process.py URL IDENTITY LEASE``.

Writes ``act TOKEN TIME`` for everything it does while it leads, and at last ``end HOW``. The time
is that of the system's monotonic clock, which all processes share.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from clientgo.leaderelection import (
    LeaderElectionConfig,
    Leadership,
    Timing,
    lease_lock_from_config,
    run_or_raise,
)
from clientgo.wait import setup_signal_handler


def act(leadership: Leadership) -> None:
    while not leadership.stop.wait(0.02):
        now = time.monotonic()
        leadership.check()
        print("act", leadership.transitions, now, flush=True)


def main(url: str, identity: str, lease: str) -> None:
    seconds = float(lease)
    timing = Timing(lease_duration=seconds, renew_deadline=seconds - 1, retry_period=0.3)
    config = LeaderElectionConfig(
        timing=timing,
        lock=lease_lock_from_config(url, "default", "le", identity, timing=timing),
        on_started_leading=act,
        on_stopped_leading=lambda _: None,
        on_new_leader=lambda leader: print("sees", leader, flush=True),
    )
    print("end", run_or_raise(config, setup_signal_handler()).value, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
