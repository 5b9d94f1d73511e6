"""Candidates that share one lease and one clock."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.leaderelection.scene import Scene


@pytest.fixture
def scene() -> Iterator[Scene]:
    with Scene() as scene:
        yield scene
