"""Replicas in processes of their own, one of which is killed; an oracle watches from outside."""

from __future__ import annotations

import json
import signal
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clientgo.api.coordination_v1 import Lease
from clientgo.api.core_v1 import ConfigMap
from clientgo.client import Client
from clientgo.meta import ObjectMeta
from clientgo.sharding.shard_leases import HOLDERS
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.util.wait import retry_on_conflict

PROGRAM = Path(__file__).with_name("replica_process.py")


class Oracle:
    """What the replicas do, and whether two of them ever worked on one key at a time."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.working: dict[str, int] = {}
        self.done: dict[str, tuple[int, int]] = {}
        """For each key the newest version that was synced, and the replica that did it."""
        self.overlaps: list[str] = []
        self.ended: set[int] = set()

    def begin(self, replica: int, key: str) -> None:
        with self.changed:
            if key in self.working:
                self.overlaps.append(f"{key}: {replica} and {self.working[key]}")
            self.working[key] = replica

    def end(self, replica: int, key: str, version: int) -> None:
        with self.changed:
            self.working.pop(key, None)
            self.done[key] = max(self.done.get(key, (0, 0)), (version, replica))
            self.changed.notify_all()

    def gone(self, replica: int) -> None:
        with self.changed:
            self.working = {key: r for key, r in self.working.items() if r != replica}
            self.ended.add(replica)
            self.changed.notify_all()

    def wait_for_end(self, timeout: float) -> bool:
        """Wait until a replica has ended."""
        with self.changed:
            return self.changed.wait_for(lambda: self.ended, timeout)

    def wait_for(self, versions: dict[str, int], timeout: float) -> bool:
        """Wait until each key was synced in this version or a newer one."""
        with self.changed:
            return self.changed.wait_for(
                lambda: all(self.done.get(k, (0, 0))[0] >= v for k, v in versions.items()), timeout
            )


@contextmanager
def listening(oracle: Oracle) -> Iterator[int]:
    class Lines(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            replica = self.client_address[1]
            for line in self.rfile:
                what, key, version = line.decode().split()
                if what == "begin":
                    oracle.begin(replica, key)
                else:
                    oracle.end(replica, key, int(version))
            oracle.gone(replica)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Lines) as server:
        server.daemon_threads = False
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def remove_member(client: Client, pid: int) -> None:
    """Remove what a process has left behind, instead of waiting for the end of its Lease.

    So processes can have Leases that they do not lose on a busy machine.
    """
    leases = client.resource(Lease).namespace("default")
    (member,) = [lease for lease in leases.list().items if f"-{pid}-" in lease.metadata.name]
    leases.delete(member.metadata.name)
    identity = member.spec.holder_identity

    def give_up_its_shards() -> None:
        group = leases.get("shared")
        assert group.metadata.annotations is not None
        holders = json.loads(group.metadata.annotations[HOLDERS])
        assert identity in holders
        left = ["" if holder == identity else holder for holder in holders]
        group.metadata.annotations[HOLDERS] = json.dumps(left)
        leases.update(group)

    retry_on_conflict(give_up_its_shards)


def test_the_keys_of_a_killed_replica_are_processed_by_the_others(
    kube_api_server: EmbeddedAPIServer, kube_client: Client
) -> None:
    maps = kube_client.resource(ConfigMap).namespace("default")
    names = [f"m{number}" for number in range(40)]

    def touch(value: str) -> dict[str, int]:
        """Change every object; return the version of each."""
        changed = [maps.patch(name, {"data": {"value": value}}) for name in names]
        return {f"default/{o.metadata.name}": int(o.metadata.resource_version) for o in changed}

    for name in names:
        maps.create(ConfigMap(metadata=ObjectMeta(name=name)))
    oracle = Oracle()
    with listening(oracle) as port:
        command = [sys.executable, PROGRAM, kube_api_server.url, str(port)]
        replicas = [subprocess.Popen(command) for _ in range(4)]
        try:
            rounds = 0
            while True:  # until all four have a share
                rounds += 1
                assert oracle.wait_for(touch(f"joining-{rounds}"), 60)
                if len({replica for _, replica in oracle.done.values()}) == 4:
                    break
            replicas[0].kill()
            assert oracle.wait_for_end(60)
            remove_member(kube_client, replicas[0].pid)
            assert oracle.wait_for(touch("killed"), 60)
            assert oracle.overlaps == []
        finally:
            for replica in replicas:
                replica.send_signal(signal.SIGTERM)
            codes = [replica.wait(60) for replica in replicas]
    assert codes == [-signal.SIGKILL, 0, 0, 0]
    assert oracle.overlaps == []


pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills processes as POSIX does")
