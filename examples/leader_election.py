"""Several processes, one of which works at a time.

Start an API server, and then run this in two or three other terminals::

    clientgo apiserver --listen 127.0.0.1:8001
    python examples/leader_election.py http://127.0.0.1:8001

One says every second that it works, the others say who leads. Stop the leader with Ctrl-C:
another begins at once. Kill it with SIGKILL: another begins when the lease has ended, in less than
20 seconds. Suspend it with SIGSTOP for half a minute and let it go on: it finds that it does not
lead any more before it works again.
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
from clientgo.logs import setup_logging
from clientgo.wait import setup_signal_handler

setup_logging()

server = sys.argv[1] if len(sys.argv) > 1 else None  # or what the kubeconfig says
me = unique_identity()


def work(leadership: Leadership) -> None:
    """What only one process may do: here, say so."""
    while not leadership.stop.wait(1.0):
        leadership.check()
        print(f"{me} works, term {leadership.transitions}", flush=True)


config = LeaderElectionConfig(
    lock=lease_lock_from_config(server, "default", "example", me, timing=USUAL_TIMING),
    timing=USUAL_TIMING,
    on_started_leading=work,
    on_stopped_leading=lambda led: print(f"{me} ends and {'led' if led else 'never led'}"),
    on_new_leader=lambda leader: print(f"{me} sees {leader or 'nobody'} lead", flush=True),
)
try:
    ending = run_or_raise(config, setup_signal_handler())
except WorkStillRunningError as error:
    sys.exit(str(error))  # another may begin at any moment, so be gone
sys.exit(ending is Ending.LOST)  # whoever started this process may start it again
