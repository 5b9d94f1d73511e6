"""What lists and watches one namespace of one kind, and takes notes of the answers.

Promises to say whether the API server has the kind at all, to call back with each list before
anything of it is delivered, and to call back when the server may have been away.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from clientgo.cache import Latch, ListerWatcher, WatchStream
from clientgo.meta import ListOptions, NotFoundError, ObjectList


class ObservedLister:
    """Passes on to ``inner``. For the thread of one reflector.

    ``on_list`` is called with each list that came. ``on_recovery`` is called with each list but
    the first, and with the first answer after a request that failed.
    """

    def __init__(
        self,
        inner: ListerWatcher[Any],
        on_list: Callable[[], object],
        on_recovery: Callable[[], object],
    ) -> None:
        self._inner = inner
        self._on_list = on_list
        self._on_recovery = on_recovery
        self._listed = False
        self._failing = False
        self.supports_watch_list = getattr(inner, "supports_watch_list", True)
        self.answered = Latch()
        """Set once the server has listed the kind, or has answered that it does not have it."""
        self.unserved = False
        """Whether the last answer was that the server does not have it."""

    def list(self, options: ListOptions, stop: threading.Event) -> ObjectList[Any]:
        found: ObjectList[Any] = self._noted(lambda: self._inner.list(options, stop))
        self._list_came()
        return found

    def watch(self, options: ListOptions, stop: threading.Event) -> WatchStream:
        stream: WatchStream
        if options.send_initial_events:
            stream = self._noted(lambda: self._inner.watch(options, stop))
            self._list_came()
            return stream
        try:
            stream = self._inner.watch(options, stop)
        except Exception:
            self._failing = True
            raise
        if self._failing:
            self._recovered()
        return stream

    def _noted(self, ask: Callable[[], Any]) -> Any:
        try:
            answer = ask()
        except NotFoundError:
            self.unserved = True
            self.answered.set()
            raise
        except Exception:
            self._failing = True
            raise
        self.unserved = False
        self.answered.set()
        return answer

    def _list_came(self) -> None:
        self._on_list()
        if self._listed or self._failing:
            self._recovered()
        self._listed = True

    def _recovered(self) -> None:
        self._failing = False
        self._on_recovery()
