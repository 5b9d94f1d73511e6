"""The attempts of one call: throttled, sent, and repeated where that is safe.

Promises: each attempt takes a token of the client's rate limiter (the first of a watch needs
none). A 429 or 5xx with whole seconds in `Retry-After` is tried again after that time. A lost
connection is tried again after one second for a GET, and for a watch also when the server fell
silent. A stop event ends everything. The caller gets the last response or error.

Does not repeat what the server may have carried out: the caller decides about a write whose
connection broke. Source: client-go `rest` withRetry, Request.request, Request.Watch.
"""

from __future__ import annotations

import enum
import logging
import threading
from dataclasses import dataclass
from typing import Final, NamedTuple

from clientgo.meta import StatusError
from clientgo.rest.errors import (
    ConnectionLostError,
    RequestStoppedError,
    ThrottledError,
    TransportError,
    TransportTimeoutError,
)
from clientgo.rest.requests.failure import retry_after
from clientgo.rest.requests.request_metrics import NO_ANSWER
from clientgo.rest.requests.shared_parts import SharedParts
from clientgo.rest.requests.throttling import OWN_LIMIT
from clientgo.rest.transport.exchange import Answer, Headers, RequestBody
from clientgo.util.flowcontrol import NotAcceptedError

_log = logging.getLogger("clientgo.rest")

DEFAULT_MAX_RETRIES: Final = 10
_PAUSE_AFTER_LOSS: Final = 1.0
_WORTH_READING: Final = 2048
_WORTH_WAITING: Final = 1.0
"""Bytes, and seconds for each read of them, that are spent on a refused answer so that its
connection can be used again."""


class CallKind(enum.Enum):
    """What is done with the answer, which decides what may be retried."""

    PLAIN = enum.auto()
    STREAM = enum.auto()
    WATCH = enum.auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request as it goes out. ``timeout`` bounds a plain call with its retries; 0 does not."""

    kind: CallKind
    method: str
    url: str
    headers: Headers
    body: RequestBody = None
    timeout: float = 0.0
    read_timeout: float | None = None
    max_retries: int = DEFAULT_MAX_RETRIES


class _Outcome(NamedTuple):
    """How an attempt ended: the HTTP code or the type of error, and what to say of it."""

    kind: object
    text: str


class Attempts:
    """Carries out one call, in one thread."""

    def __init__(self, call: Call, shared: SharedParts, stop: threading.Event | None) -> None:
        self._call = call
        self._shared = shared
        self._stop = stop
        self._deadline: float | None = None
        self._count = 0
        self._previous: _Outcome | None = None

    def open(self) -> Answer:
        """Send until there is an answer to keep, good or bad, and return it with its body unread.

        Raises :class:`~clientgo.rest.errors.TransportError`.
        """
        throttled_for = "" if self._call.kind is CallKind.WATCH else OWN_LIMIT
        while True:
            if throttled_for:
                self._throttle(throttled_for)
            if self._count == 0 and self._call.kind is CallKind.PLAIN and self._call.timeout:
                self._deadline = self._shared.clock.monotonic() + self._call.timeout
            try:
                answer = self._attempt()
            except TransportError as error:
                if not self._may_follow(error):
                    self.mention_previous(error)
                    raise
                pause, self._previous = _PAUSE_AFTER_LOSS, _Outcome(type(error), str(error))
            else:
                seconds = self._asked_to_wait(answer)
                if seconds is None:
                    return answer
                pause = float(seconds)
                self._previous = _Outcome(answer.status, f"HTTP {answer.status}")
                self._discard(answer)
            _log.info(
                "%s %s: trying again in %g s after: %s",
                self._call.method,
                self._call.url,
                pause,
                self._previous.text,
            )
            throttled_for = f"a retry after: {self._previous.text}"
            if self._shared.clock.sleep(pause, self._stop):
                raise self._stopped()

    def read(self, answer: Answer) -> bytes:
        """Return the whole body of an answer, within the deadline of the call."""
        pieces = []
        while piece := answer.read(self._read_timeout()):
            pieces.append(piece)
        return b"".join(pieces)

    def mention_previous(self, error: StatusError | TransportError) -> None:
        """Add to the final error how the attempt before ended, if it differs."""
        kind = error.code if isinstance(error, StatusError) else type(error)
        if self._previous is not None and self._previous.kind != kind:
            error.args = (f"{error} (the attempt before ended otherwise: {self._previous.text})",)

    def _attempt(self) -> Answer:
        call = self._call
        if self._stop is not None and self._stop.is_set():
            raise self._stopped()
        self._count += 1
        code: int | str = NO_ANSWER
        try:
            answer = self._shared.transport.send(
                call.method,
                call.url,
                headers=call.headers,
                body=call.body,
                read_timeout=self._read_timeout(),
                stop=self._stop,
            )
            code = answer.status
            return answer
        finally:
            self._shared.metrics.attempt(call.method, code)
            if self._count > 1:
                self._shared.metrics.retry(call.method, code)

    def _throttle(self, reason: str) -> None:
        shared, call = self._shared, self._call
        if shared.limiter is None:
            return
        before = shared.clock.monotonic()
        try:
            shared.limiter.wait(timeout=self._remaining(), stop=self._stop)
        except NotAcceptedError as error:
            if self._stop is not None and self._stop.is_set():
                raise self._stopped() from error
            raise ThrottledError(
                call.method, call.url, f"{error}; raise qps or the timeout of the client"
            ) from error
        waited = shared.clock.monotonic() - before
        shared.throttling.waited(waited, reason, call.method, call.url)
        shared.metrics.throttled(call.method, waited)

    def _may_follow(self, error: TransportError) -> bool:
        """Return True if another attempt may follow this error."""
        call = self._call
        if call.kind is CallKind.WATCH:
            retriable = is_end_of_watch(error)
        else:
            retriable = (
                call.kind is CallKind.PLAIN
                and call.method == "GET"
                and isinstance(error, ConnectionLostError)
            )
        return retriable and self._has_attempts_left(_PAUSE_AFTER_LOSS)

    def _asked_to_wait(self, answer: Answer) -> int | None:
        """Return after how many seconds to try again; None if the answer stands."""
        if answer.status != 429 and answer.status < 500:
            return None
        seconds = retry_after(answer.headers)
        if seconds is None or not self._has_attempts_left(seconds):
            return None
        return seconds

    def _has_attempts_left(self, pause: float) -> bool:
        remaining = self._remaining()
        return (
            self._count <= max(self._call.max_retries, 0)
            and isinstance(self._call.body, bytes | None)
            and (remaining is None or pause < remaining)
        )

    def _discard(self, answer: Answer) -> None:
        """Close an answer; a short body is read, so that its connection can be used again."""
        left = _WORTH_READING
        try:
            while left > 0 and (piece := answer.read(_WORTH_WAITING)):
                left -= len(piece)
        except TransportError as error:
            _log.debug("%s", error)
        answer.close()

    def _remaining(self) -> float | None:
        if self._deadline is None:
            return None
        return self._deadline - self._shared.clock.monotonic()

    def _read_timeout(self) -> float | None:
        """Return for how many seconds the next read may block."""
        remaining = self._remaining()
        if remaining is None:
            return self._call.read_timeout
        if remaining <= 0:
            raise TransportTimeoutError(
                self._call.method,
                self._call.url,
                f"not done within its timeout of {self._call.timeout} s; allow more",
            )
        longest = self._call.read_timeout
        return remaining if longest is None else min(remaining, longest)

    def _stopped(self) -> RequestStoppedError:
        return RequestStoppedError(self._call.method, self._call.url, "stopped before it was sent")


def is_end_of_watch(error: Exception) -> bool:
    """Return True if a watch that met this error may simply be opened again where it was."""
    return isinstance(error, ConnectionLostError | TransportTimeoutError)
