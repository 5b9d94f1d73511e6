"""The example of a fair queue prints what the page says."""

from __future__ import annotations

from tests.examples.running import printed_by


def test_the_quiet_key_waits_for_one_key_instead_of_ten_thousand() -> None:
    assert printed_by("fair_queue.py") == [
        "ready: {'busy': 10000, 'quiet': 1}",
        "first come, first served: 10000 keys before it",
        "fair by namespace: 1 key before it",
    ]
