"""Something to wait for, with a name."""

from __future__ import annotations

import threading

from clientgo.cache import DoneChecker


def test_it_is_done_when_its_event_is_set() -> None:
    """WTC-04."""
    checker = DoneChecker("foos", threading.Event())
    assert not checker.is_done()
    checker.done.set()
    assert checker.is_done()
    assert checker.name == "foos"
