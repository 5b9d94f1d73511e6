"""The event loop of a manager: it takes the steps of runs, and makes the client of coroutines."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import ClassVar

from clientgo.aio import EventLoop
from clientgo.operator.addons.coroutines.async_run import AsyncRun
from clientgo.operator.addons.coroutines.client import AsyncLiveClient
from clientgo.operator.client.live_client import LiveClient
from clientgo.operator.errors import CancelledError
from clientgo.operator.runs.steps import RunSteps
from clientgo.util.copies import uncopyable


@uncopyable("it has threads; make one in each process")
class OperatorLoop(EventLoop):
    """An :class:`~clientgo.aio.EventLoop` for runs. Thread-safe."""

    cancellation: ClassVar[type[Exception]] = CancelledError

    def take_steps(self, steps: RunSteps, over: Callable[[BaseException | None], object]) -> None:
        """Take the steps of a run, without this thread from the first coroutine on."""
        AsyncRun(steps, self, self.in_thread, over).go_on(steps.begin)

    def client(self, client: LiveClient, stop: threading.Event) -> AsyncLiveClient:
        """Return a client that does what ``client`` does, until ``stop``, and whose calls await."""
        return AsyncLiveClient(client, self.calls, stop)
