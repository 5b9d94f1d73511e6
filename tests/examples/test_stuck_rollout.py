from __future__ import annotations

from tests.examples.running import printed_by


def test_a_rollout_gets_stuck_and_is_undone() -> None:
    assert printed_by("stuck_rollout") == [
        "version 1 runs in three pods",
        "the new pod can't pull its image: manifest unknown",
        "the rollout is stuck: ProgressDeadlineExceeded",
        "the old pods still serve: 3 available",
        "undone: version 1 runs in three pods, and nothing else does",
    ]
