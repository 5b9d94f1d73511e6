"""The source that a reflector reads: it lists and watches one kind of object.

A source does not page and does not retry; the reflector does both.

Differs from client-go (``tools/cache`` ListerWatcher, ``watch`` Interface): a stream returns all
events of one read as a batch, and the stop event is an argument of each call. What Go's compiler
refuses is a :class:`ListWatchError` here.
"""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

from clientgo.cache.reflector.errors import NotServedError
from clientgo.meta import ListOptions, NotFoundError, ObjectList, WatchEvent
from clientgo.util.copies import CopyableError

_log = logging.getLogger("clientgo.cache.reflector")

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
    ``supports_watch_list = False``. One that is also a :class:`ServedCheck` is asked after a 404.
    """

    def list(self, options: ListOptions, stop: threading.Event) -> ObjectList[Any]: ...

    def watch(self, options: ListOptions, stop: threading.Event) -> WatchStream: ...


@runtime_checkable
class ServedCheck(Protocol):
    """A source that can find out if the server serves its kind."""

    def why_not_served(self, stop: threading.Event) -> NotServedError | None:
        """Return why the server does not serve the kind; None if it does or that is unknown.

        A 404 alone says neither: a proxy answers so too. May raise anything, which is unknown too.
        """


class ListWatchError(CopyableError, TypeError):
    """What was given as a list-watch is none, or fails by a programming error: correct it."""


PROGRAMMING_ERRORS: Final = (TypeError, AttributeError, NameError, NotImplementedError)
"""What a source raises whose code is wrong; no retry helps."""

_ADVICE: Final = "pass client.resource(Pod), or a ListWatch of two functions"


def check_list_watch(source: object) -> None:
    """Raise :class:`ListWatchError` for an object that is no list-watch."""
    if isinstance(source, type):
        raise ListWatchError(f"the class {source.__name__} is no list-watch; {_ADVICE}")
    named = getattr(source, "__qualname__", None)
    what = f"a {type(source).__name__}" if named is None else f"the function {named}"
    for name in ("list", "watch"):
        function = getattr(source, name, None)
        if not callable(function):
            raise ListWatchError(f"{what} is no list-watch: it has no {name} method; {_ADVICE}")
        _check_function(function, f"the {name} method of {what}")


def _check_function(function: object, what: str) -> None:
    """Raise :class:`ListWatchError` unless a function can be called with options and a stop."""
    if not callable(function):
        raise ListWatchError(f"{what} is {function!r}, not a function of (options, stop)")
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise ListWatchError(f"{what} is async; a reflector calls it in a thread: make it a def")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # made in C
    try:
        signature.bind(ListOptions(), threading.Event())
    except TypeError as error:
        raise ListWatchError(f"{what} cannot be called with (options, stop): {error}") from error


class ListWatch:
    """A source made of two functions, each called with the options and the stop event.

    Raises :class:`ListWatchError` for what cannot be called so.
    """

    __slots__ = ("_list", "_watch", "supports_watch_list")

    def __init__(
        self,
        list_fn: Callable[[ListOptions, threading.Event], ObjectList[Any]],
        watch_fn: Callable[[ListOptions, threading.Event], WatchStream],
        *,
        supports_watch_list: bool = True,
    ) -> None:
        _check_function(list_fn, "the list function")
        _check_function(watch_fn, "the watch function")
        self._list = list_fn
        self._watch = watch_fn
        self.supports_watch_list = supports_watch_list

    def list(self, options: ListOptions, stop: threading.Event) -> ObjectList[Any]:
        return self._list(options, stop)

    def watch(self, options: ListOptions, stop: threading.Event) -> WatchStream:
        return self._watch(options, stop)


class CheckedSource:
    """A list-watch for a reflector: raises :class:`ListWatchError` if its code is wrong.

    That is if it returns something else than a list or a stream, or fails by a programming error
    before the method has worked once; later such an error depends on what the server sent. Raises
    :class:`NotServedError` for a 404 that means that the server does not serve the kind.
    """

    def __init__(self, source: ListerWatcher[Any], name: str) -> None:
        self._source = source
        self._name = name
        self._worked: set[str] = set()

    def list(self, options: ListOptions, stop: threading.Event) -> ObjectList[Any]:
        answer: Any = self._ask("list", options, stop)
        metadata = getattr(answer, "metadata", None)
        if not hasattr(answer, "items") or not hasattr(metadata, "resource_version"):
            raise self._wrong(
                f"the list of the list-watch returned {answer!r:.200}, not an ObjectList"
            )
        self._worked.add("list")
        content: ObjectList[Any] = answer
        return content

    def watch(self, options: ListOptions, stop: threading.Event) -> WatchStream:
        answer: Any = self._ask("watch", options, stop)
        if not isinstance(answer, WatchStream):
            returned = f"the watch of the list-watch returned {answer!r:.200}"
            raise self._wrong(f"{returned}, not a stream with read and stop")
        self._worked.add("watch")
        return answer

    def _ask(self, method: str, options: ListOptions, stop: threading.Event) -> Any:
        try:
            return getattr(self._source, method)(options, stop)
        except PROGRAMMING_ERRORS as error:
            if method in self._worked:
                raise
            problem = f"the {method} of the list-watch raised {type(error).__name__}: {error}"
            raise self._wrong(problem) from error
        except NotFoundError as error:
            if (not_served := self.why_not_served(stop)) is None:
                raise
            raise not_served from error

    def why_not_served(self, stop: threading.Event) -> NotServedError | None:
        """Return what the source says; None if it cannot say anything."""
        if not isinstance(self._source, ServedCheck):
            return None
        try:
            return self._source.why_not_served(stop)
        except Exception as error:  # noqa: BLE001 - what made it necessary to ask is reported
            _log.debug("%s: whether the kind is served is unknown: %s", self._name, error)
            return None

    def _wrong(self, problem: str) -> ListWatchError:
        return ListWatchError(f"{self._name}: {problem}; no retry helps, so it ends")
