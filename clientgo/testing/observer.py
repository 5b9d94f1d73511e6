"""Wait until the API shows something, without polling and sleeping.

Promises that a condition is checked after every change of the watched kinds, through watches of
its own; it shares nothing with the code under test. It does not see changes of other kinds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

from clientgo.cache import Lister, wait_for_cache_sync
from clientgo.client import Client
from clientgo.informers import SharedInformerFactory
from clientgo.meta import NotFoundError, Resource
from clientgo.util.copies import CopyableError

R = TypeVar("R", bound=Resource)


class ObserverClosedError(CopyableError):
    """The observer is closed."""


class Observer:
    """Watches some kinds and waits for conditions on them. A context manager."""

    def __init__(self, client: Client, *types: type[Resource]) -> None:
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._factory = SharedInformerFactory(client)
        self._informers = [self._factory.informer_for(type_) for type_ in types]
        for informer in self._informers:
            informer.add_event_handler(
                on_add=self._notice, on_update=self._notice, on_delete=self._notice
            )

    def lister(self, type_: type[R]) -> Lister[R]:
        """Read what has been seen of a kind.

        Raises ValueError for a kind that the observer does not watch.
        """
        if type_ not in self._factory.informers():
            raise ValueError(
                f"this observer does not watch {type_.__name__}; make it of all kinds that you read"
            )
        return self._factory.lister_for(type_)

    def wait_until(self, seen: Callable[[], object], timeout: float = 60.0) -> bool:
        """Wait until ``seen()`` is true or ``timeout`` seconds have passed; returns which.

        A lister that does not find what ``seen`` asks for counts as false. Raises
        :class:`ObserverClosedError` when the observer is closed meanwhile.
        """
        with self._changed:
            ended = self._changed.wait_for(lambda: self._stop.is_set() or _is(seen), timeout)
        if self._stop.is_set():
            raise ObserverClosedError("the observer was closed while something waited on it")
        return ended

    def close(self) -> None:
        """Stop watching; a wait in another thread ends. Idempotent."""
        self._stop.set()
        self._notice()
        self._factory.shutdown()

    def __enter__(self) -> Self:
        self._factory.start(self._stop)
        wait_for_cache_sync(self._stop, *self._informers)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _notice(self, *_: Any) -> None:
        with self._changed:
            self._changed.notify_all()


def _is(seen: Callable[[], object]) -> bool:
    try:
        return bool(seen())
    except NotFoundError:
        return False
