"""Files that volumes put into simulated containers."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.client import Client
from clientgo.rest import load_config
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.workloads.pods.files import MountedFiles
from tests.testcluster.server.http_api import Api

NAMESPACE = "/api/v1/namespaces/default"
ITEMS = [{"key": "a", "path": "sub/x"}]


@pytest.fixture(name="api", scope="module")
def _api() -> Iterator[tuple[Api, MountedFiles]]:
    with EmbeddedAPIServer() as server, Client(load_config(server.kubeconfig)) as client:
        api = Api(server.url)
        binary = {"b": base64.b64encode(b"\\xff").decode()}
        config = {"metadata": {"name": "c"}, "data": {"a": "one"}, "binaryData": binary}
        api.create(f"{NAMESPACE}/configmaps", config)
        secret = {"metadata": {"name": "s"}, "data": {"p": base64.b64encode(b"pass").decode()}}
        api.create(f"{NAMESPACE}/secrets", secret)
        api.create(f"{NAMESPACE}/serviceaccounts", {"metadata": {"name": "default"}})
        yield api, MountedFiles(client)


def pod(volume: dict[str, Any], **mount: str) -> dict[str, Any]:
    mounts = [{"name": "v", "mountPath": "/etc/v", **mount}]
    return {
        "metadata": {"name": "web", "annotations": {"b": 'x"y', "a": "1"}},
        "spec": {
            "serviceAccountName": "default",
            "containers": [{"name": "c", "image": "i", "volumeMounts": mounts}],
            "volumes": [{"name": "v", **volume}],
        },
    }


def field(path: str) -> dict[str, Any]:
    items = [{"path": "f", "fieldRef": {"fieldPath": path}}]
    return {"downwardAPI": {"items": items}}


@pytest.mark.parametrize(
    ("volume", "path", "content"),
    [
        ({"configMap": {"name": "c"}}, "a", b"one"),
        ({"configMap": {"name": "c"}}, "b", b"\\xff"),
        ({"configMap": {"name": "c", "items": ITEMS}}, "sub/x", b"one"),
        ({"configMap": {"name": "c", "items": ITEMS}}, "a", None),
        ({"configMap": {"name": "none", "optional": True}}, "a", None),
        ({"secret": {"secretName": "s"}}, "p", b"pass"),
        ({"projected": {"sources": [{"secret": {"name": "s"}}]}}, "p", b"pass"),
        (
            {"projected": {"sources": [{"secret": {"name": "s"}}, {"configMap": {"name": "c"}}]}},
            "a",
            b"one",
        ),
        (field("metadata.name"), "f", b"web"),
        (field("metadata.annotations"), "f", b'a="1"\nb="x\\"y"'),
        ({"projected": {"sources": [field("metadata.namespace")]}}, "f", b"default"),
        ({"emptyDir": {}}, "a", None),
    ],
)
def test_the_files_of_a_volume(
    api: tuple[Api, MountedFiles], volume: dict[str, Any], path: str, content: bytes | None
) -> None:
    stored = api[0].create(f"{NAMESPACE}/pods", pod(volume))
    api[0].call("DELETE", f"{NAMESPACE}/pods/web", gracePeriodSeconds="0")

    if content is None:
        with pytest.raises(FileNotFoundError):
            api[1].read(stored, "c", f"/etc/v/{path}")
    else:
        assert api[1].read(stored, "c", f"/etc/v/{path}") == content


def test_a_mount_may_be_one_file(api: tuple[Api, MountedFiles]) -> None:
    stored = pod({"configMap": {"name": "c"}}, mountPath="/etc/one", subPath="a")
    stored["metadata"]["namespace"] = "default"

    assert api[1].read(stored, "c", "/etc/one") == b"one"
    for other in ("/etc", "/etc/onemore", "/etc/one/more"):
        with pytest.raises(FileNotFoundError):
            api[1].read(stored, "c", other)


def test_a_token_is_that_of_the_pod(api: tuple[Api, MountedFiles]) -> None:
    source = {"serviceAccountToken": {"path": "token", "audience": "me", "expirationSeconds": 700}}
    stored = api[0].create(f"{NAMESPACE}/pods", pod({"projected": {"sources": [source]}}))

    token = api[1].read(stored, "c", "/etc/v/token").decode()

    payload = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    assert claims["sub"] == "system:serviceaccount:default:default"
    assert claims["aud"] == ["me"]
    assert claims["kubernetes.io"]["pod"]["uid"] == stored["metadata"]["uid"]
    assert claims["exp"] - claims["iat"] == 700
