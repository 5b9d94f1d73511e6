from __future__ import annotations

from tests.examples.running import printed_by


def test_a_pod_runs_commands_answers_and_logs() -> None:
    assert printed_by("pod_streams") == [
        "the pod runs",
        "its environment: ['HOSTNAME=web-0', 'COLOR=red']",
        "cat has written: from here, and back",
        "false ends with: 1",
        "its port answers: web-0",
        "its log begins: web runs in pod default/web-0 on node-1",
        "and goes on: GET / 200",
        "lines after its end: []",
    ]
