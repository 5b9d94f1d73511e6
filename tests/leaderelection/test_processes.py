"""Real processes over real HTTP.

No process loses its Lease on a busy machine: Leases are long, and end when a test shortens them or
moves the clock of all processes on.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from clientgo.api.coordination_v1 import Lease
from clientgo.client import Client
from clientgo.testcluster.server import EmbeddedAPIServer
from tests.leaderelection.shared_clock import SharedClock
from tests.leases import let_lease_end_soon
from tests.tcp_proxy import TCPProxy

_SCRIPT = Path(__file__).with_name("candidate_process.py")
_PATIENCE = 60.0
_LEASE = 60.0


class CandidateProcess:
    """A running candidate and the lines that it has written."""

    def __init__(self, url: str, identity: str, clock_file: Path) -> None:
        self._popen = subprocess.Popen(
            [sys.executable, str(_SCRIPT), url, identity, str(clock_file)],
            stdout=subprocess.PIPE,
            text=True,
        )
        self._changed = threading.Condition()
        self._lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_for(self, beginning: str, *, further: int = 1) -> None:
        """Block until that many more lines begin like that."""
        with self._changed:
            goal = self._count_locked(beginning) + further
            reached = self._changed.wait_for(
                lambda: self._count_locked(beginning) >= goal, _PATIENCE
            )
        assert reached, f"no {beginning!r} in {self._lines[-5:]}"

    def acts(self) -> list[tuple[float, int]]:
        """When it acted, and with which token."""
        with self._changed:
            parts = [line.split() for line in self._lines if line.startswith("act ")]
        return [(float(at), int(token)) for _, token, at in parts]

    def send(self, number: signal.Signals) -> None:
        self._popen.send_signal(number)

    def end(self) -> None:
        self._popen.kill()
        self._popen.wait(30)
        self._reader.join(30)
        assert self._popen.stdout is not None
        self._popen.stdout.close()

    def _count_locked(self, beginning: str) -> int:
        return sum(line.startswith(beginning) for line in self._lines)

    def _read(self) -> None:
        assert self._popen.stdout is not None
        for line in self._popen.stdout:
            with self._changed:
                self._lines.append(line.rstrip())
                self._changed.notify_all()


class Field:
    """A server, and candidates ``a``, which leads, and ``b``, which stands by.

    Between ``a`` and the server is a network of its own.
    """

    def __init__(self, server: EmbeddedAPIServer, network: TCPProxy, clock_file: Path) -> None:
        self.server = server
        self.network = network
        self.clock = SharedClock.make(clock_file)
        self.a = CandidateProcess(network.url, "a", clock_file)
        self.a.wait_for("act")
        self.b = CandidateProcess(server.url, "b", clock_file)
        self.b.wait_for("sees a")

    def let_lease_end(self) -> None:
        """Move the clock beyond the end of the Lease that ``a`` can't renew any more."""
        # Then b has seen the last renewal, and its Lease ends by b's clock as it does by that of a.
        self.b.wait_for("read", further=3)
        self.clock.skip(_LEASE)

    def assert_that_terms_did_not_overlap(self) -> None:
        tokens = [token for _, token in sorted(self.a.acts() + self.b.acts())]
        assert tokens == sorted(tokens)
        assert len(set(tokens)) == 2


@pytest.fixture
def field(tmp_path: Path) -> Iterator[Field]:
    with EmbeddedAPIServer() as server, TCPProxy(urlsplit(server.url).port or 0) as network:
        field = Field(server, network, tmp_path / "clock")
        yield field
        field.a.end()
        field.b.end()


def test_a_killed_leader_is_replaced_when_its_lease_has_ended(field: Field) -> None:
    """LE-13: after 15 to 19.4 s with the usual values."""
    field.a.send(signal.SIGKILL)
    with Client(field.server.url) as client:
        let_lease_end_soon(client, "le")

    field.b.wait_for("act")

    field.assert_that_terms_did_not_overlap()
    (died, _), (began, _) = field.a.acts()[-1], field.b.acts()[0]
    assert began - died >= 1


def test_a_leader_that_is_stopped_hands_over_before_its_lease_ends(field: Field) -> None:
    """LE-18: b finds the lease free at its next attempt, within 0.7 s."""
    field.a.send(signal.SIGTERM)
    field.a.wait_for("end stopped")

    field.b.wait_for("act")

    field.assert_that_terms_did_not_overlap()


def test_a_leader_that_is_cut_off_stops_before_another_begins(field: Field) -> None:
    """P-18: nobody tells it that it has lost, and it does not lead again when all is well."""
    field.network.cut()
    field.let_lease_end()

    field.a.wait_for("end lost")
    field.b.wait_for("act")

    field.network.mend()
    field.b.wait_for("act", further=20)
    field.assert_that_terms_did_not_overlap()
    (last, _), (first, _) = field.a.acts()[-1], field.b.acts()[0]
    assert last < first


def test_a_lease_that_somebody_takes_away_is_not_fought_for(field: Field) -> None:
    """P-16: whoever edits the lease decides; the leader is gone at its next renewal."""
    with Client(field.server.url) as client:
        client.resource(Lease).namespace("default").patch(
            "le", {"spec": {"holderIdentity": "b", "leaseTransitions": 1}}
        )

    field.a.wait_for("end lost")
    field.b.wait_for("act")
    field.assert_that_terms_did_not_overlap()


def test_a_lease_that_somebody_deletes_is_put_back_by_its_leader(field: Field) -> None:
    with Client(field.server.url) as client:
        leases = client.resource(Lease).namespace("default")
        leases.delete("le")

        field.a.wait_for("act", further=40)

        assert leases.get("le").spec.holder_identity == "a"
    assert field.b.acts() == []


def test_a_suspended_leader_does_not_act_when_it_goes_on(field: Field) -> None:
    """P-18, P-22: its own clock tells it, before any answer does."""
    field.a.send(signal.SIGSTOP)
    field.let_lease_end()
    field.b.wait_for("act", further=5)

    field.a.send(signal.SIGCONT)

    field.a.wait_for("end lost")
    field.b.wait_for("act", further=5)
    field.assert_that_terms_did_not_overlap()
    with Client(field.server.url) as client:
        lease = client.resource(Lease).namespace("default").get("le")
    assert lease.spec.holder_identity == "b", "what a releases must be its own"
