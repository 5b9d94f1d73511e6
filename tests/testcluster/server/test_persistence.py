"""Clusters that are kept: restarts, killed servers, and what clients see."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3

from clientgo.__main__ import main
from clientgo.api.core_v1 import ConfigMap
from clientgo.cache import SharedIndexInformer, wait_for_cache_sync
from clientgo.client import Client, ResourceListWatch
from clientgo.rest import RestConfig
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.storage.data_directory import DataDirectory, DataDirectoryError
from tests.testcluster.server.http_api import (
    CONFIGMAPS,
    CRDS,
    WIDGETS,
    Api,
    Watch,
    configmap,
    widget,
    widget_crd,
)

NAMESPACES = "/api/v1/namespaces"
CLIENTS = 6


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedAPIServer]:
    with EmbeddedAPIServer(data_dir=tmp_path / "data") as server:
        yield server


def wait_for(watch: Watch, reached: Callable[[dict[str, Any]], bool]) -> None:
    """Read a watch until an event is what was waited for."""
    for event in watch:
        if reached(event):
            watch.close()
            return


def serve_widgets(api: Api) -> None:
    watch = api.watch(CRDS)
    api.create(CRDS, widget_crd())
    wait_for(watch, lambda event: "Established" in json.dumps(event["object"]["status"]))


def version_of(obj: dict[str, Any]) -> int:
    return int(obj["metadata"]["resourceVersion"])


# -- restarted


def test_everything_is_there_after_a_restart(server: EmbeddedAPIServer, api: Api) -> None:
    serve_widgets(api)
    paths = (CONFIGMAPS, WIDGETS, CRDS, NAMESPACES)
    api.create(NAMESPACES, {"metadata": {"name": "shop"}})
    api.create(CONFIGMAPS, configmap("a", labels={"app": "web"}))
    api.create(WIDGETS, widget("w"))
    before = [api.get(path)["items"] for path in paths]

    server.restart()

    assert [api.get(path)["items"] for path in paths] == before
    assert len(api.get(CONFIGMAPS, labelSelector="app=web")["items"]) == 1
    assert len(api.get(CONFIGMAPS, fieldSelector="metadata.name=a")["items"]) == 1


def test_deep_objects_are_there_after_a_restart(server: EmbeddedAPIServer, api: Api) -> None:
    watch = api.watch(CRDS)
    definition = widget_crd()
    [version] = definition["spec"]["versions"]
    version["schema"]["openAPIV3Schema"] = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    }
    api.create(CRDS, definition)
    wait_for(watch, lambda event: "Established" in json.dumps(event["object"]["status"]))
    deep = b'{"a":' * 5000 + b"1" + b"}" * 5000
    body = json.dumps(widget("a") | {"any": "DEEP"}).encode().replace(b'"DEEP"', deep)
    path = f"{WIDGETS}/a"
    assert urllib3.request("POST", server.url + WIDGETS, body=body).status == 201

    server.restart()

    read = urllib3.request("GET", server.url + path)
    change = b'{"metadata":{"labels":{"a":"b"}}}'
    merge = {"Content-Type": "application/merge-patch+json"}
    patched = urllib3.request("PATCH", server.url + path, body=change, headers=merge)
    for answer in (read, patched):
        assert (answer.status, deep in answer.data) == (200, True)


def test_versions_go_on_after_a_restart(server: EmbeddedAPIServer, api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a"))
    last = version_of(api.delete(f"{CONFIGMAPS}/a") and api.get(CONFIGMAPS))

    server.restart()

    assert version_of(api.get(CONFIGMAPS)) == last
    assert version_of(api.create(CONFIGMAPS, configmap("b"))) == last + 1


def test_watches_and_pages_resume_from_before_a_restart(
    server: EmbeddedAPIServer, api: Api
) -> None:
    first = api.create(CONFIGMAPS, configmap("a"))
    api.create(CONFIGMAPS, configmap("b"))
    page = api.get(CONFIGMAPS, limit="1")
    api.patch(f"{CONFIGMAPS}/a", {"data": {"k": "w"}})
    api.delete(f"{CONFIGMAPS}/b")

    server.restart()

    watch = api.watch(CONFIGMAPS, resourceVersion=first["metadata"]["resourceVersion"])
    events = [watch.next() for _ in range(3)]
    watch.close()
    assert [(event["type"], event["object"]["metadata"]["name"]) for event in events] == [
        ("ADDED", "b"),
        ("MODIFIED", "a"),
        ("DELETED", "b"),
    ]
    rest = api.get(CONFIGMAPS, limit="1", **{"continue": page["metadata"]["continue"]})
    assert [item["metadata"]["name"] for item in rest["items"]] == ["b"]


@pytest.mark.parametrize("again", [False, True], ids=["restarted once", "restarted twice"])
def test_history_that_was_expired_stays_so(
    server: EmbeddedAPIServer, api: Api, again: bool
) -> None:
    first = api.create(CONFIGMAPS, configmap("a"))
    api.create(CONFIGMAPS, configmap("b"))

    server.restart(keep_history=False)
    if again:
        server.restart()

    event = api.watch(CONFIGMAPS, resourceVersion=first["metadata"]["resourceVersion"]).next()
    assert event["object"]["code"] == 410
    assert len(api.get(CONFIGMAPS)["items"]) == 2


def test_a_restart_without_objects_empties_the_directory(
    server: EmbeddedAPIServer, api: Api
) -> None:
    api.create(CONFIGMAPS, configmap("a"))

    server.restart(keep_objects=False)
    server.restart()

    assert api.get(CONFIGMAPS)["items"] == []


def test_objects_are_read_by_a_schema_that_changed_before_the_restart(
    server: EmbeddedAPIServer, api: Api
) -> None:
    serve_widgets(api)
    api.create(WIDGETS, widget("w"))
    crd = api.get(f"{CRDS}/widgets.example.com")
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["color"] = {"type": "string", "default": "red"}
    assert api.call("PUT", f"{CRDS}/widgets.example.com", crd).status == 200

    server.restart()

    assert api.get(f"{WIDGETS}/w")["spec"] == {"size": 1, "color": "red"}


def test_what_was_being_deleted_is_deleted_after_a_restart(
    server: EmbeddedAPIServer, api: Api
) -> None:
    """Namespaces, definitions and owners that waited for a finalizer go when it is taken away."""
    serve_widgets(api)
    api.create(WIDGETS, {**widget("held"), "metadata": {"name": "held", "finalizers": ["x.y/z"]}})
    api.create(NAMESPACES, {"metadata": {"name": "shop"}})
    in_shop = f"{NAMESPACES}/shop/configmaps"
    api.create(in_shop, configmap("held", finalizers=["x.y/z"]))
    owner = api.create(CONFIGMAPS, configmap("owner", finalizers=["x.y/z"]))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner"}
    reference["uid"] = owner["metadata"]["uid"]
    api.create(CONFIGMAPS, configmap("owned", ownerReferences=[reference]))
    for path in (f"{CRDS}/widgets.example.com", f"{NAMESPACES}/shop", f"{CONFIGMAPS}/owner"):
        api.delete(path)

    server.restart()

    watches = [api.watch(path) for path in (CRDS, NAMESPACES, CONFIGMAPS)]
    no_finalizers = {"metadata": {"finalizers": None}}
    for path in (f"{WIDGETS}/held", f"{in_shop}/held", f"{CONFIGMAPS}/owner"):
        api.patch(path, no_finalizers)
    for watch, name in zip(watches, ("widgets.example.com", "shop", "owned"), strict=True):
        wait_for(
            watch,
            lambda event, name=name: (
                (event["type"], event["object"]["metadata"]["name"]) == ("DELETED", name)
            ),
        )


# -- refused


def test_a_second_server_in_the_directory_is_refused(
    server: EmbeddedAPIServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(DataDirectoryError, match="in use"):
        EmbeddedAPIServer(data_dir=tmp_path / "data").start()

    status = main(["apiserver", "--listen", "127.0.0.1:0", "--data-dir", str(tmp_path / "data")])

    assert status == 1
    assert "is in use by another server; stop that one" in capsys.readouterr().err


def test_a_stopped_server_leaves_the_directory_to_others(
    server: EmbeddedAPIServer, api: Api, tmp_path: Path
) -> None:
    uid = api.create(CONFIGMAPS, configmap("a"))["metadata"]["uid"]

    server.stop()

    with EmbeddedAPIServer(data_dir=tmp_path / "data") as other:
        assert Api(other.url).get(f"{CONFIGMAPS}/a")["metadata"]["uid"] == uid


def test_no_client_sees_a_change_that_was_not_kept(
    server: EmbeddedAPIServer, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = api.watch(CONFIGMAPS)
    api.create(CONFIGMAPS, configmap("kept"))
    assert watch.next()["object"]["metadata"]["name"] == "kept"

    def fail(*_: Any) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(DataDirectory, "write", fail)
        answer = api.call("POST", CONFIGMAPS, configmap("lost"))
    assert (answer.status, "disk is full" in answer.body["message"]) == (500, True)
    assert api.call("GET", f"{CONFIGMAPS}/lost").status == 500
    with pytest.raises((StopIteration, urllib3.exceptions.HTTPError)):
        watch.next()

    server.restart()

    assert [item["metadata"]["name"] for item in api.get(CONFIGMAPS)["items"]] == ["kept"]


# -- killed


class Program:
    """The server as a program that keeps its cluster in a directory."""

    def __init__(self, data: Path, port: int = 0) -> None:
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "clientgo", "apiserver", "--insecure-loopback"),
                *("--listen", f"127.0.0.1:{port}", "--data-dir", str(data)),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        found = re.search(r"http://127.0.0.1:(\d+)", self._process.stdout.readline())
        assert found is not None
        self.port = int(found[1])
        self.url = found[0]

    def kill(self) -> None:
        """End it with SIGKILL, as the kernel does when memory is short."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def test_what_was_acknowledged_survives_a_kill_amid_writes(tmp_path: Path) -> None:
    program = Program(tmp_path)
    acknowledged: list[dict[str, Any]] = []
    enough = threading.Event()

    def write(client: int) -> None:
        api = Api(program.url)
        for number in range(10_000):
            try:
                acknowledged.append(
                    api.create(CONFIGMAPS, configmap(f"c-{client}-{number}"))["metadata"]
                )
            except urllib3.exceptions.HTTPError:
                return  # it was killed
            if len(acknowledged) > 100:
                enough.set()

    stop = threading.Event()
    with Client(RestConfig(server=program.url, qps=-1.0)) as client:
        informer = SharedIndexInformer(ResourceListWatch(client.resource(ConfigMap)), ConfigMap)
        reflecting = threading.Thread(target=informer.run, args=(stop,))
        reflecting.start()
        assert wait_for_cache_sync(stop, informer)
        writers = [threading.Thread(target=write, args=(number,)) for number in range(CLIENTS)]
        for writer in writers:
            writer.start()
        assert enough.wait(timeout=30)

        program.kill()
        for writer in writers:
            writer.join()
        program = Program(tmp_path, program.port)

        try:
            api = Api(program.url)
            listed = api.get(CONFIGMAPS)
            stored = {item["metadata"]["name"]: item["metadata"] for item in listed["items"]}
            assert [item for item in acknowledged if stored.get(item["name"]) != item] == []
            newest = max(int(item["resourceVersion"]) for item in acknowledged)
            last = api.create(CONFIGMAPS, configmap("last"))
            assert version_of(last) > version_of(listed) >= newest

            converged = threading.Event()
            wanted = {f"default/{name}" for name in (*stored, "last")}

            def look(*_: Any) -> None:
                if set(informer.indexer.list_keys()) >= wanted:
                    converged.set()

            informer.add_event_handler(on_add=look)
            assert converged.wait(timeout=30)
            found = {key for key in informer.indexer.list_keys() if key.startswith("default/")}
            assert found == wanted
        finally:
            stop.set()
            reflecting.join()
            program.kill()


@pytest.mark.parametrize("name", ["token", "server.crt", "server.key"])
@pytest.mark.parametrize("content", [b"", b"\xff\x00", b"-----BEGIN CERTIFICATE-----\n"])
def test_a_damaged_secret_is_reported_in_a_sentence_or_made_again(
    name: str, content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with EmbeddedAPIServer(data_dir=tmp_path, secure=True):
        pass
    (tmp_path / name).write_bytes(content)

    with pytest.raises(DataDirectoryError, match="remove it, and the server makes another") as said:
        EmbeddedAPIServer(data_dir=tmp_path, secure=True).start()

    assert "\n" not in str(said.value)
    (tmp_path / name).unlink()
    with EmbeddedAPIServer(data_dir=tmp_path, secure=True):
        pass
