"""What lists and watches one namespace of one kind, and takes notes of the answers.

Promises to say whether the API server has the kind at all, and to tell of each list before anybody
knows what is in it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from clientgo.cache import ListerWatcher, WatchStream
from clientgo.cache.latch import Latch
from clientgo.meta import ListOptions, NotFoundError, ObjectList


class NotingLister:
    """Passes on to ``inner``. Thread-safe; ``on_list`` is called with each list that came."""

    def __init__(self, inner: ListerWatcher[Any], on_list: Callable[[], object]) -> None:
        self._inner = inner
        self._on_list = on_list
        self.supports_watch_list = getattr(inner, "supports_watch_list", True)
        self.answered = Latch()
        """Set once the server has listed the kind, or has said that it does not have it."""
        self.unserved = False
        """Whether the server said last that it does not have it."""

    def list(self, options: ListOptions, stop: threading.Event) -> ObjectList[Any]:
        found: ObjectList[Any] = self._noted(lambda: self._inner.list(options, stop))
        self._on_list()
        return found

    def watch(self, options: ListOptions, stop: threading.Event) -> WatchStream:
        if not options.send_initial_events:
            return self._inner.watch(options, stop)
        stream: WatchStream = self._noted(lambda: self._inner.watch(options, stop))
        self._on_list()
        return stream

    def _noted(self, ask: Callable[[], Any]) -> Any:
        try:
            answer = ask()
        except NotFoundError:
            self.unserved = True
            self.answered.set()
            raise
        self.unserved = False
        self.answered.set()
        return answer
