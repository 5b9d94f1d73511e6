"""Objects that are nested too deeply: each is left out by itself, with its name and a reason."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clientgo.client.metadata_codec import MetadataCodec
from clientgo.meta import (
    APIResource,
    Codec,
    DecodeError,
    Model,
    ObjectDecodeError,
    PartialObjectMetadata,
    Resource,
    Undecodable,
    Unstructured,
    deep_copy,
    encode,
    resource,
)
from clientgo.meta.decoding import decode
from clientgo.meta.patches import (
    PatchError,
    apply_json_patch,
    apply_merge_patch,
    create_json_patch,
    create_merge_patch,
)
from clientgo.meta.scheme import Scheme
from clientgo.testcluster.fields.managed_fields import (
    DEDUCED,
    FieldManager,
    FieldSet,
    TypedValueError,
)
from tests import too_deep
from tests.too_deep import TOO_DEEP, nested_value

pytestmark = pytest.mark.small_stack

DEEP = (TOO_DEEP, 100_000)

SHAPES = {
    "objects": (b'{"a":', b"}"),
    "arrays": (b"[", b"]"),
    "mixed": (b'[0,{"b":1,"a":', b',"c":"}"}]'),
    "spaced": (b'{ "a" : [ ', b" ] }"),
}
PLACES = {
    "in the body": b'{"metadata":{ID},"spec":{"any":DEEP}}',
    "in an unknown field": b'{"stuff":DEEP,"metadata":{ID}}',
    "in the managed fields": b'{"metadata":{"managedFields":[{"fieldsV1":DEEP}],ID}}',
    "in an annotation": b'{"metadata":{ID,"annotations":{"a":DEEP}}}',
    "in a label": b'{"metadata":{"labels":{"a":DEEP},ID}}',
    "in the metadata": b'{"metadata":{ID,"stuff":DEEP}}',
}
NAME = b'"namespace":"ns","name":"deep","uid":"u","resourceVersion":"5"'
POD = b'{"metadata":{"name":"p","namespace":"ns","uid":"v","resourceVersion":"3"},"spec":{}}'


class AnySpec(Model):
    any: Any = None


@resource(group="example.com", version="v1", plural="anythings")
class Anything(Resource):
    spec: AnySpec = AnySpec()


KINDS: list[Codec[Any]] = [Codec(Anything), Codec(Unstructured), Codec(PartialObjectMetadata)]


def nested(levels: int, shape: str = "objects") -> bytes:
    start, end = SHAPES[shape]
    return too_deep.nested(levels // (start.count(b"[") + start.count(b"{")), start, end)


def deep_object(levels: int, place: str = "in the body", shape: str = "objects") -> bytes:
    return PLACES[place].replace(b"ID", NAME).replace(b"DEEP", nested(levels, shape))


def assert_named(bad: Any, levels: int, raw: bytes) -> None:
    assert isinstance(bad, Undecodable)
    assert (bad.metadata.namespace, bad.metadata.name) == ("ns", "deep")
    assert (bad.metadata.uid, bad.metadata.resource_version) == ("u", "5")
    assert "nested too deeply" in bad.reason
    assert f"{levels // 1000:,}," in bad.reason, "it says how deeply"
    assert bad.raw == raw


@pytest.mark.parametrize("codec", KINDS, ids=lambda codec: codec.type.__name__)
@pytest.mark.parametrize(
    ("place", "shape"),
    [*((place, "objects") for place in PLACES), *(("in the body", shape) for shape in SHAPES)],
)
def test_a_deep_object_in_a_list_costs_only_itself(
    codec: Codec[Any], place: str, shape: str
) -> None:
    raw = deep_object(TOO_DEEP, place, shape)

    page = codec.decode_list(b'{"metadata":{"continue":"c"},"items":[%s,%s,%s]}' % (POD, raw, POD))

    assert [obj.metadata.name for obj in page.items] == ["p", "p"]
    assert page.metadata.continue_ == "c"
    (bad,) = page.undecodable
    assert_named(bad, TOO_DEEP, raw)


@pytest.mark.parametrize("codec", KINDS, ids=lambda codec: codec.type.__name__)
@pytest.mark.parametrize("type_", ["ADDED", "MODIFIED", "DELETED"])
@pytest.mark.parametrize("place", PLACES)
def test_a_deep_object_in_an_event_is_reported_in_its_place(
    codec: Codec[Any], place: str, type_: str
) -> None:
    raw = deep_object(TOO_DEEP, place)
    lines = [b'{"type":"%s","object":%s}' % (type_.encode(), obj) for obj in (POD, raw, POD)]

    events, error = codec.decode_events(lines)

    assert error is None
    assert [event.type for event in events] == [type_] * 3
    assert [event.object.metadata.name for event in events] == ["p", "deep", "p"]
    assert_named(events[1].object, TOO_DEEP, raw)


@pytest.mark.parametrize("levels", DEEP)
def test_no_depth_is_more_than_an_object_that_is_left_out(levels: int) -> None:
    raw = deep_object(levels)
    codec = Codec(Unstructured)

    listed = codec.decode_list(b'{"items":[%s]}' % raw).undecodable[0]
    changed = codec.decode_event(b'{"type":"ADDED","object":%s}' % raw).object

    for bad in (listed, changed):
        assert_named(bad, levels, raw)
    with pytest.raises(DecodeError, match="nested too deeply"):
        codec.decode(raw)


def test_a_deep_object_whose_name_cannot_be_read_is_left_out_all_the_same() -> None:
    names = (nested(TOO_DEEP), b"7", b"null", b"true", b'{"a":1}')
    for name in names:
        raw = b'{"metadata":{"name":%s},"x":%s}' % (name, nested(TOO_DEEP))
        with pytest.raises(DecodeError, match="nested too deeply"):
            Codec(Unstructured).decode(raw)


DEEP_LISTS = {
    "deep beside the items": (b'{"items":[POD],"x":DEEP}', 1),
    "deep in the items' place": (b'{"items":{"a":DEEP}}', "not a list"),
    "deep in the list's metadata": (b'{"items":[POD],"metadata":DEEP}', "not a list"),
    "deep in the list's kind": (b'{"items":[POD],"kind":DEEP}', "not a list"),
    "cut short": (b'{"items":[POD,DEEP', "not a list"),
    "no JSON behind": (b'{"items":[POD,DEEP]]}', "not a list"),
    "null items": (b'{"kind":"PodList","items":null,"x":DEEP}', 0),
    "an item that is no object": (b'{"items":[POD,DEEP,7]}', "not an object"),
    "a missing item before": (b'{"items":[POD,,DEEP]}', "not a list"),
    "a missing item behind": (b'{"items":[DEEP,,POD]}', "not an object"),
}


@pytest.mark.parametrize("case", DEEP_LISTS)
def test_a_deep_list_is_read_or_refused(case: str) -> None:
    text, expected = DEEP_LISTS[case]
    raw = text.replace(b"POD", POD).replace(b"DEEP", nested(TOO_DEEP))
    if isinstance(expected, str):
        with pytest.raises(DecodeError, match=expected):
            Codec(Unstructured).decode_list(raw)
    else:
        assert len(Codec(Unstructured).decode_list(raw).items) == expected


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"ERROR","object":DEEP}',
        b'{"type":DEEP,"object":{}}',
        b'{"type":"ADDED","object":DEEP',
        b'{"object":DEEP}',
        b'{"type":"ADDED","x":DEEP}',
        b"DEEP",
    ],
)
def test_a_deep_line_that_is_no_event_is_refused(line: bytes) -> None:
    with pytest.raises(DecodeError, match="not a watch event"):
        Codec(Unstructured).decode_event(line.replace(b"DEEP", nested(TOO_DEEP)))


@pytest.mark.parametrize("levels", [100, 300, 500, 800])
@pytest.mark.parametrize("kind", [Anything, Unstructured])
def test_an_object_that_is_cached_can_be_used(levels: int, kind: Any) -> None:
    raw = deep_object(levels)
    obj = Codec(kind).decode(raw)

    copy = deep_copy(obj)
    copy.metadata.labels["a"] = "b"

    assert encode(obj).count(b"{") == raw.count(b"{")
    assert copy.to_dict()["metadata"]["labels"] == {"a": "b"}
    assert obj == Codec(kind).decode(raw)
    assert repr(obj) == repr(copy)
    spec = obj.spec.any if kind is Anything else obj["spec"]["any"]
    assert copy.to_dict()["spec"] == {"any": spec}


@pytest.mark.parametrize("kind", [Anything, Unstructured])
def test_a_deep_body_raises_the_error_of_a_body(kind: Any) -> None:
    """Such an object is not decoded; a header of one may be, where the stack was larger."""
    obj = Codec(kind).decode(deep_object(3))
    obj._raw = deep_object(TOO_DEEP)
    reads = [obj.to_dict, lambda: encode(obj), lambda: obj == Codec(kind).decode(POD)]
    reads.append((lambda: obj.spec) if kind is Anything else (lambda: obj["spec"]))

    for read in reads:
        with pytest.raises(
            ObjectDecodeError, match=rf"'ns/deep'.*nested too deeply \({TOO_DEEP + 2:,}"
        ):
            read()


def fields_of(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = {"f:a": value}
    return value


DEEP_PATH = f"v:{'[' * TOO_DEEP}"
MANAGER = FieldManager(api_version="v1", kind="A", types=lambda version, subresource: DEDUCED)
DEEP_CALLS: dict[str, tuple[Any, type[Exception]]] = {
    "encode": (lambda value: encode({"spec": value}), ValueError),
    "decode": (lambda value: decode(nested(TOO_DEEP), dict), msgspec.DecodeError),
    "a scheme": (lambda value: Scheme().decode(nested(TOO_DEEP)), DecodeError),
    "metadata": (lambda value: Unstructured.from_dict({"metadata": {"a": value}}), ValueError),
    "a JSON patch": (
        lambda value: create_json_patch(value, nested_value(TOO_DEEP - 1)),
        PatchError,
    ),
    "a merge patch": (
        lambda value: create_merge_patch(value, nested_value(TOO_DEEP - 1)),
        PatchError,
    ),
    "an apply": (
        lambda value: MANAGER.apply({}, {"apiVersion": "v1", "kind": "A", "a": value}, "m"),
        TypedValueError,
    ),
    "managed fields": (lambda value: FieldSet.from_fields_v1(fields_of(TOO_DEEP)), ValueError),
    "a path element": (lambda value: FieldSet.from_fields_v1({DEEP_PATH: {}}), ValueError),
}


@pytest.mark.parametrize("call", DEEP_CALLS)
def test_whatever_walks_a_deep_value_raises_its_own_error(call: str) -> None:
    function, error = DEEP_CALLS[call]

    with pytest.raises(error, match="nested too deeply"):
        function(nested_value(TOO_DEEP))


@pytest.mark.parametrize("levels", [400, 3000, 50_000])
def test_a_merge_patch_is_applied_at_any_depth(levels: int) -> None:
    document, patch = nested_value(levels), nested_value(levels)
    holder = patch
    for _ in range(levels - 1):
        holder = holder["a"]
    holder["a"] = {"b": None, "c": 3}

    result = apply_merge_patch(document, patch)
    result = apply_json_patch(result, [{"op": "add", "path": "/a" * levels + "/d", "value": 4}])

    for _ in range(levels):
        result = result["a"]
    assert result == {"c": 3, "d": 4}


@pytest.mark.parametrize("place", ["in the body", "in an unknown field", "in the managed fields"])
def test_headers_of_whole_objects_need_no_body(place: str) -> None:
    """A server that ignores what a metadata client accepts sends whole objects."""
    codec = MetadataCodec(APIResource(version="v1", kind="Pod", plural="pods"))
    raw = deep_object(TOO_DEEP, place).replace(b"{", b'{"apiVersion":"v1","kind":"Pod",', 1)
    page = b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[%s,%s]}' % (raw, POD)

    listed = codec.decode_list(page)
    event = codec.decode_event(b'{"type":"MODIFIED","object":%s}' % raw)

    names = [obj.metadata.name for obj in (*listed.items, *listed.undecodable)]
    assert sorted(names) == ["deep", "p"]
    assert len(listed.undecodable) == (place == "in the managed fields")
    assert event.object.metadata.name == "deep"
