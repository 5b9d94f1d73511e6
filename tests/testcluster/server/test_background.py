"""Background work is tried again after delays of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from clientgo.testcluster.server.controllers.background import BackgroundWork
from clientgo.testcluster.server.storage.storage import Storage


class _Timers:
    """Records what an event loop is asked to call later, and calls it on demand."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.delays: list[float] = []
        self._loop = loop
        self._calls: list[tuple[asyncio.TimerHandle, Callable[..., None], Any]] = []

    def call_later(
        self, delay: float, call: Callable[..., None], *args: Any
    ) -> asyncio.TimerHandle:
        self.delays.append(delay)
        handle = asyncio.TimerHandle(0, call, args, self._loop)
        self._calls.append((handle, call, args))
        return handle

    def expire(self) -> None:
        calls, self._calls = self._calls, []
        for handle, call, args in calls:
            if not handle.cancelled():
                call(*args)


class _Calls(list[str]):
    """The arguments that work was called with."""

    async def note(self, argument: str) -> None:
        self.append(argument)


_Test = Callable[[BackgroundWork, _Timers], Awaitable[None]]


def _run(monkeypatch: pytest.MonkeyPatch, test: _Test) -> None:
    async def in_loop() -> None:
        loop = asyncio.get_running_loop()
        timers = _Timers(loop)
        with monkeypatch.context() as patched:
            patched.setattr(loop, "call_later", timers.call_later)
            work = BackgroundWork(Storage())
            await test(work, timers)
            await work.settle()

    asyncio.run(in_loop())


def test_each_argument_has_its_own_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A namespace that was refused for the first time did wait as long as an older one."""
    called = _Calls()

    async def test(work: BackgroundWork, timers: _Timers) -> None:
        for _ in range(3):
            work.retry(called.note, "old")
            work.retry(called.note, "old")
            timers.expire()
        work.retry(called.note, "new")
        timers.expire()
        assert timers.delays == [0.1, 0.2, 0.4, 0.1]

    _run(monkeypatch, test)

    assert called == ["old", "old", "old", "new"]


def test_what_was_forgotten_is_not_called_and_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    called = _Calls()

    async def test(work: BackgroundWork, timers: _Timers) -> None:
        work.retry(called.note, "gone")
        timers.expire()
        work.retry(called.note, "gone")
        work.forget(called.note, "gone")
        timers.expire()
        await work.settle()
        assert called == ["gone"]
        work.retry(called.note, "gone")
        assert timers.delays == [0.1, 0.2, 0.1]

    _run(monkeypatch, test)


def test_what_is_asked_twice_is_called_once(monkeypatch: pytest.MonkeyPatch) -> None:
    called = _Calls()

    async def test(work: BackgroundWork, timers: _Timers) -> None:
        work.later(1.0, called.note, "a")
        work.later(2.0, called.note, "a")
        work.later(2.0, called.note, "b")
        work.forget(called.note, "b")
        timers.expire()
        work.later(3.0, called.note, "a")
        assert timers.delays == [1.0, 2.0, 3.0]
        work.close()
        timers.expire()

    _run(monkeypatch, test)

    assert called == ["a"]


def test_a_restart_starts_what_was_stopped_and_nothing_that_waits_since(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was restored from a directory has begun to wait by then."""
    called = _Calls()

    async def test(work: BackgroundWork, timers: _Timers) -> None:
        work.retry(called.note, "stopped")
        work.close()
        timers.expire()
        work.later(1.0, called.note, "restored")
        work.resume()
        await work.settle()
        assert called == ["stopped"]
        timers.expire()

    _run(monkeypatch, test)

    assert called == ["stopped", "restored"]
