"""The sync of a key in a trace: the boundary before it, and its two hops.

Queues make these; `Queue.syncing` is how a worker loop asks for one.
"""

from __future__ import annotations

from types import TracebackType
from typing import Final, Protocol, Self

from clientgo.observe.trace.trace import Trace
from clientgo.util.copies import uncopyable
from clientgo.util.wait import NotReadyError


class Syncing(Protocol):
    """A block in which a key is synced; or what begins and ends without a block."""

    def begin(self) -> None:
        """Say that the sync begins."""

    def end(self, error: BaseException | None = None) -> None:
        """Say that it has ended, perhaps by an error."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

    def failed(self, error: BaseException) -> None:
        """Say that the sync failed, although no exception leaves the block."""


class _NotTraced:
    __slots__ = ()

    def begin(self) -> None: ...

    def end(self, error: BaseException | None = None) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def failed(self, error: BaseException) -> None: ...


NOT_TRACED: Final[Syncing] = _NotTraced()


@uncopyable("it has locks; make one in each process")
class TracedSync:
    """One sync of one key, in one thread at a time."""

    __slots__ = ("_details", "_key", "_of", "_started", "_trace")

    def __init__(self, trace: Trace, of: str, key: object) -> None:
        self._trace = trace
        self._of = of
        self._key = key
        self._details = {"error": ""}
        self._started = 0.0

    def begin(self) -> None:
        trace = self._trace
        trace.before("sync", self._of, self._key)
        trace.acts_for(self._of, self._key)
        self._started = trace.now()
        trace.note("sync.start", self._of, self._key)

    def end(self, error: BaseException | None = None) -> None:
        if isinstance(error, NotReadyError):
            self._details["not_ready"] = str(error)
        elif error is not None:
            self.failed(error)
        seconds = self._trace.now() - self._started
        self._trace.note("sync.end", self._of, self._key, **self._details, seconds=seconds)

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        exception: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.end(exception)

    def failed(self, error: BaseException) -> None:
        self._details["error"] = f"{type(error).__name__}: {error}"
