"""A standby takes over when the leader is stopped."""

from __future__ import annotations

import signal

from clientgo.testcluster.server import EmbeddedAPIServer
from tests.examples.running import Running


def test_a_standby_works_when_the_leader_was_stopped() -> None:
    """LE-18."""
    with (
        EmbeddedAPIServer() as server,
        Running("leader_election.py", server.url) as leader,
    ):
        assert "term 0" in leader.read_until("works")
        with Running("leader_election.py", server.url) as standby:
            standby.read_until("sees")

            leader.send(signal.SIGTERM)

            assert "led" in leader.read_until("ends and")
            assert "term 1" in standby.read_until("works")
            leader.finish()
            standby.stop()
