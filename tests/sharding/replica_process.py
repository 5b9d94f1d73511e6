"""One replica of a controller: ``replica_process.py SERVER ORACLE_PORT``.

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
from clientgo.util.wait import setup_signal_handler

TIMING = Timing(lease_duration=60, renew_deadline=40, retry_period=0.5)


def main(server: str, oracle_port: str) -> None:
    stop = setup_signal_handler()
    lock = threading.Lock()
    with (
        socket.create_connection(("127.0.0.1", int(oracle_port))) as oracle,
        Client(RestConfig(server=server)) as client,
    ):
        loop = ControlLoop(client, "replica", lease="default/shared", shards=16, timing=TIMING)
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
