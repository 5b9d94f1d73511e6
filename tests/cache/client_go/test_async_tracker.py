"""Counting work that is finished in any order."""

from __future__ import annotations

from clientgo.cache import AsyncTracker


class TestInAnyOrder:
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
