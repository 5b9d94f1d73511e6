"""What containers have written since the server started, and the requests that follow it.

Promises the newest lines of each container, up to a limit. The oldest containers are forgotten,
except for those whose log a client follows. On the event loop.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakValueDictionary

_MOST_LINES: Final = 10_000
_MOST_CONTAINERS: Final = 1000


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line with its end, and when it was written.

    Times are whole microseconds, and no two lines of a log have the same: clients tell lines apart
    by them, as by the nanoseconds of a kubelet.
    """

    time: int
    text: str


@dataclass(slots=True, weakref_slot=True)
class WrittenLog:
    """The lines of one container."""

    lines: deque[LogLine] = field(default_factory=lambda: deque(maxlen=_MOST_LINES))
    count: int = 0
    """All lines that were ever written."""
    followers: set[Callable[[], None]] = field(default_factory=set)
    """Called when there is more."""

    def since(self, position: int) -> Iterator[LogLine]:
        """Yield the lines from a position on that are still there."""
        skipped = max(0, position - (self.count - len(self.lines)))
        for index in range(skipped, len(self.lines)):
            yield self.lines[index]


def microseconds(time: float) -> int:
    """Return a time in seconds in whole microseconds."""
    return round(time * 1e6)


class WrittenLogs:
    """The lines of all containers."""

    def __init__(self) -> None:
        self._logs: WeakValueDictionary[tuple[str, str], WrittenLog] = WeakValueDictionary()
        """Those that are kept, and those that a request has."""
        self._kept: OrderedDict[tuple[str, str], WrittenLog] = OrderedDict()

    def of(self, uid: str, container: str) -> WrittenLog:
        """Return the log of a container of a pod."""
        log = self._logs.setdefault((uid, container), WrittenLog())
        self._kept[uid, container] = log
        self._kept.move_to_end((uid, container))
        if len(self._kept) > _MOST_CONTAINERS:
            self._kept.popitem(last=False)
        return log

    def append(self, uid: str, container: str, text: str, now: float) -> None:
        """Add lines, and tell those that follow."""
        log = self.of(uid, container)
        for line in text.splitlines(keepends=True):
            last = log.lines[-1].time if log.lines else 0
            log.lines.append(LogLine(max(microseconds(now), last + 1), line))
            log.count += 1
        for follower in list(log.followers):
            follower()
