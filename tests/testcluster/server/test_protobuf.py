"""Bodies in protobuf: those of kubectl, zeros, and malformed ones."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
import urllib3
from hypothesis import given
from hypothesis import strategies as st

from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.http.protobuf import PROTOBUF_TYPE
from clientgo.testcluster.server.http.protobuf.decoding import decode_protobuf
from clientgo.testcluster.server.http.protobuf.fields import UnknownKindError
from clientgo.testcluster.server.http.protobuf.wire import ProtobufError
from tests.testcluster.server.http_api import CONFIGMAPS, WIDGETS, Api, configmap

CREATED_BY_KUBECTL = bytes.fromhex(
    "6b3873000a0f0a02763112 09436f6e6669674d6170121b0a110a01611200"
    "1a0022002a003200380042 0012060a0178120179 1a002200"
)
"""``kubectl create configmap a --from-literal=x=y``, of version 1.32."""


def varint(number: int) -> bytes:
    encoded = b""
    number &= (1 << 64) - 1
    while number >= 0x80:
        encoded += bytes([number & 0x7F | 0x80])
        number >>= 7
    return encoded + bytes([number])


def message(*fields: tuple[int, Any]) -> bytes:
    """A message of numbers, texts, and messages."""
    encoded = b""
    for number, value in fields:
        if isinstance(value, int):
            encoded += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            encoded += varint(number << 3 | 2) + varint(len(data)) + data
    return encoded


def body(api_version: str, kind: str, *fields: tuple[int, Any]) -> bytes:
    header = message((1, api_version), (2, kind))
    return b"k8s\x00" + message((1, header), (2, message(*fields)))


def pod_with(*spec: tuple[int, Any]) -> Any:
    return decode_protobuf(body("v1", "Pod", (2, message(*spec))))["spec"]


def test_a_protobuf_body_of_kubectl_is_read_like_its_json() -> None:
    assert decode_protobuf(CREATED_BY_KUBECTL) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a"},
        "data": {"x": "y"},
    }


def test_a_zero_is_kept_where_it_differs_from_a_missing_field() -> None:
    spec = message((1, 0), (5, 0), (7, 0))  # replicas is a pointer, the others are not

    decoded = decode_protobuf(body("apps/v1", "Deployment", (2, spec)))

    assert decoded["spec"] == {"replicas": 0}


def test_an_empty_message_is_kept() -> None:
    volume = message((1, "v"), (2, message((2, b""))))

    assert pod_with((1, volume))["volumes"] == [{"name": "v", "emptyDir": {}}]


def test_times_are_texts_and_left_out_if_unset() -> None:
    moment = message((1, 1_700_000_000), (2, 123_456_000))
    spec = message((1, "me"), (3, moment), (4, b""))

    decoded = decode_protobuf(
        body("coordination.k8s.io/v1", "Lease", (1, message((8, moment), (9, b""))), (2, spec))
    )

    assert decoded["metadata"] == {"creationTimestamp": "2023-11-14T22:13:20Z"}
    assert decoded["spec"] == {"holderIdentity": "me", "acquireTime": "2023-11-14T22:13:20.123456Z"}


def test_quantities_maps_and_bytes_are_those_of_json() -> None:
    resources = message((2, message((1, "cpu"), (2, message((1, "500m"))))))
    container = message((1, "c"), (8, resources))
    secret = body("v1", "Secret", (2, message((1, "k"), (2, b"\xff"))), (2, message((1, "e"))))

    assert pod_with((2, container))["containers"] == [
        {"name": "c", "resources": {"requests": {"cpu": "500m"}}}
    ]
    assert decode_protobuf(secret)["data"] == {"k": "/w==", "e": ""}


def test_a_port_is_a_number_or_a_name() -> None:
    ports = [message((3, 80), (4, message((1, 0), (2, 8080), (3, "")))),
             message((3, 81), (4, message((1, 1), (2, 0), (3, "web")))),
             message((3, 82), (4, message((1, 0), (2, 0), (3, ""))))]  # fmt: skip

    service = decode_protobuf(body("v1", "Service", (2, message(*[(1, port) for port in ports]))))

    assert [port.get("targetPort") for port in service["spec"]["ports"]] == [8080, "web", None]


def test_numbers_may_be_negative_and_packed() -> None:
    packed = message((4, varint(5) + varint(-1)), (4, 7))

    assert pod_with((5, -1), (14, packed)) == {
        "activeDeadlineSeconds": -1,
        "securityContext": {"supplementalGroups": [5, -1, 7]},
    }


def test_lists_in_maps_are_unwrapped() -> None:
    extra = message((1, "scopes"), (2, message((1, "a"), (1, "b"))))
    review = body("authorization.k8s.io/v1", "SubjectAccessReview", (2, message((5, extra))))

    assert decode_protobuf(review)["spec"] == {"extra": {"scopes": ["a", "b"]}}


def test_options_of_a_deletion_are_known_in_every_group() -> None:
    options = decode_protobuf(body("apps/v1", "DeleteOptions", (1, 0), (4, "Orphan")))

    assert (options["gracePeriodSeconds"], options["propagationPolicy"]) == (0, "Orphan")


def test_a_field_of_a_newer_version_is_skipped() -> None:
    assert "spec" not in decode_protobuf(body("v1", "ConfigMap", (900, "new"), (901, 1)))


def test_a_kind_without_protobuf_has_its_own_error() -> None:
    with pytest.raises(UnknownKindError):
        decode_protobuf(body("example.com/v1", "Widget"))


@pytest.mark.parametrize("size", range(len(CREATED_BY_KUBECTL)))
def test_a_body_that_was_cut_off_is_read_or_refused(size: int) -> None:
    with pytest.raises((ProtobufError, UnknownKindError)):
        decode_protobuf(CREATED_BY_KUBECTL[:size] + b"\x0a\x7f")


@given(st.binary(max_size=200))
def test_whatever_the_bytes_are_they_are_read_or_refused(data: bytes) -> None:
    header = message((1, "v1"), (2, "Pod"))
    with contextlib.suppress(ProtobufError):
        decode_protobuf(b"k8s\x00" + message((1, header), (2, data)))


def post(server: EmbeddedAPIServer, path: str, data: bytes, method: str = "POST") -> int:
    headers = {"content-type": PROTOBUF_TYPE}
    return urllib3.request(
        method, server.url + path, body=data, headers=headers, retries=False
    ).status


def test_the_server_takes_protobuf_for_built_in_kinds_only(
    server: EmbeddedAPIServer, widgets: Api
) -> None:
    assert post(server, CONFIGMAPS, CREATED_BY_KUBECTL) == 201
    assert post(server, CONFIGMAPS, CREATED_BY_KUBECTL[:-3]) == 400
    assert post(server, CONFIGMAPS, b'{"kind": "ConfigMap"}') == 400
    assert post(server, CONFIGMAPS, body("example.com/v1", "Widget")) == 400
    assert post(server, WIDGETS, body("example.com/v1", "Widget")) == 415
    assert post(server, WIDGETS, CREATED_BY_KUBECTL) == 415

    assert widgets.get(f"{CONFIGMAPS}/a")["data"] == {"x": "y"}


@pytest.mark.parametrize(("api_version", "kind"), [("", "ConfigMap"), ("v1", ""), ("", "")])
def test_a_body_without_a_type_is_refused(
    server: EmbeddedAPIServer, api: Api, api_version: str, kind: str
) -> None:
    """It is not an object without fields."""
    created = api.create(CONFIGMAPS, configmap("a", labels={"a": "b"}))

    assert post(server, f"{CONFIGMAPS}/a", body(api_version, kind), "PUT") == 400

    assert api.get(f"{CONFIGMAPS}/a") == created


def test_a_deletion_may_have_its_options_in_protobuf(server: EmbeddedAPIServer, api: Api) -> None:
    uid = api.create(CONFIGMAPS, configmap("a"))["metadata"]["uid"]

    def delete(wanted: str) -> int:
        options = body("v1", "DeleteOptions", (2, message((1, wanted))))
        return post(server, f"{CONFIGMAPS}/a", options, "DELETE")

    assert (delete("another"), delete(uid)) == (409, 200)
