"""A user's queue or client ends a measurement with one error, or is given up."""

from __future__ import annotations

import asyncio
import itertools
import threading

import pytest

from clientgo.testing.bench.adapters import BenchError
from clientgo.testing.bench.guard import Guard


def stuck() -> BenchError:
    return BenchError("stuck")


def test_what_is_slow_is_given_up_only_without_progress() -> None:
    release, calls = threading.Event(), itertools.count(1)

    def progress() -> int:
        if (number := next(calls)) == 3:
            release.set()
        return number

    Guard(lambda: "it").run(release.wait, 0.001, progress=progress, stuck=stuck)

    assert release.is_set()


def test_a_call_without_progress_is_given_up() -> None:
    release = threading.Event()
    with pytest.raises(BenchError, match="stuck"):
        Guard(lambda: "it").run(release.wait, 0.001, progress=lambda: 0, stuck=stuck)
    release.set()


def test_the_error_of_a_task_is_named_without_its_group() -> None:
    async def fail() -> None:
        raise ConnectionError("no broker")

    async def tasks() -> None:
        async with asyncio.TaskGroup() as group, asyncio.TaskGroup() as inner:
            group.create_task(asyncio.Event().wait())
            inner.create_task(fail())

    with pytest.raises(BenchError, match=r"^the queue raised ConnectionError: no broker$"):
        Guard(lambda: "the queue").run(lambda: asyncio.run(tasks()), 20.0, stuck=stuck)
