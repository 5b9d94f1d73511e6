"""Loops, back-off and stopping: how every part of clientgo waits.

A `stop: threading.Event` is what a context is in client-go. Blocking calls take it and return when
it is set; code that blocks on something else registers a callback with `call_when_set`. Nothing
polls.

- `until`, `poll_until`: loops on an injected clock;
- `Backoff`: the numbers of a back-off; `BackoffSteps` and `BackoffManager` walk along them;
- `on_error`, `retry_on_conflict`: try again while an error is retriable; `NotReadyError`: to be
  called again, though nothing failed;
- `setup_signal_handler`, `stop_on_signals`: SIGINT and SIGTERM as stop events;
  `call_on_signals` passes them on;
- `wait_for_event`: wait for an event, but not beyond a stop;
- `StopEvent`: the stop event of a component for its own parts.
"""

from clientgo.util.wait.backoff import Backoff, BackoffManager, BackoffSteps, Reset, jitter
from clientgo.util.wait.loop import (
    WaitCancelledError,
    WaitInterruptedError,
    WaitTimeoutError,
    poll_until,
    until,
)
from clientgo.util.wait.retry import (
    DEFAULT_BACKOFF,
    DEFAULT_RETRY,
    NotReadyError,
    is_conflict,
    on_error,
    retry_on_conflict,
)
from clientgo.util.wait.signals import call_on_signals, setup_signal_handler, stop_on_signals
from clientgo.util.wait.stop import Registration, StopEvent, call_when_set, wait_for_event

__all__ = [
    "until",
    "poll_until",
    "WaitInterruptedError",
    "WaitTimeoutError",
    "WaitCancelledError",
    "Backoff",
    "BackoffSteps",
    "BackoffManager",
    "Reset",
    "jitter",
    "on_error",
    "retry_on_conflict",
    "is_conflict",
    "NotReadyError",
    "DEFAULT_RETRY",
    "DEFAULT_BACKOFF",
    "call_when_set",
    "wait_for_event",
    "Registration",
    "StopEvent",
    "setup_signal_handler",
    "stop_on_signals",
    "call_on_signals",
]
