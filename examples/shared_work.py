"""Processes that share the objects of one controller: ``shared_work.py PROCESSES [SECONDS]``.

``clientgo apiserver -- python examples/shared_work.py 2 5`` runs it on an API server of its own.
Each sync computes for two milliseconds, and asks to be called again. Every process prints which
share it has; at the end, how many syncs it did.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter

from clientgo.api.core_v1 import ConfigMap
from clientgo.client import Client
from clientgo.control_loop import ControlLoop
from clientgo.meta import AlreadyExistsError, ObjectMeta, ObjectName
from clientgo.sharding import process_number, run_processes, stop_with_parent
from clientgo.util.wait import setup_signal_handler

OBJECTS = 64
NAMES = [f"work-{number}" for number in range(OBJECTS)]


def say(text: str) -> None:
    """Print a line in one piece: the processes share the terminal."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(processes: int, seconds: float) -> int:
    if not process_number():
        return run_processes(processes)
    stop = setup_signal_handler()
    stop_with_parent(stop)
    done: Counter[str] = Counter()
    with Client() as client:
        if process_number() == 1:
            create_objects(client)
        loop = ControlLoop(client, "shared-work", lease="default/shared-work", shards=16)
        loop.watch(ConfigMap)

        def sync(name: ObjectName) -> float | None:
            if name.name not in NAMES:
                return None
            end = time.thread_time() + 0.002
            while time.thread_time() < end:
                pass  # the work
            done[name.name] += 1
            return 0.0

        def measure() -> None:
            while len(loop.ownership.owned) != 16 // processes:
                if stop.wait(0.1):
                    return
            say(f"process {process_number()} has {len(loop.ownership.owned)} of 16 shards")
            wait_for_all("ready")
            if stop.is_set():
                return
            before, began = done.total(), time.monotonic()
            stop.wait(seconds)
            rate = (done.total() - before) / (time.monotonic() - began)
            say(f"process {process_number()}: {rate:.0f} syncs a second")
            wait_for_all("measured")
            stop.set()

        def wait_for_all(state: str) -> None:
            configmaps = client.resource(ConfigMap).namespace("default")
            prefix = f"{state}-{os.getppid()}-"  # the parent is the same for all
            name = f"{prefix}{process_number()}"
            configmaps.create(ConfigMap(metadata=ObjectMeta(name=name)))
            while True:
                names = [each.metadata.name for each in configmaps.list().items]
                if sum(name.startswith(prefix) for name in names) == processes or stop.wait(0.1):
                    return

        thread = threading.Thread(target=measure)
        thread.start()
        loop.run(sync, stop)
        thread.join()
    return 0


def create_objects(client: Client) -> None:
    for name in NAMES:
        try:
            client.resource(ConfigMap).namespace("default").create(
                ConfigMap(metadata=ObjectMeta(name=name))
            )
        except AlreadyExistsError:
            continue


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 5.0))
