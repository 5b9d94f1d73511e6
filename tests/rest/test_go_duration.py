from __future__ import annotations

import pytest

from clientgo.rest.requests.go_duration import go_duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (1e-9, "1ns"),
        (1.5e-6, "1.5µs"),
        (0.0025, "2.5ms"),
        (0.5, "500ms"),
        (1, "1s"),
        (1.5, "1.5s"),
        (32, "32s"),
        (60, "1m0s"),
        (90.25, "1m30.25s"),
        (3600, "1h0m0s"),
        (5400, "1h30m0s"),
        (360000, "100h0m0s"),
    ],
)
def test_durations_read_as_in_go(seconds, text):
    assert go_duration(seconds) == text
