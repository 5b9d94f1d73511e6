"""One replica of a controller: ``replica_process.py SERVER ORACLE_PORT LEASE_SECONDS``.

It tells an oracle when a sync begins and ends, on a connection that ends with the process.
"""

from __future__ import annotations

import socket
import sys
import threading
import time

from clientgo.api.core_v1 import ConfigMap
from clientgo.client import Client
from clientgo.control_loop import ControlLoop
from clientgo.leaderelection import Timing
from clientgo.meta import NotFoundError, ObjectName
from clientgo.rest import RestConfig
from clientgo.wait import setup_signal_handler


def main(server: str, oracle_port: str, lease_seconds: str) -> None:
    stop = setup_signal_handler()
    lease = float(lease_seconds)
    timing = Timing(lease_duration=lease, renew_deadline=lease * 0.7, retry_period=lease / 8)
    lock = threading.Lock()
    with (
        socket.create_connection(("127.0.0.1", int(oracle_port))) as oracle,
        Client(RestConfig(server=server)) as client,
    ):
        loop = ControlLoop(client, "replica", lease="default/shared", shards=16, timing=timing)
        cache = loop.watch(ConfigMap)

        def tell(*words: str) -> None:
            with lock:
                oracle.sendall((" ".join(words) + "\n").encode())

        def sync(name: ObjectName) -> None:
            try:
                found = cache.namespace(name.namespace).get(name.name)
            except NotFoundError:
                return
            tell("begin", str(name), found.metadata.resource_version)
            time.sleep(0.01)  # the work
            tell("end", str(name), found.metadata.resource_version)

        loop.run(sync, stop, workers=2)


if __name__ == "__main__":
    main(*sys.argv[1:])
