"""A server that several tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer
from tests.testcluster.server.http_api import Api


@pytest.fixture(scope="module")
def shared() -> Iterator[Api]:
    """A server on which the tests create nothing that another test sees."""
    with EmbeddedAPIServer() as server:
        yield Api(server.url)
