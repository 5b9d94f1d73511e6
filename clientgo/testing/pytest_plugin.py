"""Fixtures that pytest offers wherever clientgo is installed.

- ``kube_api_server``: an embedded API server, a new and empty one for each test;
- ``kube_client``: a client of it, without a limit on requests.

Promises: a test that does not ask for them pays for nothing; the server is imported on first use.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from clientgo.apiserver import EmbeddedAPIServer
    from clientgo.client import Client


@pytest.fixture
def kube_api_server() -> Iterator[EmbeddedAPIServer]:
    """An API server in this process; ``inject`` makes it misbehave."""
    from clientgo.apiserver import EmbeddedAPIServer

    with EmbeddedAPIServer() as server:
        yield server


@pytest.fixture
def kube_client(kube_api_server: EmbeddedAPIServer) -> Iterator[Client]:
    """A client of ``kube_api_server``."""
    from clientgo.client import Client
    from clientgo.rest import RestConfig

    with Client(RestConfig(server=kube_api_server.url, qps=-1.0)) as client:
        yield client
