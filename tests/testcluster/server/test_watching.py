"""Watches over HTTP: events, and what a client that does not read costs."""

from __future__ import annotations

import socket
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.http import messages
from clientgo.testcluster.server.requests import rendering, watching
from clientgo.testcluster.server.storage import storage as storage_module
from tests.testcluster.server.http_api import CONFIGMAPS, Api, configmap


def test_a_watch_resumes_behind_the_version_it_names(api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a"))
    version = api.create(CONFIGMAPS, configmap("b"))["metadata"]["resourceVersion"]
    api.patch(f"{CONFIGMAPS}/a", {"data": {"k": "w"}})

    watch = api.watch(CONFIGMAPS, resourceVersion=version)

    event = watch.next()
    assert (event["type"], event["object"]["data"]) == ("MODIFIED", {"k": "w"})
    watch.close()


def test_bookmarks_have_the_version_of_the_whole_server(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "BOOKMARK_INTERVAL", 0.05)
    watch = api.watch(CONFIGMAPS, allowWatchBookmarks="true")
    secrets = "/api/v1/namespaces/default/secrets"
    version = api.create(secrets, {"metadata": {"name": "s"}})["metadata"]["resourceVersion"]

    bookmarks = (event for event in watch if event["type"] == "BOOKMARK")
    newest = next(
        item for item in bookmarks if item["object"]["metadata"]["resourceVersion"] == version
    )

    assert newest["object"]["kind"] == "ConfigMap"
    watch.close()


def test_an_expired_history_is_an_error_event(server: EmbeddedAPIServer, api: Api) -> None:
    version = api.create(CONFIGMAPS, configmap("a"))["metadata"]["resourceVersion"]
    api.create(CONFIGMAPS, configmap("b"))
    server.expire_history()

    [event] = api.watch(CONFIGMAPS, resourceVersion=version)

    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")


def test_a_history_that_expires_before_the_watch_sends_is_an_error_event(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = api.create(CONFIGMAPS, configmap("a"))["metadata"]["resourceVersion"]
    api.create(CONFIGMAPS, configmap("b"))
    send = watching.WatchResponse.send

    async def late(stream: watching.WatchResponse, *connection: Any) -> None:
        stream._storage.expire_history()
        await send(stream, *connection)

    monkeypatch.setattr(watching.WatchResponse, "send", late)
    [event] = api.watch(CONFIGMAPS, resourceVersion=version, timeoutSeconds="2")

    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


def test_a_live_watch_continues_after_an_expired_history(
    server: EmbeddedAPIServer, api: Api
) -> None:
    watch = api.watch(CONFIGMAPS)
    api.create(CONFIGMAPS, configmap("a"))
    assert watch.next()["object"]["metadata"]["name"] == "a"

    server.expire_history()
    api.create(CONFIGMAPS, configmap("b"))

    assert watch.next()["object"]["metadata"]["name"] == "b"
    watch.close()


def test_a_client_that_does_not_read_is_dropped(
    server: EmbeddedAPIServer, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_module, "HISTORY_CHANGES", 64)
    address = urlsplit(server.url)
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect((address.hostname, address.port))
        deaf.sendall(f"GET {CONFIGMAPS}?watch=1 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert deaf.recv(15) == b"HTTP/1.1 200 OK"
        body = configmap("big") | {"data": {"k": "x" * 200_000}}
        api.create(CONFIGMAPS, body)
        for step in range(200):
            api.patch(f"{CONFIGMAPS}/big", {"metadata": {"labels": {"n": str(step)}}})

        received = bytearray()
        deaf.settimeout(10)
        while chunk := deaf.recv(1 << 16):
            received += chunk

    assert not received.endswith(b"0\r\n\r\n")  # cut off, not ended


def test_an_object_is_encoded_once_for_all_watchers(
    server: EmbeddedAPIServer, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[object] = []

    def encode(value: object) -> bytes:
        if isinstance(value, dict) and value.get("kind") == "ConfigMap":
            encoded.append(value)
        return msgspec.json.encode(value)

    for module in (messages, rendering, storage_module, watching):
        monkeypatch.setattr(module, "encode", encode)
    watches = [api.watch(CONFIGMAPS) for _ in range(10)]

    api.create(CONFIGMAPS, configmap("a"))
    api.get(f"{CONFIGMAPS}/a")
    api.get(CONFIGMAPS)

    for watch in watches:
        assert watch.next()["object"]["metadata"]["name"] == "a"
        watch.close()
    assert len(encoded) == 1
