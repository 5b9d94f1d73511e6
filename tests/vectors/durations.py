"""Nanoseconds of the vectors and seconds of the library."""

from __future__ import annotations

from collections.abc import Iterable

import pytest


def seconds(ns: int) -> float:
    """Return nanoseconds as seconds."""
    return ns / 1e9


def same_ns(ns: int) -> object:
    """Return what equals the given nanoseconds, read as seconds, to 2 ns."""
    return pytest.approx(ns / 1e9, rel=1e-15, abs=2e-9)


def all_same_ns(values: Iterable[int]) -> object:
    """Return what equals a list of nanoseconds, read as seconds, to 2 ns."""
    return pytest.approx([ns / 1e9 for ns in values], rel=1e-15, abs=2e-9)
