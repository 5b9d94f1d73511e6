"""Counting what has begun but not ended."""

from __future__ import annotations

import pytest

from clientgo.cache.informer.sync_tracker import SingleFileTracker


class TestInOrder:
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
