"""The event loop of a manager: it takes the steps of runs whose user code may await.

Promises that a run has no thread while its coroutine runs, that the coroutine is cancelled when the
run should end, and that the run goes on, in a thread, only when the coroutine has ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from types import CoroutineType
from typing import ClassVar

from clientgo.aio import EventLoop
from clientgo.operator.addons.coroutines.client import AsyncLiveClient
from clientgo.operator.client.live_client import LiveClient
from clientgo.operator.errors import CancelledError
from clientgo.operator.runs.run_fields import enter, leave
from clientgo.operator.runs.steps import Outcome, RunSteps, UserCode, raising, returning
from clientgo.util.copies import uncopyable


@uncopyable("it has threads; make one in each process")
class OperatorLoop(EventLoop):
    """An :class:`~clientgo.aio.EventLoop` for runs. Thread-safe."""

    cancellation: ClassVar[type[Exception]] = CancelledError

    def client(self, client: LiveClient, stop: threading.Event) -> AsyncLiveClient:
        """Return a client that does what ``client`` does, until ``stop``, and whose calls await."""
        return AsyncLiveClient(client, self.calls, stop)

    def take_steps(self, steps: RunSteps, over: Callable[[BaseException | None], object]) -> None:
        """Take the steps of a run, without this thread from the first coroutine on.

        ``over`` is called after the last, with what they raised.
        """
        self._go_on(steps, over, steps.begin)

    def _go_on(
        self,
        steps: RunSteps,
        over: Callable[[BaseException | None], object],
        step: Callable[[], UserCode | None],
    ) -> None:
        """Take a step and those that follow, up to the next coroutine. Blocks."""

        def ended(outcome: Outcome) -> None:
            self.in_thread(partial(self._go_on, steps, over, partial(steps.end, outcome)))

        failure: BaseException | None = None
        token = enter(steps.fields)
        try:
            while (call := step()) is not None:
                outcome = self._called(steps, call, ended)
                if outcome is None:
                    return
                step = partial(steps.end, outcome)
        except BaseException as error:  # noqa: BLE001 - the controller stops, and raises it
            failure = error
        finally:
            leave(token)
        steps.over()
        over(failure)

    def _called(
        self, steps: RunSteps, call: UserCode, ended: Callable[[Outcome], None]
    ) -> Outcome | None:
        """Call user code; return its outcome, None if it is a coroutine, which runs now."""
        try:
            returned = call()
            if isinstance(returned, CoroutineType):
                self.start(steps.name, returned, ended, steps.stop())
                return None
        except Exception as error:  # noqa: BLE001 - the steps have what to do about it
            return raising(error)
        return returning(returned)
