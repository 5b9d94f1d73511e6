"""JSON that is nested too deeply for a decoder, in tests with the mark `small_stack`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final


def nested(levels: int, start: bytes = b'{"a":', end: bytes = b"}") -> bytes:
    """Return JSON of so many levels."""
    return start * levels + b"1" + end * levels


def nested_value(levels: int) -> Any:
    """Return plain JSON values of so many levels."""
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


TOO_DEEP: Final = 12_000
"""Levels that no decoder follows; CPython 3.14 follows what the stack holds, so it is small."""

_STACK: Final = 384 * 1024


@contextmanager
def small_stacks() -> Iterator[None]:
    """Let threads that are started in the block have a small stack."""
    before = threading.stack_size(_STACK)
    try:
        yield
    finally:
        threading.stack_size(before)
