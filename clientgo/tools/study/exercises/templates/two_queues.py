"""Exercise 7: DeltaFIFO or RealFIFO.

Five changes arrive while the consumer of the cache is busy::

    a is Added, b is Added, a is Updated, b is Deleted, c is Added

Then the consumer takes one entry after the other. Predict what it gets, in order, from each queue.
Write one text for each entry: ``"a: Added"``, or ``"a: Added Updated"`` if two changes of ``a``
come together.

Run: clientgo study check 7
"""

from __future__ import annotations

DELTA_FIFO: list[str] | None = None
"""It keeps the changes of each object together."""

REAL_FIFO: list[str] | None = None
"""It keeps all changes in order."""
