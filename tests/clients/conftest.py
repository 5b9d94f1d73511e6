"""One server a module, and the objects that several clients handle."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedAPIServer]:
    with EmbeddedAPIServer() as server:
        yield server
