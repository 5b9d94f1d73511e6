"""The source that a reflector reads: it lists and watches one kind of object.

A source does not page and does not retry; the reflector does both.

Differs from client-go (``tools/cache`` ListerWatcher, ``watch`` Interface): a stream returns all
events of one read as a batch, and the stop event is an argument of each call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

from clientgo.meta import ListOptions, ObjectList, WatchEvent

T_co = TypeVar("T_co", covariant=True)


@runtime_checkable
class WatchStream(Protocol):
    """An open watch."""

    def read(self) -> Sequence[WatchEvent[Any]]:
        """Block until events arrive and return all of them, in order.

        Returns none when the stream has ended without an error or was stopped. Raises when the
        connection fails. The object of an event may be a ``Status`` (type ERROR) or an
        ``Undecodable``.
        """

    def stop(self) -> None:
        """End the stream, from any thread; a blocked ``read`` returns. Idempotent."""


class ListerWatcher(Protocol[T_co]):
    """Lists and watches one kind of object.

    A call must return, or raise anything, soon after ``stop`` is set. A ``watch`` that raises must
    release what it opened. A source that cannot stream an initial list has an attribute
    ``supports_watch_list = False``.
    """

    def list(self, options: ListOptions, stop: threading.Event) -> ObjectList[Any]: ...

    def watch(self, options: ListOptions, stop: threading.Event) -> WatchStream: ...


class ListWatch:
    """A source made of two functions, each called with the options and the stop event."""

    __slots__ = ("_list", "_watch", "supports_watch_list")

    def __init__(
        self,
        list_fn: Callable[[ListOptions, threading.Event], ObjectList[Any]],
        watch_fn: Callable[[ListOptions, threading.Event], WatchStream],
        *,
        supports_watch_list: bool = True,
    ) -> None:
        self._list = list_fn
        self._watch = watch_fn
        self.supports_watch_list = supports_watch_list

    def list(self, options: ListOptions, stop: threading.Event) -> ObjectList[Any]:
        return self._list(options, stop)

    def watch(self, options: ListOptions, stop: threading.Event) -> WatchStream:
        return self._watch(options, stop)
