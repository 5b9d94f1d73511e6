"""Several processes, one of which works at a time.

Start an API server, and then run this in two or three other terminals::

    clientgo apiserver --kubeconfig ./kubeconfig
    KUBECONFIG=./kubeconfig python examples/leader_election.py

The leader prints a line every second, the others print who leads. Stop the leader with Ctrl-C:
another starts immediately. Kill it with SIGKILL: another starts when the lease has expired, in less
than 20 seconds. Suspend it with SIGSTOP for 30 seconds and resume it: it detects that it is not the
leader any more before it works again.
"""

import sys

from clientgo.leaderelection import (
    USUAL_TIMING,
    Ending,
    LeaderElectionConfig,
    Leadership,
    WorkStillRunningError,
    lease_lock_from_config,
    run_or_raise,
    unique_identity,
)
from clientgo.observe.logs import setup_logging
from clientgo.util.wait import setup_signal_handler

setup_logging()

server = sys.argv[1] if len(sys.argv) > 1 else None  # else the kubeconfig's
me = unique_identity()


def work(leadership: Leadership) -> None:
    """What only the leader may do: here, print a line."""
    while not leadership.stop.wait(1.0):
        leadership.check()
        print(f"{me} works, term {leadership.transitions}", flush=True)


config = LeaderElectionConfig(
    lock=lease_lock_from_config(server, "default", "example", me, timing=USUAL_TIMING),
    timing=USUAL_TIMING,
    on_started_leading=work,
    on_stopped_leading=lambda led: print(f"{me} ends and {'led' if led else 'never led'}"),
    on_new_leader=lambda leader: print(f"{me} sees the leader {leader or '(none)'}", flush=True),
)
try:
    ending = run_or_raise(config, setup_signal_handler())
except WorkStillRunningError as error:
    sys.exit(str(error))  # another leader may start, so exit immediately
sys.exit(ending is Ending.LOST)  # 1 if the lease was lost, so that the process is restarted
