"""Processor time for a piece of work that checks it itself."""

from __future__ import annotations

import contextvars
import time

import pytest

from clientgo.util.process import (
    CpuTimeExceededError,
    CpuTimeLimit,
    cpu_time_limit,
    current_cpu_time_limit,
)
from tests.background import Background


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
    """Also if it runs in a copy of the context, as every thread does without a global lock."""
    limit = CpuTimeLimit()
    with cpu_time_limit(-1e9, limit):
        context = contextvars.copy_context()
        Background(lambda: context.run(limit.check)).result()

        limit.cancel()
        with pytest.raises(CpuTimeExceededError):
            Background(lambda: context.run(limit.check)).result()


def test_a_cancel_while_the_work_begins_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = CpuTimeLimit()
    monkeypatch.setattr(time, "thread_time", lambda: limit.cancel() or 0.0)
    with cpu_time_limit(60.0, limit):
        monkeypatch.undo()
        with pytest.raises(CpuTimeExceededError):
            current().check()


def test_what_was_cancelled_before_it_begins_does_not_run() -> None:
    limit = CpuTimeLimit()
    limit.cancel()
    with cpu_time_limit(60.0, limit), pytest.raises(CpuTimeExceededError):
        current().check()
