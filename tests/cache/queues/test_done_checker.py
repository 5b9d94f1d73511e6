"""Something to wait for, with a name."""

from __future__ import annotations

import threading

import pytest

from clientgo.cache import AsyncTracker, DoneChecker, SingleFileTracker


def test_it_is_done_when_its_event_is_set() -> None:
    """WTC-04."""
    checker = DoneChecker("foos", threading.Event())
    assert not checker.is_done()
    checker.done.set()
    assert checker.is_done()
    assert checker.name == "foos"


class TestSingleFileTracker:
    def test_synced_when_upstream_is_and_nothing_is_unfinished(self) -> None:
        """WTC-06."""
        tracker = SingleFileTracker()
        tracker.start(2)
        tracker.upstream_has_synced()
        tracker.finished()
        assert not tracker.has_synced()
        tracker.finished()
        assert tracker.has_synced()
        assert tracker.checker.is_done()

    def test_nothing_unfinished_is_not_enough(self) -> None:
        """WTC-06."""
        tracker = SingleFileTracker()
        tracker.start()
        tracker.finished()
        assert not tracker.has_synced()

    def test_stays_synced(self) -> None:
        """WTC-06."""
        tracker = SingleFileTracker()
        tracker.upstream_has_synced()
        tracker.start()
        assert tracker.has_synced()

    def test_finishing_what_never_started_is_an_error(self) -> None:
        """WTC-06."""
        with pytest.raises(ValueError, match="only 0 had started"):
            SingleFileTracker().finished()


class TestAsyncTracker:
    def test_synced_when_upstream_is_and_no_key_is_unfinished(self) -> None:
        """WTC-07."""
        tracker = AsyncTracker()
        tracker.start("a")
        tracker.start("b")
        tracker.upstream_has_synced()
        tracker.finished("b")
        assert not tracker.has_synced()
        tracker.finished("a")
        assert tracker.has_synced()

    def test_finishing_an_unknown_key_is_harmless(self) -> None:
        """WTC-07."""
        tracker = AsyncTracker()
        tracker.finished("a")
        tracker.upstream_has_synced()
        assert tracker.has_synced()
