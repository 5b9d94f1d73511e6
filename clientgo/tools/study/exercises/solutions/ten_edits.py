"""Exercise 1: ten edits, how many syncs?

A Foo is created. While its first sync runs, the Foo is edited ten times. Each event calls a
handler, and each handler adds the key to the queue. Then the first sync ends.

Predict, then run: clientgo study check 1
"""

from __future__ import annotations

SYNCS: int | None = 2
"""One for the creation, and one for all edits together: it reads the newest state."""

ADDS_THAT_CHANGED_SOMETHING: int | None = 2
"""The first add lists the key; the second marks it while it is processed. The others
find the mark."""
