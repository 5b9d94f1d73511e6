"""What stands behind a path of the webhook server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

MAX_BODY: Final = 7 * 1024 * 1024
"""Bytes; as large a review is refused. An API server lets objects in of up to 3 MiB."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a path.

    ``body`` is empty where it ``is_too_large``. ``timeout`` is how long the caller waits, in
    seconds, where it says so.
    """

    body: bytes
    content_type: str = "application/json"
    timeout: float | None = None
    is_too_large: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """``status`` is that of HTTP; what became of the review stands in ``body``."""

    status: int
    body: bytes
    content_type: str = "application/json"


class Endpoint(Protocol):
    """Answers calls; thread-safe, and never raises."""

    def answer(self, call: Call) -> Answer: ...


DEFAULT_TIMEOUT: Final = 10.0
"""Seconds that an API server waits for a webhook unless its configuration says otherwise."""

_MARGIN: Final = 1.0
"""Seconds left for the way back, so that the user reads our reason and not "deadline exceeded"."""


def handler_limit(timeout: float | None) -> float:
    """Seconds that a handler may take when the caller waits for ``timeout``."""
    waits = DEFAULT_TIMEOUT if timeout is None else timeout
    return max(waits - _MARGIN, waits / 2)
