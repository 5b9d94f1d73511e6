"""A transport that records the requests to a server, in order.

Promises that every request is recorded before it is sent, as by the fake client, so that a test
can check what a controller wrote; and that a test can make requests fail before they reach the
server.

Differs from the fake client in that a server answers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeAlias, Unpack

from clientgo.rest import Answer, Sending, Transport, whole_body
from clientgo.testing.fakes.actions import Action, Verb, action_of

READING = (Verb.GET, Verb.LIST, Verb.WATCH)

Interference: TypeAlias = Callable[[Action], object]


class RecordingTransport:
    """Passes requests on to another transport; thread-safe.

    ``before`` is called with each request first, in the caller's thread; what it raises is what the
    caller gets, and the request is not sent.
    """

    def __init__(self, inner: Transport, before: Interference | None = None) -> None:
        self._inner = inner
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._actions: list[Action] = []
        self.before = before

    def send(self, method: str, url: str, **options: Unpack[Sending]) -> Answer:
        sent = whole_body(options)
        if sent:
            options["body"] = sent  # what was an iterable has been read
        action = action_of(method, url, sent, options["headers"].get("Content-Type", ""))
        with self._changed:
            self._actions.append(action)
            self._changed.notify_all()
        if self.before is not None:
            self.before(action)
        return self._inner.send(method, url, **options)

    def close(self) -> None:
        self._inner.close()

    def actions(self) -> list[Action]:
        """What was asked so far."""
        with self._lock:
            return list(self._actions)

    def writes(self) -> list[Action]:
        """What was asked so far, reads left out."""
        return [action for action in self.actions() if action.verb not in READING]

    def clear(self) -> None:
        """Clear the recorded actions."""
        with self._lock:
            self._actions.clear()

    def wait_for(self, condition: Callable[[list[Action]], bool], timeout: float = 60.0) -> None:
        """Block until the recorded actions fulfil a condition, checked after every request.

        Raises ``TimeoutError`` after so many real seconds.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: condition(list(self._actions)), timeout):
                raise TimeoutError(f"after {timeout:g} s: {[str(a) for a in self._actions]}")
