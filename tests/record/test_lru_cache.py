from __future__ import annotations

import pytest

from clientgo.record.lru_cache import LRUCache


def test_what_was_not_used_for_longest_is_forgotten_and_counted() -> None:
    """REC-19"""
    cache: LRUCache[str, int] = LRUCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")

    cache.put("c", 3)

    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (1, None, 3)
    assert (len(cache), cache.evictions) == (2, 1)


def test_a_cache_that_holds_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        LRUCache(0)
