"""Exercise 7: DeltaFIFO or RealFIFO.

Five changes arrive while the consumer of the cache is busy::

    a is Added, b is Added, a is Updated, b is Deleted, c is Added

Then the consumer takes one entry after the other. Predict what it gets, in order, from each queue.
Write one text for each entry: ``"a: Added"``, or ``"a: Added Updated"`` if two changes of ``a``
come together.

Run: clientgo study check 7
"""

from __future__ import annotations

DELTA_FIFO: list[str] | None = ["a: Added Updated", "b: Added Deleted", "c: Added"]
"""A key waits once, in the place of its first change, with all its changes."""

REAL_FIFO: list[str] | None = ["a: Added", "b: Added", "a: Updated", "b: Deleted", "c: Added"]
"""Every change is an entry, in the order of arrival."""
