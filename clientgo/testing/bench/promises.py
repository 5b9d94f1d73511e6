"""Whether a queue keeps the promises of a work queue, before it is measured beside others.

The promises: no item is taken by two workers at a time; no item is lost; an item that is added
while it is processed is handed out again after its ``done``. A queue that hands an item out twice
at a time can be measured, but is no peer of a work queue. One that loses items can't be measured.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from clientgo.testing.bench.adapters import BenchError, Factory, made, operations_of
from clientgo.testing.bench.guard import Guard
from clientgo.testing.bench.workload import StuckError, Workload, returned, run
from clientgo.util.copies import uncopyable

TWICE: Final = "hands an item to two workers at a time"

_STORM: Final = Workload(items=200, producers=2, workers=4, adds=3, readds=0.5)


@dataclass
class Promises:
    """What was found out about a queue."""

    broken: str = ""
    """The promise that it breaks and can be measured without; empty if it keeps all."""
    problem: str = ""
    """Why it can't be measured."""
    merges: bool = False
    """True if an item that waits and is added again comes once."""
    returns_pairs: bool = False


def check(factory: Factory, *, timeout: float) -> Promises:
    """Make queues and check them. Raises BenchError if the factory raises or makes no queue.

    A call that does not return within ``timeout`` seconds is a problem of the queue.
    """
    found = Promises()
    operations_of(made(factory), returns_pairs=False)
    try:
        for what, script in _SCRIPTS:
            if not found.broken:
                _call(factory, found, what, script, timeout)
        queue = operations_of(made(factory), returns_pairs=found.returns_pairs)
        if run(queue, _STORM, timeout=timeout, looks_for_twice=True).twice:
            found.broken = TWICE
    except StuckError as error:
        found.problem = f"loses items: {error}"
    except BenchError as error:
        found.problem = str(error)
    return found


def _call(factory: Factory, found: Promises, what: str, script: Any, timeout: float) -> None:
    try:
        Script(factory, found.returns_pairs, partial(script, found)).run(timeout)
    except BenchError as error:
        raise BenchError(f"{what}: {error}") from error


@uncopyable("it has a thread; make one for each queue")
class Script:
    """Calls of a new queue, one after the other, given up if one does not return."""

    def __init__(
        self,
        factory: Factory,
        returns_pairs: bool,
        steps: Callable[[Script], Awaitable[None]],
    ) -> None:
        self._queue = operations_of(made(factory), returns_pairs=returns_pairs)
        self._steps = steps
        self._calls: list[str] = []

    def run(self, timeout: float) -> None:
        """Make the calls. Raises BenchError if the queue raises or does not return."""
        Guard(self._last_calls).run(
            lambda: asyncio.run(self._all()),
            timeout,
            stuck=lambda: BenchError(f"{self._last_calls()} has not returned for {timeout:g} s"),
        )

    def _last_calls(self) -> str:
        *before, last = self._calls
        return f"{last} after {', '.join(before[-5:])}" if before else last

    async def _all(self) -> None:
        await self._steps(self)
        if self._queue.shut_down is not None:
            await self._call("shut_down()", self._queue.shut_down)

    async def add(self, *items: str) -> None:
        """Add items."""
        for item in items:
            await self._call(f"add({item!r})", self._queue.add, item)

    async def get(self) -> Any:
        """Take what comes."""
        taken = await self._call("get()", self._queue.get)
        return taken[0] if self._queue.returns_pairs else taken

    async def done(self, item: str) -> None:
        """Give an item back."""
        if self._queue.done is not None:
            await self._call(f"done({item!r})", self._queue.done, item)

    async def _call(self, name: str, method: Callable[..., Any], *args: Any) -> Any:
        self._calls = [*self._calls[-5:], name]
        return await returned(method(*args))


async def _look_at_the_pair(found: Promises, queue: Script) -> None:
    await queue.add("a")
    taken = await queue.get()
    if isinstance(taken, tuple) and taken[:1] == ("a",):
        found.returns_pairs = True
    elif taken != "a":
        raise BenchError(f"get() after add('a') returned {taken!r}")
    await queue.done("a")


async def _add_again_first(found: Promises, queue: Script) -> None:
    await _add_again(found, queue, "a", "b")


async def _add_again_last(found: Promises, queue: Script) -> None:
    await _add_again(found, queue, "b", "a")


async def _add_again(found: Promises, queue: Script, *items: str) -> None:
    """Add an item while it is processed, before or after another: in any order of items one shows
    a queue that does not keep it back."""
    await queue.add("a")
    await queue.get()
    await queue.add(*items)
    if (taken := await queue.get()) == "a":
        found.broken = TWICE
        return
    await queue.done(taken)
    await queue.done("a")
    if (again := await queue.get()) != "a":
        raise BenchError(f"get() returned {again!r}, not 'a', which was added while processed")
    await queue.done("a")


async def _add_again_while_it_waits(found: Promises, queue: Script) -> None:
    await queue.add("a", "a")
    await queue.done(await queue.get())
    await queue.add("b")
    found.merges = await queue.get() == "b"


_SCRIPTS: Final = (
    ("does not hand out what is added", _look_at_the_pair),
    ("loses an item that is added while it is processed", _add_again_first),
    ("loses an item that is added while it is processed", _add_again_last),
    ("loses an item after others were added", _add_again_while_it_waits),
)
"""What it means if a script fails, and the script."""
