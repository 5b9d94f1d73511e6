"""Growing pauses, one for each id.

The pause of an id doubles with every `next` up to the maximum, and starts again when the id was not
used for twice the maximum. Call `collect_garbage` from time to time to forget ids. Thread-safe.

Source: client-go util/flowcontrol, `Backoff`; instants are those of the clock's `monotonic()`.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass

from clientgo.util.clock import REAL_CLOCK, Clock, nanoseconds
from clientgo.util.copies import uncopyable


@dataclass(slots=True)
class _Entry:
    pause_ns: int
    last_update_ns: int


@uncopyable("it has locks; make one in each process")
class KeyedBackoff:
    """Pauses of `initial` to `maximum` seconds for any number of ids.

    Each pause is lengthened by up to `jitter` times the one before, at random; `random` draws
    from [0, 1). `has_expired(event_time, last_update, maximum)`, all in seconds, replaces the
    rule that an id is forgotten after twice the maximum.

    Source: k8s.io/client-go/util/flowcontrol, Backoff.
    """

    def __init__(
        self,
        initial: float,
        maximum: float,
        *,
        jitter: float = 0.0,
        clock: Clock = REAL_CLOCK,
        has_expired: Callable[[float, float, float], bool] | None = None,
        random: Callable[[], float] = random.random,
    ) -> None:
        self._initial_ns = nanoseconds(initial)
        self._maximum_ns = nanoseconds(maximum)
        self._jitter = jitter
        self._clock = clock
        self._has_expired = has_expired
        self._random = random
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}

    def get(self, key: str) -> float:
        """Return the present pause of `key` in seconds, expired or not; 0 if it has none."""
        with self._lock:
            entry = self._entries.get(key)
            return 0.0 if entry is None else entry.pause_ns / 1e9

    def next(self, key: str, event_time: float) -> None:
        """Lengthen the pause of `key` because of something that happened at `event_time`."""
        with self._lock:
            entry = self._live_locked(key, event_time)
            if entry is None:
                pause_ns = self._initial_ns + self._jitter_ns(self._initial_ns)
            else:
                pause_ns = 2 * entry.pause_ns + self._jitter_ns(entry.pause_ns)
                pause_ns = min(pause_ns, self._maximum_ns)
            self._entries[key] = _Entry(pause_ns, self._now_ns())

    def reset(self, key: str) -> None:
        """Forget `key`; its next pause is the initial one."""
        with self._lock:
            self._entries.pop(key, None)

    def is_in_backoff_since(self, key: str, event_time: float) -> bool:
        """Tell whether the pause of `key`, counted from `event_time`, is still going on."""
        with self._lock:
            entry = self._live_locked(key, event_time)
            return entry is not None and (self._now_ns() - nanoseconds(event_time) < entry.pause_ns)

    def is_in_backoff_since_update(self, key: str, event_time: float) -> bool:
        """Tell whether `event_time` falls into the pause that the last `next` of `key` began."""
        with self._lock:
            entry = self._live_locked(key, event_time)
            return entry is not None and (
                nanoseconds(event_time) - entry.last_update_ns < entry.pause_ns
            )

    def collect_garbage(self) -> None:
        """Forget every id that has expired by now."""
        with self._lock:
            now = self._clock.monotonic()
            self._entries = {
                key: entry
                for key, entry in self._entries.items()
                if not self._is_expired(entry, now)
            }

    def __len__(self) -> int:
        return len(self._entries)

    def _live_locked(self, key: str, event_time: float) -> _Entry | None:
        entry = self._entries.get(key)
        return None if entry is None or self._is_expired(entry, event_time) else entry

    def _is_expired(self, entry: _Entry, event_time: float) -> bool:
        if self._has_expired is not None:
            return self._has_expired(event_time, entry.last_update_ns / 1e9, self._maximum_ns / 1e9)
        return nanoseconds(event_time) - entry.last_update_ns > 2 * self._maximum_ns

    def _jitter_ns(self, pause_ns: int) -> int:
        return int(self._random() * self._jitter * pause_ns) if self._jitter else 0

    def _now_ns(self) -> int:
        return nanoseconds(self._clock.monotonic())
