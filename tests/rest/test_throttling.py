from __future__ import annotations

import logging

import pytest

from clientgo.rest.requests.throttling import ThrottlingLog
from clientgo.testing import FakeClock

LOGGER = "clientgo.rest.throttling"


@pytest.mark.parametrize(("waited", "lines"), [(0.05, 0), (0.051, 1), (1.0, 1), (1.001, 2)])
def test_the_longer_the_wait_the_louder(caplog, waited, lines):
    """REST-05: beyond 50 ms in detail, beyond 1 s also for everybody."""
    with caplog.at_level(logging.DEBUG, LOGGER):
        ThrottlingLog(FakeClock()).waited(waited, "a reason", "GET", "http://host/x")

    assert len(caplog.records) == lines


@pytest.mark.parametrize(("level", "lines"), [(logging.INFO, 100), (logging.DEBUG, 1000)])
def test_ten_thousand_long_waits_in_a_thousand_seconds(caplog, level, lines):
    """REST-05: one line in ten seconds, with debugging one a second."""
    clock = FakeClock()
    log = ThrottlingLog(clock)
    with caplog.at_level(level, LOGGER):
        for _ in range(10_000):
            log.waited(2.0, "a reason", "GET", "http://host/x")
            clock.step(0.1)

    in_detail = 10_000 if level == logging.DEBUG else 0
    assert len(caplog.records) - in_detail == lines
