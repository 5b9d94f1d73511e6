"""Sending one write to an API server, with a limited number of attempts.

A refusal by the server is final, and so is a request that cannot be sent. Everything else is tried
again, up to :data:`MAX_TRIES` times. A lost write is logged once, with its reason.

Source: `tools/record` recordToSink and recordEvent; `tools/events` attemptRecording.
"""

from __future__ import annotations

import enum
import logging
import threading
from collections.abc import Callable
from typing import Final

from clientgo.meta import AlreadyExistsError, DecodeError, StatusError
from clientgo.util.clock import Clock

_log = logging.getLogger("clientgo.record")

MAX_TRIES: Final = 12
RETRY_INTERVAL: Final = 10.0
"""Seconds between tries; with MAX_TRIES this bridges the restart of an API server (100 s)."""


class Outcome(enum.Enum):
    """The result of an attempt."""

    WRITTEN = "written"
    LOST = "lost"
    """It was refused, or cannot be sent: another try would end in the same way."""

    EXISTS = "exists"
    """It has been created before: by an earlier try, if there was one that got no answer."""

    UNANSWERED = "unanswered"


def attempt(send: Callable[[], object], what: str) -> Outcome:
    """Call ``send`` once. ``what`` says in the log which event it is about."""
    try:
        send()
    except AlreadyExistsError as error:
        _log_refusal(what, error)
        return Outcome.EXISTS
    except StatusError as error:
        _log_refusal(what, error)
        return Outcome.LOST
    except Exception as error:  # noqa: BLE001 - a sink is user code
        if _cannot_be_sent(error):
            _log.error("Event can't be sent and is lost: %s: %s", what, error)
            return Outcome.LOST
        _log.debug("Event not written, no answer came: %s: %s", what, error)
        return Outcome.UNANSWERED
    return Outcome.WRITTEN


def deliver(
    send: Callable[[], object],
    what: str,
    *,
    pause: Callable[[int], float],
    stopping: threading.Event,
    clock: Clock,
) -> bool:
    """Try until there is an answer; return whether it is written.

    ``pause`` gives the seconds to wait after the n-th try. Once ``stopping`` is set there is a
    single try, also for an event that was waiting for its next one. Blocks.
    """
    for tries in range(1, MAX_TRIES + 1):
        is_last = tries == MAX_TRIES or stopping.is_set()
        outcome = attempt(send, what)
        if outcome is Outcome.EXISTS:
            return tries > 1
        if outcome is not Outcome.UNANSWERED:
            return outcome is Outcome.WRITTEN
        if is_last:
            break
        clock.sleep(pause(tries), stopping)
    _log.error("Event is lost, tries without an answer: %d: %s", tries, what)
    return False


def _cannot_be_sent(problem: Exception) -> bool:
    """Return True if it failed before anything was sent, unlike an answer that does not decode."""
    return isinstance(problem, TypeError | ValueError) and not isinstance(problem, DecodeError)


def _log_refusal(what: str, error: StatusError) -> None:
    terminating = any(c.reason == "NamespaceTerminating" for c in error.status.details.causes)
    expected = terminating or isinstance(error, AlreadyExistsError)
    level = logging.DEBUG if expected else logging.ERROR
    _log.log(level, "Event refused by the server and lost: %s: %s", what, error)
