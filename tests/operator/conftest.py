"""Fixtures of the operator layer's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.operator.world import World


@pytest.fixture
def make_world() -> Iterator[Callable[..., World]]:
    """Makes worlds that end with the test; see :class:`World`."""
    worlds: list[World] = []

    def make(*objects: Any, **settings: Any) -> World:
        world = World(*objects, **settings)
        worlds.append(world)
        return world

    yield make
    for world in worlds:
        world.close()


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """A world with nothing in it."""
    return make_world()
