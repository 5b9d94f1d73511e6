"""What was found out about JSON values that occur again and again.

Pods of a template have equal containers, and most updates of a pod leave its spec as it is. To
compare a value with those seen before costs a hundredth of reading or checking it.

Promises: a value is known only if it is equal to an earlier one: same members in the same order,
with values of the same types. The memory of each instance is bounded. Thread-safe.
"""

from __future__ import annotations

import threading
from typing import Any

import msgspec

_MOST_BYTES = 256 * 1024
"""Of the values that an instance remembers; then it starts again."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def value_key(value: Any) -> bytes:
    """Return the same key for equal values only; empty for a value that has none."""
    try:
        return _encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return b""  # such as an integer that was written as a float


class RepeatedValues:
    """Results by the value that they were computed from; a result is a JSON value too."""

    def __init__(self) -> None:
        self._results: dict[bytes, bytes] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def __contains__(self, key: bytes) -> bool:
        with self._lock:
            return key in self._results

    def result(self, key: bytes) -> Any:
        """Return a new copy of the result for a key; None if it is not known."""
        with self._lock:
            found = self._results.get(key)
        return None if found is None else _decode(found)

    def remember(self, key: bytes, result: Any = None) -> None:
        """Keep the result for a key; an empty key is not kept."""
        encoded = value_key(result)
        size = len(key) + len(encoded)
        if not key or not encoded or size > _MOST_BYTES:
            return
        with self._lock:
            if self._bytes + size > _MOST_BYTES:
                self._results.clear()
                self._bytes = 0
            self._results[key] = encoded
            self._bytes += size
