"""What the process does around a controller: signals, interrupts, threads that are refused."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from clientgo.testing import FakeClock
from clientgo.util.process import ThreadStartError
from clientgo.workqueue import PriorityQueue, RateLimitingQueue
from tests.threads import refused_threads


def run(script: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return result.stdout


def test_sigterm_stops_a_program_that_uses_asyncio_too() -> None:
    """FIELD-71: an event loop takes the wake-up descriptor of the interpreter."""
    script = """
        import asyncio, os, signal
        from clientgo.util.wait import setup_signal_handler

        async def main():
            asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, print)
            os.kill(os.getpid(), signal.SIGTERM)
            print(await asyncio.to_thread(stop.wait, 60))

        stop = setup_signal_handler()
        asyncio.run(main())
    """
    assert run(script) == "True\n"


def test_a_signal_handler_shuts_down_the_queue_that_it_interrupts() -> None:
    """FIELD-72."""
    script = """
        import signal
        from clientgo.workqueue import FIFO, Queue

        class Interrupted(FIFO):
            def push(self, item):
                super().append(item)
                signal.raise_signal(signal.SIGTERM)

        queue = Queue(ordering=Interrupted())
        signal.signal(signal.SIGTERM, lambda *_: queue.shut_down())
        queue.add("a")
        for item in queue.items():
            print(item)
    """
    assert run(script) == "a\n"


def test_a_key_that_cannot_be_compared_once_breaks_no_queue() -> None:
    """FIELD-73."""

    class Key(str):
        fails = False

        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            if self.fails:
                raise ValueError("not comparable")
            return str.__eq__(self, other)

    queue: PriorityQueue[str] = PriorityQueue()
    odd, same = Key("odd"), Key("odd")
    queue.add(odd)
    odd.fails = same.fails = True
    with pytest.raises(ValueError, match="not comparable"):
        queue.add(same)
    odd.fails = same.fails = False
    queue.add("other")

    assert [queue.get()[0], queue.get()[0]] == ["odd", "other"]


def test_a_thread_that_is_refused_once_loses_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """FIELD-74: a container's limit of processes is reached for a moment."""
    clock = FakeClock()
    queue: RateLimitingQueue[str] = RateLimitingQueue(clock=clock)
    with refused_threads(monkeypatch, at=1), pytest.raises(ThreadStartError):
        queue.add_after("a", 1.0)
    queue.add_after("a", 1.0)
    clock.wait_for_waiters(1)
    clock.step(1.0)

    assert queue.get() == ("a", False)
    queue.shut_down()


def test_one_failing_key_does_not_delay_the_retries_of_others() -> None:
    """FIELD-75."""
    clock = FakeClock()
    queue: RateLimitingQueue[str] = RateLimitingQueue(clock=clock)
    for _ in range(5000):
        queue.add_rate_limited("hot")
    queue.add_rate_limited("other")

    assert queue.explain("other").due == pytest.approx(clock.monotonic() + 0.2)
    queue.shut_down()
