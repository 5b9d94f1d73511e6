"""What every informer can be asked in a scenario, whoever made it.

A scenario sees an informer only from outside: what it requests, what its cache holds, which
handlers it calls. An adapter says the same things to each library in the library's own words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol


class NotOfferedError(AssertionError):
    """The library has no way to do or to tell this."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a handler; ``version`` and ``uid`` are those of the object's newest state.

    ``old_version`` is that of the state before, where an update tells it. ``may_be_stale`` says
    that a deletion was told with the warning that nobody saw the last state, ``cached`` whether
    the cache held the object at the time of the call.
    """

    kind: Literal["add", "update", "delete"]
    key: str
    version: str
    uid: str
    cached: bool
    old_version: str | None = None
    may_be_stale: bool = False

    @property
    def tells_that_nothing_changed(self) -> bool:
        return self.old_version == self.version


Handler = Callable[[Call], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How an informer is made.

    ``path`` says of what. ``hurried`` shortens the pauses after failures where that can be
    configured; not for scenarios about pauses. ``key_func`` makes the keys out of objects.
    ``wrapped_source`` passes list and watch as plain functions. ``idle_timeout`` is after how many
    seconds without a byte a watch counts as dead. ``split_recreated`` asks that an object that came
    back as another one be told as that.
    """

    path: str
    hurried: bool = True
    resync_period: float = 0.0
    key_func: Callable[[Any], str] | None = None
    wrapped_source: bool = False
    idle_timeout: float | None = None
    split_recreated: bool = False


class Subject(Protocol):
    """An informer and its client. Methods are called from any thread."""

    def start(self) -> None:
        """Begin, in the background."""

    def stop(self) -> None:
        """End; blocks until it has ended."""

    def stop_in_handler(self) -> None:
        """End, asked by a handler."""

    def keys(self) -> set[str]:
        """What the cache holds."""

    def add_handler(self, handler: Handler) -> Any:
        """Have ``handler`` called; the result is for the two methods below."""

    def remove_handler(self, registration: Any) -> None:
        """Have a handler called no more."""

    def handler_has_synced(self, registration: Any, timeout: float) -> bool:
        """Wait until a handler was told of all that was there at first."""

    def has_synced(self, timeout: float) -> bool:
        """Wait until the cache holds all that was there at first."""

    def health(self) -> tuple[bool, Exception | None]:
        """Whether the cache is being kept up to date, and what went wrong last."""

    def errors(self) -> int:
        """How many failures the informer has told of."""

    def write_back(self, key: str) -> None:
        """Put a label on a cached Pod and send it to the server."""


class MakeSubject(Protocol):
    """Makes an informer that reads a server; ``changed`` is to be called after each error."""

    def __call__(self, url: str, options: Options, changed: Callable[[], None]) -> Subject: ...
