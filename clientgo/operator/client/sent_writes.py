"""What was last written to an object, and how the API server has stored it.

Promises that a write which the server stores in another form (``1000m`` as ``1``, an empty text not
at all) is known to be settled as long as it is stored so. The latest 10,000 objects are known, and
none after a restart of the process: then the same is written once more, which changes nothing.
"""

from __future__ import annotations

from collections.abc import Hashable
from threading import Lock
from typing import Any, Final

import msgspec

from clientgo.operator.client.differences import differences
from clientgo.record.lru_cache import LRUCache

_MOST_OBJECTS: Final = 10_000


class SentWrites:
    """Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._last: LRUCache[Hashable, tuple[int, int]] = LRUCache(_MOST_OBJECTS)
        """Digests of what was sent, and of what the answer has in the place of it."""

    def remember(self, key: Hashable, sent: dict[str, Any], stored: dict[str, Any]) -> bool:
        """Note a write and its answer; return True if the write before it sent the same."""
        written = _digest(sent), _digest(_in_place_of(sent, stored))
        with self._lock:
            before = self._last.get(key)
            self._last.put(key, written)
        return before is not None and before[0] == written[0]

    def is_other(self, key: Hashable, wanted: dict[str, Any]) -> bool:
        """Return True if something else than this was sent last."""
        with self._lock:
            last = self._last.get(key)
        return last is not None and last[0] != _digest(wanted)

    def is_settled(self, key: Hashable, wanted: dict[str, Any], there: dict[str, Any]) -> bool:
        """Return True if this was sent last, and is stored as the answer had it."""
        with self._lock:
            last = self._last.get(key)
        return last == (_digest(wanted), _digest(_in_place_of(wanted, there)))

    def forget(self, key: Hashable) -> None:
        """Forget a deleted object."""
        with self._lock:
            if self._last.get(key) is not None:
                self._last.remove(key)


def _in_place_of(sent: Any, stored: Any, path: str = "") -> dict[str, Any]:
    """Return, by path, what is stored differently; and what is in the place of a null."""
    if isinstance(sent, dict) and isinstance(stored, dict):
        found: dict[str, Any] = {}
        for name, value in sent.items():
            found |= _in_place_of(value, stored.get(name), f"{path}.{name}")
        return found
    return {path: stored} if sent is None else differences(stored, sent, path)


def _digest(plain: dict[str, Any]) -> int:
    return hash(msgspec.json.encode(plain, order="deterministic"))
