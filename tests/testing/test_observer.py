"""Waiting for what the API shows."""

from __future__ import annotations

import pytest

from clientgo.api.core_v1 import ConfigMap, Secret
from clientgo.testing import FakeClient
from clientgo.testing.observer import Observer


def test_a_kind_that_is_not_watched_cannot_be_read() -> None:
    """Its cache would stay empty, and a wait for it would run out of time."""
    with Observer(FakeClient(), ConfigMap) as observer:
        assert observer.lister(ConfigMap).list() == []
        with pytest.raises(ValueError, match="does not watch Secret"):
            observer.lister(Secret)
