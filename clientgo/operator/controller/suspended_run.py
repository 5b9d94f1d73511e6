"""A run that waits for coroutines: it has no thread until they have ended.

Promises that the coroutine is cancelled when the run should end, and that the run goes on, in a
thread, only when the coroutine has ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from clientgo.operator.runs.run_fields import RunFields, enter, leave
from clientgo.operator.runs.steps import Steps

if TYPE_CHECKING:
    from clientgo.operator.addons.coroutines import EventLoop


class SuspendedRun:
    """Takes the steps of one run from its first coroutine to the end.

    A coroutine is cancelled at ``cancelled`` or ``stopping``. ``over`` is called with what the
    steps return, or with what they raise.
    """

    def __init__(
        self,
        name: str,
        steps: Steps[str],
        loop: Callable[[], EventLoop],
        cancelled: threading.Event,
        stopping: threading.Event,
        fields: RunFields,
        over: Callable[[str, BaseException | None], object],
    ) -> None:
        self._name = name
        self._steps = steps
        self._loop = loop
        self._cancelled = cancelled
        self._stopping = stopping
        self._fields = fields
        self._over = over

    def wait_for(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine of the steps, with the context variables of the caller.

        Raises what the steps end with if it cannot begin.
        """
        # After a timeout on_error may await: only a stop cancels what begins then.
        stop = self._stopping if self._cancelled.is_set() else self._cancelled
        while True:
            try:
                self._loop().start(self._name, coroutine, self._ended, stop)
            except Exception as error:  # noqa: BLE001 - the steps have what to do about it
                coroutine.close()
                coroutine = _next_of(self._steps, partial(_fail, error))
            else:
                return

    def _ended(self, outcome: Callable[[], Any]) -> None:
        self._loop().in_thread(partial(self._go_on, outcome))

    def _go_on(self, outcome: Callable[[], Any]) -> None:
        """Take the steps up to the next coroutine."""
        ended, failure = "error", None
        token = enter(self._fields)
        try:
            self.wait_for(_next_of(self._steps, outcome))
        except StopIteration as stop:
            ended = stop.value
        except BaseException as error:  # noqa: BLE001 - the controller stops, and raises it
            failure = error
        else:
            return
        finally:
            leave(token)
        self._over(ended, failure)


def _fail(error: Exception) -> Any:
    raise error


def _next_of(steps: Steps[str], outcome: Callable[[], Any]) -> Coroutine[Any, Any, Any]:
    try:
        value = outcome()
    except BaseException as error:  # noqa: BLE001 - the steps have what to do about it
        return steps.throw(error)
    return steps.send(value)
