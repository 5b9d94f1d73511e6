"""Calling handlers with a limit on their time and on their number.

Promises: ``call`` returns or raises within its limit, whatever the handler does. A handler that
hangs keeps its daemon thread, since nothing can end one from outside; so there are only so many of
them, and when all hang new calls fail at once instead of piling up.

Differs from controller-runtime, where a handler that hangs holds its goroutine until the API
server gives up, and then for ever.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from clientgo.clock import REAL_CLOCK, Clock
from clientgo.operator.webhooks.refusal import HandlerTimeoutError, TooManyCallsError

T = TypeVar("T")

MAX_CALLS: Final = 64
"""Handlers at work at once; an API server has fewer requests to one webhook in flight."""


class CallLimiter:
    """Runs handlers, each in a thread of its own. Thread-safe."""

    def __init__(self, max_calls: int = MAX_CALLS, *, clock: Clock = REAL_CLOCK) -> None:
        self._max_calls = max_calls
        self._clock = clock
        self._lock = threading.Lock()
        self._at_work: set[_Call[Any]] = set()

    def call(self, function: Callable[[], T], limit: float, name: str) -> T:
        """Return ``function()`` or raise what it raises; wait at most ``limit`` seconds.

        Raises ``HandlerTimeoutError`` and ``TooManyCallsError``. ``name`` is what the handler is
        called in these and in its thread's name.
        """
        call = _Call(function, self._clock, self._ended)
        with self._lock:
            if len(self._at_work) >= self._max_calls:
                raise TooManyCallsError(
                    f"{name}: {len(self._at_work)} handlers are at work; try again later"
                )
            self._at_work.add(call)
        try:
            call.start(f"webhook-handler{name}")
        except RuntimeError as error:
            self._ended(call)
            raise TooManyCallsError(f"{name}: {error}; try again later") from error
        return call.result(limit, name)

    def threads(self) -> list[threading.Thread]:
        """The threads of handlers that are at work."""
        with self._lock:
            return [call.thread for call in self._at_work]

    def _ended(self, call: _Call[Any]) -> None:
        with self._lock:
            self._at_work.discard(call)


class _Call(Generic[T]):
    """One run of a handler."""

    def __init__(
        self, function: Callable[[], T], clock: Clock, ended: Callable[[_Call[Any]], None]
    ) -> None:
        self._function = function
        self._clock = clock
        self._tell_ended = ended
        self._changed = threading.Condition()
        self._ended = False
        self._value: T
        self._error: Exception | None = None
        # Log lines of the handler carry what those of the request do.
        self._context = contextvars.copy_context()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def start(self, name: str) -> None:
        self.thread.name = name
        self.thread.start()

    def result(self, limit: float, name: str) -> T:
        deadline = self._clock.monotonic() + limit
        with self._changed:
            while not self._ended:
                if self._clock.monotonic() >= deadline:
                    raise HandlerTimeoutError(
                        f"{name}: the handler has not answered within {limit:g} s"
                    )
                self._clock.wait_until(self._changed, deadline)
        if self._error is not None:
            raise self._error
        return self._value

    def _run(self) -> None:
        try:
            self._value = self._context.run(self._function)
        except Exception as error:  # noqa: BLE001 - raised in the thread that asked
            self._error = error
        except BaseException as error:  # noqa: BLE001 - SystemExit must not end the connection
            self._error = RuntimeError(f"the handler raised {error!r}")
        finally:
            self._tell_ended(self)
            with self._changed:
                self._ended = True
                self._changed.notify_all()
