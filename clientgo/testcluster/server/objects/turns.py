"""Loops over very many objects, with turns for other requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

T = TypeVar("T")

ITEMS_A_TURN = 100
"""Items between two turns: some milliseconds of work."""


async def in_turns(items: Iterable[T]) -> AsyncIterator[T]:
    """Yield the items; let the event loop answer other requests after each hundred.

    Whatever the loop relies on may change meanwhile.
    """
    for number, item in enumerate(items, 1):
        yield item
        if number % ITEMS_A_TURN == 0:
            await asyncio.sleep(0)
