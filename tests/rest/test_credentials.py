"""How a request uses credentials."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from clientgo.rest import (
    ConfigError,
    CredentialsError,
    Identity,
    RequestStoppedError,
    RestClient,
    RestConfig,
)
from clientgo.testing.scripted_server import ScriptedServer, answer_json

PATH = "/api/v1/foos"


@pytest.fixture(name="server")
def _server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        server.on(PATH, answer_json({"items": []}))
        yield server


class Failing:
    """Credentials that cannot be had."""

    def __init__(self, then: Callable[[], object] = lambda: None) -> None:
        self._then = then

    def current(self, stop: threading.Event | None = None) -> Identity:
        self._then()
        raise ConfigError("the plugin failed", advice="install it")

    def renew(self, refused: Identity, stop: threading.Event | None = None) -> bool:
        return False


def get(server: ScriptedServer, credentials: Failing, stop: threading.Event | None = None) -> None:
    config = RestConfig(server=server.url, credentials=credentials)
    RestClient(config, api_path="/api/v1").get().resource("foos").do(stop)


def test_a_request_without_credentials_is_an_error_of_its_own(server):
    with pytest.raises(CredentialsError) as caught:
        get(server, Failing())

    assert str(caught.value) == (
        f"GET {server.url}{PATH}: no credentials: the plugin failed; install it"
    )
    assert server.requests == []


def test_a_stop_while_credentials_are_awaited_is_a_stop(server):
    stop = threading.Event()

    with pytest.raises(RequestStoppedError):
        get(server, Failing(then=stop.set), stop)
