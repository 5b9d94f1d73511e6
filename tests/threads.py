"""Threads that the system refuses, as at a container's limit of processes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


class Refusals:
    """How many threads were asked for, and whether one was refused."""

    def __init__(self) -> None:
        self.asked = 0
        self.happened = False


@contextmanager
def refused_threads(monkeypatch: pytest.MonkeyPatch, *, at: int) -> Iterator[Refusals]:
    """Refuse the nth thread that starts within the block, as the interpreter does."""
    refusals = Refusals()
    lock = threading.Lock()
    name = "_start_joinable_thread" if hasattr(threading, "_start_joinable_thread") else ""
    name = name or "_start_new_thread"
    start = getattr(threading, name)

    def start_or_refuse(*args: Any, **options: Any) -> Any:
        with lock:
            refusals.asked += 1
            if refusals.asked == at:
                refusals.happened = True
                raise RuntimeError("can't start new thread")
        return start(*args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(threading, name, start_or_refuse)
        yield refusals
