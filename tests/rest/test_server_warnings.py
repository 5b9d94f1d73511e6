from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.meta import Codec, ForbiddenError, Unstructured
from clientgo.rest import RestClient, RestConfig
from clientgo.rest.server_warnings import warnings_in
from clientgo.testing.scripted_server import (
    ScriptedServer,
    answer_json,
    answer_status,
    watch_begin,
    watch_end,
)

WARNING = [("Warning", '299 - "v1beta1 is deprecated"')]


@pytest.fixture(name="server")
def _server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        server.on("*", answer_json({}, headers=WARNING))
        yield server


def client_of(server: ScriptedServer, **config: Any) -> RestClient:
    return RestClient(RestConfig(server=server.url, **config), api_path="/api/v1")


@pytest.mark.parametrize(
    ("header", "texts"),
    [
        ('299 - "one"', ["one"]),
        ('299 agent "one"', ["one"]),
        ('299 - "one" "Wed, 21 Oct 2026 07:28:00 GMT"', ["one"]),
        ('299 - "one", 299 - "two"', ["one", "two"]),
        (r'299 - "a \"quoted\" word \\ more"', [r'a "quoted" word \ more']),
        ('299 - ""', []),
        ('199 - "other code"', []),
        ('299 - "with, a comma"', ["with, a comma"]),
        ("299 - unquoted", []),
        ("nonsense", []),
        ("", []),
    ],
)
def test_only_code_299_with_text_counts(header, texts):
    """REST-18."""
    assert warnings_in([header]) == texts


def test_warnings_of_success_and_of_errors_are_shown(server):
    """REST-18."""
    seen: list[str] = []
    client = client_of(server, warning_handler=seen.append)
    client.get().resource("foos").do()
    assert seen == ["v1beta1 is deprecated"]

    server.on("*", answer_status(403, "Forbidden", headers=WARNING))
    for call in ("do", "stream"):
        with pytest.raises(ForbiddenError):
            getattr(client.get().resource("foos"), call)()
    with pytest.raises(ForbiddenError):
        client.get().resource("foos").watch(Codec(Unstructured))
    assert len(seen) == 4


def test_warnings_of_a_stream_and_a_watch_are_shown_when_they_start(server):
    """REST-18."""
    seen: list[str] = []
    client = client_of(server, warning_handler=seen.append)
    client.get().resource("foos").stream().close()
    assert len(seen) == 1

    server.on("*", watch_begin(headers=WARNING) + watch_end())
    client.get().resource("foos").watch(Codec(Unstructured)).stop()
    assert len(seen) == 2


def test_raw_calls_do_not_look_for_warnings(server):
    """REST-18."""
    seen: list[str] = []
    client_of(server, warning_handler=seen.append).get().resource("foos").do_raw()

    assert seen == []


def test_the_requests_handler_comes_before_the_clients(server):
    """REST-18."""
    seen: list[str] = []
    of_client = client_of(server, warning_handler=lambda _: seen.append("client"))
    of_client.get().resource("foos").warning_handler(lambda _: seen.append("request")).do()
    of_client.get().resource("foos").do()

    assert seen == ["request", "client"]


def test_the_default_is_the_log(server, caplog):
    """REST-18."""
    client_of(server).get().resource("foos").do()

    assert "The API server warns: v1beta1 is deprecated" in caplog.text
