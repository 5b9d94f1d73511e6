"""One replica in a process of its own: ``python replica_process.py URL IDENTITY``.

Says ``leads`` when it has begun to work.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from clientgo.operator import LeaderElection, Manager


def main(url: str, identity: str) -> None:
    election = LeaderElection(
        id="replicas", namespace="default", identity=identity, lease=60, renew=40, retry=0.2
    )
    manager = Manager(url, metrics="0", leader_election=election)

    def work(stop: threading.Event) -> None:
        print("leads", flush=True)
        stop.wait()

    manager.add_runnable(work)
    manager.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
