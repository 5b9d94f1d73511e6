"""The source that a reflector reads: something that lists and watches one kind of object.

Promises the two protocols that a reflector needs and :class:`ListWatch`, which makes a source of
two functions. Does not page and does not retry: the reflector does both. Differs from client-go
(``tools/cache`` ListerWatcher, ``watch`` Interface) in that a stream hands out what one read
brought in as one batch, so that locks are taken once a batch further on, and in that the stop
event is an argument of each call instead of a context.
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
        """Block until the server says something and return all that arrived, in order.

        An empty sequence means that the stream has ended cleanly or was stopped; a failure of the
        connection raises. An event's object may be a ``Status`` (type ERROR) or an
        ``Undecodable``.
        """

    def stop(self) -> None:
        """End the stream from any thread, as often as liked; a blocked ``read`` returns."""


class ListerWatcher(Protocol[T_co]):
    """Lists and watches one kind of object.

    A call must end soon after ``stop`` is set, by returning or by raising anything. If ``watch``
    raises, it has released what it opened. An implementation that cannot stream an initial list
    has an attribute ``supports_watch_list = False``; without the attribute it can.
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
