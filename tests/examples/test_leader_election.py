"""The page on elections shows the example as it is, and a standby takes over when it is stopped."""

from __future__ import annotations

import signal

from clientgo.testcluster.server import EmbeddedAPIServer
from tests.examples.running import ROOT, Running

EXAMPLE = ROOT / "examples" / "leader_election.py"


def test_the_page_shows_the_example_as_it_is() -> None:
    page = (ROOT / "docs" / "library" / "leader-election.md").read_text()

    assert f"```python\n{EXAMPLE.read_text()}```" in page


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
