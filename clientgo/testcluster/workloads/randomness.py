"""Choices that look random and are the same for the same seed.

Promises that a choice depends on the seed and on the name of what it is for, never on the order in
which threads run.
"""

from __future__ import annotations

import hashlib
import random
import threading
from collections.abc import Collection
from typing import Final

from clientgo.record.lru_cache import LRUCache

_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
"""No vowels and nothing that looks like another letter, as in the names of the real controllers."""

_REMEMBERED: Final = 10_000


def digest(text: str, length: int = 10) -> str:
    """Return a short name that stands for a text."""
    number = int.from_bytes(hashlib.sha256(text.encode()).digest())
    letters = []
    for _ in range(length):
        number, index = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[index])
    return "".join(letters)


class Randomness:
    """Thread-safe."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._lock = threading.Lock()
        self._given: LRUCache[str, int] = LRUCache(_REMEMBERED)
        """How many names a prefix has had, so that no name is used twice."""

    def fraction(self, *what: object) -> float:
        """Return a number from 0 to 1 for something."""
        return random.Random(f"{self._seed}/{what}").random()

    def name(self, prefix: str, taken: Collection[str] = ()) -> str:
        """Return a new name with a suffix of five letters."""
        with self._lock:
            number = self._given.get(prefix) or 0
            while True:
                number += 1
                name = f"{prefix}-{digest(f'{self._seed}/{prefix}/{number}', 5)}"
                if name not in taken:
                    self._given.put(prefix, number)
                    return name
