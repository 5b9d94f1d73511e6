"""The example of handles: its watch ends with the last caller that waits."""

from __future__ import annotations

from tests.examples.running import printed_by


def test_the_informer_ends_with_the_last_caller() -> None:
    assert printed_by("wait_for_objects") == [
        "a is waited for, informers: 1",
        "b is waited for, informers: 1",
        "c is waited for, informers: 1",
        "no one waits, informers: 0",
    ]
