"""Processor time for a piece of work that checks it itself."""

from __future__ import annotations

import threading
import time

import pytest

from clientgo.util.process import (
    CpuTimeExceededError,
    CpuTimeLimit,
    cpu_time_limit,
    current_cpu_time_limit,
)


def current() -> CpuTimeLimit:
    limit = current_cpu_time_limit()
    assert limit is not None
    return limit


def test_work_without_a_limit_has_none() -> None:
    assert current_cpu_time_limit() is None
    with cpu_time_limit(1.0):
        current().check()
    assert current_cpu_time_limit() is None


def test_the_time_that_its_thread_uses_counts() -> None:
    def check_always() -> None:
        while True:
            current().check()

    with cpu_time_limit(0.02), pytest.raises(CpuTimeExceededError):
        check_always()


def test_the_time_that_others_use_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    used = 5.0
    monkeypatch.setattr(time, "thread_time", lambda: used)
    with cpu_time_limit(1.0):
        current().check()
        used = 6.0
        current().check()
        used = 6.1
        with pytest.raises(CpuTimeExceededError):
            current().check()


def test_an_inner_limit_ends_with_its_block() -> None:
    with cpu_time_limit(60.0):
        with cpu_time_limit(-1.0), pytest.raises(CpuTimeExceededError):
            current().check()
        current().check()


def test_another_thread_has_no_limit_and_can_cancel() -> None:
    limit, found = CpuTimeLimit(), []
    with cpu_time_limit(60.0, limit):
        thread = threading.Thread(
            target=lambda: (found.append(current_cpu_time_limit()), limit.cancel())
        )
        thread.start()
        thread.join()

        assert found == [None]
        with pytest.raises(CpuTimeExceededError):
            current().check()


def test_what_was_cancelled_before_it_begins_does_not_run() -> None:
    limit = CpuTimeLimit()
    limit.cancel()
    with cpu_time_limit(60.0, limit), pytest.raises(CpuTimeExceededError):
        current().check()
