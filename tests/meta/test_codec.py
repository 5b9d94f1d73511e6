"""The wire: what decodes, what is reported instead, and what never takes others down."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from clientgo.api.apps_v1 import Deployment
from clientgo.meta import (
    Codec,
    DecodeError,
    PartialObjectMetadata,
    Status,
    Undecodable,
    Unstructured,
    encode,
)

POD = b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","resourceVersion":"3"},"spec":{}}'


def event(type_: str, obj: bytes) -> bytes:
    return b'{"type":"%s","object":%s}' % (type_.encode(), obj)


def test_an_event_keeps_its_own_line_and_reads_its_body_from_there() -> None:
    decoded = Codec(Unstructured).decode_event(event("MODIFIED", POD))

    assert decoded.type == "MODIFIED"
    assert decoded.object.to_dict() == msgspec.json.decode(POD)


def test_an_error_event_carries_a_status() -> None:
    status = b'{"kind":"Status","code":410,"reason":"Expired","message":"too old"}'

    decoded = Codec(PartialObjectMetadata).decode_event(event("ERROR", status))

    assert isinstance(decoded.object, Status)
    assert (decoded.object.code, decoded.object.reason) == (410, "Expired")


def test_a_bookmark_carries_a_version() -> None:
    line = event("BOOKMARK", b'{"kind":"Pod","metadata":{"resourceVersion":"12"}}')

    assert Codec(Unstructured).decode_event(line).object.metadata.resource_version == "12"


def test_an_unknown_event_type_comes_through_for_the_reader_to_judge() -> None:
    assert Codec(Unstructured).decode_event(event("NOVEL", POD)).type == "NOVEL"


@pytest.mark.parametrize("line", [b"", b"{}", b"null", b'{"type":"ADDED"', b"garbage"])
def test_what_is_no_event_is_an_error_that_shows_it(line: bytes) -> None:
    with pytest.raises(DecodeError, match="not a watch event"):
        Codec(Unstructured).decode_event(line)


def test_one_broken_object_in_a_list_costs_only_itself() -> None:
    """FIELD-13: the rest of the page goes on, and what is known of the broken one is kept."""
    broken = b'{"metadata":{"name":"bad","namespace":"ns","labels":7}}'
    page = b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[%s,%s]}' % (broken, POD)

    objects = Codec(Unstructured).decode_list(page)

    assert [obj.metadata.name for obj in objects.items] == ["p"]
    assert [bad.metadata.name for bad in objects.undecodable] == ["bad"]
    assert "labels" in objects.undecodable[0].reason


def test_a_broken_object_in_an_event_is_reported_in_its_place() -> None:
    decoded = Codec(Unstructured).decode_event(event("ADDED", b'{"metadata":{"name":3}}'))

    assert isinstance(decoded.object, Undecodable)


BAD_BODY = b'{"metadata":{"name":"bad","namespace":"ns"},"spec":{"text":"\xff"}}'


@pytest.mark.parametrize("type_", [Unstructured, Deployment])
def test_an_object_whose_body_is_not_utf8_is_reported_when_it_arrives(type_: Any) -> None:
    """FIELD-13: it is not cached as good, to fail when a reader looks at it."""
    codec = Codec(type_)

    good = b'{"metadata":{"name":"p"}}'
    listed = codec.decode_list(b'{"metadata":{},"items":[%s,%s]}' % (BAD_BODY, good))
    changed = codec.decode_event(event("MODIFIED", BAD_BODY))

    assert [obj.metadata.name for obj in listed.items] == ["p"]
    for bad in (listed.undecodable[0], changed.object):
        assert isinstance(bad, Undecodable)
        assert (bad.metadata.namespace, bad.metadata.name) == ("ns", "bad")
        assert "utf-8" in bad.reason
    with pytest.raises(DecodeError, match="utf-8"):
        codec.decode(BAD_BODY)


def test_text_beyond_ascii_is_no_reason_to_report_an_object() -> None:
    good = '{"metadata":{"name":"g"},"spec":{"text":"grüße ☃"}}'.encode()

    listed = Codec(Unstructured).decode_list(b'{"metadata":{},"items":[%s]}' % good)

    assert listed.items[0]["spec"]["text"] == "grüße ☃"
    assert Codec(Unstructured).decode_event(event("ADDED", good)).object["spec"]


def test_lines_are_decoded_together_as_each_is_by_itself() -> None:
    codec = Codec(Unstructured)
    lines = [
        event("ADDED", '{"metadata":{"name":"ü"},"spec":{"replicas":1}}'.encode()),
        b"\r",
        event("MODIFIED", BAD_BODY),
        event("ERROR", b'{"kind":"Status","code":410}'),
    ]

    for batch in (lines, lines[:1], lines[2:3], lines[3:], []):
        events, error = codec.decode_events(batch)
        assert events == [codec.decode_event(line) for line in batch if line.strip()]
        assert error is None
    assert codec.decode_events(lines)[0][0].object["spec"] == {"replicas": 1}


def test_events_before_a_line_that_is_none_are_returned_with_its_error() -> None:
    events, error = Codec(Unstructured).decode_events([event("ADDED", POD), b"no event"])

    assert [each.object.metadata.name for each in events] == ["p"]
    assert isinstance(error, DecodeError)


def test_an_object_that_is_no_utf8_costs_only_itself() -> None:
    broken = b'{"metadata":{"name":"\xff"}}'

    objects = Codec(Unstructured).decode_list(b'{"metadata":{},"items":[%s,%s]}' % (broken, POD))
    decoded = Codec(Unstructured).decode_event(event("ADDED", broken))

    assert (len(objects.items), [odd.raw for odd in objects.undecodable]) == (1, [broken])
    assert isinstance(decoded.object, Undecodable)


def test_an_object_with_two_faults_is_reported_all_the_same() -> None:
    broken = b'{"metadata":{"name":3,"namespace":4},"spec":"\xff"}'

    objects = Codec(Unstructured).decode_list(b'{"metadata":{},"items":[%s]}' % broken)

    assert [odd.raw for odd in objects.undecodable] == [broken]


def test_items_learn_their_kind_from_a_list_that_says_it_once() -> None:
    metadata = b'{"resourceVersion":"9","continue":"t"}'
    page = (
        b'{"kind":"PodList","apiVersion":"v1","metadata":%s,"items":[{"metadata":{"name":"a"}}]}'
        % metadata
    )

    objects = Codec(Unstructured).decode_list(page)

    assert (objects.items[0].kind, objects.items[0].api_version) == ("Pod", "v1")
    assert objects.items[0]["kind"] == "Pod"
    assert (objects.metadata.resource_version, objects.metadata.continue_) == ("9", "t")


def test_a_list_of_null_is_empty() -> None:
    """FIELD-13: Go servers write a nil list as null."""
    assert Codec(Unstructured).decode_list(b'{"kind":"PodList","items":null}').items == []


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_table_is_no_list(version: str) -> None:
    """RFL-03: taken for a list it would be an empty one, and everything in a cache deleted."""
    table = b'{"kind":"Table","apiVersion":"meta.k8s.io/%s","metadata":{},"rows":[{}]}'

    with pytest.raises(DecodeError, match="Table"):
        Codec(Unstructured).decode_list(table % version.encode())


def test_a_list_of_somebodys_tables_is_a_list() -> None:
    """RFL-03."""
    table = b'{"kind":"Table","apiVersion":"example.com/v1","metadata":{"name":"t"}}'
    page = b'{"kind":"TableList","apiVersion":"example.com/v1","metadata":{},"items":[%s]}' % table

    assert [obj.kind for obj in Codec(Unstructured).decode_list(page).items] == ["Table"]


def test_items_do_not_keep_their_page_alive() -> None:
    page = b'{"metadata":{},"items":[%s,%s]}' % (POD, POD)

    item = Codec(Unstructured).decode_list(page).items[0]

    assert item._raw == POD


def test_dicts_and_models_of_the_kubernetes_package_can_be_sent_as_well() -> None:
    client = pytest.importorskip("kubernetes.client")
    created = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    config_map = client.V1ConfigMap(
        metadata=client.V1ObjectMeta(
            name="m",
            creation_timestamp=created,
            owner_references=[
                client.V1OwnerReference(api_version="v1", kind="Pod", name="p", uid="u")
            ],
        ),
        data={"some_key": "v"},
    )

    assert msgspec.json.decode(encode(config_map)) == {
        "metadata": {
            "name": "m",
            "creationTimestamp": "2026-01-02T03:04:05Z",
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}],
        },
        "data": {"some_key": "v"},
    }
    assert encode({"a": 1}) == b'{"a":1}'
    with pytest.raises(TypeError, match="no API object"):
        encode(3)  # type: ignore[arg-type]
