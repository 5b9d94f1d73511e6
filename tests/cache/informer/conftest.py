"""Parts of a shared informer."""

from __future__ import annotations

import pytest

from clientgo.cache import DELTA_FIFO, REAL_FIFO, QueueChoice
from clientgo.testing.fake_source import FakeSource
from tests.cache.builders import foo


@pytest.fixture
def source() -> FakeSource:
    return FakeSource(sample=foo("sample"))


@pytest.fixture(params=[DELTA_FIFO, REAL_FIFO], ids=["delta", "real"])
def queue(request: pytest.FixtureRequest) -> QueueChoice:
    choice: QueueChoice = request.param
    return choice
