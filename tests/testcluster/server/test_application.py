"""Every request gets a response in the form of the API, also if the server fails."""

from __future__ import annotations

import http.client
import json
import logging

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.requests import verbs
from tests.testcluster.server.http_api import CONFIGMAPS, Api, configmap


def test_an_unexpected_error_is_logged_and_answered_without_its_traceback(
    server: EmbeddedAPIServer,
    api: Api,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a secret detail")

    monkeypatch.setattr(verbs, "list_page", broken)

    with caplog.at_level(logging.ERROR, "clientgo.testcluster.server"):
        answer = api.call("GET", CONFIGMAPS)

    assert (answer.status, answer.body["kind"]) == (500, "Status")
    assert "secret" not in answer.body["message"]
    assert "a secret detail" in caplog.text


def test_a_large_answer_is_compressed_for_clients_that_accept_it(api: Api) -> None:
    import urllib3

    for index in range(20):
        body = {"metadata": {"name": f"c{index}"}, "data": {"k": "x" * 10_000}}
        api.create(CONFIGMAPS, body)

    answer = urllib3.request(
        "GET", api.url + CONFIGMAPS, headers={"Accept-Encoding": "gzip"}, decode_content=False
    )

    assert answer.headers["Content-Encoding"] == "gzip"
    assert len(answer.data) < 20_000


def test_every_warning_is_sent_however_many_there_are(api: Api) -> None:
    body = json.dumps(configmap("a") | {f"unknown{index}": 1 for index in range(80)})

    connection = http.client.HTTPConnection(api.url.removeprefix("http://"))
    connection.request("POST", CONFIGMAPS, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()  # it reads a hundred headers

    assert answer.status == 201
    assert len(answer.headers.get_all("Warning", [])) == 80
    connection.close()


def test_a_warning_holds_no_control_characters(api: Api) -> None:
    answer = api.call("POST", CONFIGMAPS, configmap("a") | {"a\r\nb": 1})

    assert answer.status == 201
