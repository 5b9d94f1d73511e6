"""Events of a watch: which frames are changes of an object that was asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pytest

from clientgo.api.core_v1 import ConfigMap
from clientgo.client.metadata_codec import MetadataCodec
from clientgo.meta import (
    APIResource,
    Codec,
    DecodeError,
    PartialObjectMetadata,
    Status,
    Unstructured,
)

CONFIG_MAPS: Final = APIResource(version="v1", kind="ConfigMap", plural="configmaps")
CODECS: Final[dict[str, Codec[Any]]] = {
    "typed": Codec(ConfigMap),
    "unstructured": Codec(Unstructured, CONFIG_MAPS),
    "headers": MetadataCodec(CONFIG_MAPS),
}
A: Final = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {}}
HEADER: Final = {
    "apiVersion": "meta.k8s.io/v1",
    "kind": "PartialObjectMetadata",
    "metadata": {"name": "a"},
}
FAILURE: Final = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410}

NO_CHANGES: Final[dict[str, Any]] = {
    "another kind": A | {"kind": "Secret"},
    "another version": A | {"apiVersion": "v2"},
    "another kind, in another order": {"metadata": {"name": "a"}, "kind": "Secret"},
    "a list": {"kind": "ConfigMapList", "apiVersion": "v1", "items": [A]},
    "a table": {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a"}},
    "a success": FAILURE | {"status": "Success"},
    "no name": A | {"metadata": {}},
    "no metadata": {"apiVersion": "v1", "kind": "ConfigMap"},
    "null metadata": A | {"metadata": None},
    "a message": {"message": "no Route matched"},
    "nothing": {},
    "null": None,
    "text": "a",
    "a number": 7,
    "objects": [A],
}

Written = Callable[[Any], bytes]
WRITTEN: Final[dict[str, Written]] = {
    "as a server": lambda event: json.dumps(event, separators=(",", ":")).encode() + b"\n",
    "with blanks": lambda event: json.dumps(event).encode(),
    "object first": lambda event: json.dumps(dict(reversed(event.items()))).encode(),
}


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
@pytest.mark.parametrize("case", NO_CHANGES)
def test_a_frame_without_an_object_of_the_kind_is_no_change(
    codec: Codec[Any], case: str, written: Written
) -> None:
    for type_ in ("ADDED", "MODIFIED", "DELETED"):
        good = {"type": "ADDED", "object": A}
        lines = [written(good), written({"type": type_, "object": NO_CHANGES[case]}), written(good)]

        events, error = codec.decode_events(lines)

        assert [event.object.metadata.name for event in events] == ["a"]
        assert isinstance(error, DecodeError)


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
@pytest.mark.parametrize("type_", ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "NOVEL"])
def test_a_refusal_is_an_error_event_whatever_it_is_called(
    codec: Codec[Any], type_: str, written: Written
) -> None:
    event = codec.decode_event(written({"type": type_, "object": FAILURE}))

    assert event.type == "ERROR"
    assert isinstance(event.object, Status)
    assert event.object.code == 410


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_an_object_of_the_kind_is_a_change_however_it_is_written(
    codec: Codec[Any], written: Written
) -> None:
    forms = [A, dict(reversed(A.items())), {"metadata": {"name": "a"}}]
    if codec.type is PartialObjectMetadata:
        forms.append(HEADER)
    for form in forms:
        line = written({"type": "MODIFIED", "object": form})

        assert codec.decode_event(line).object.metadata.name == "a"
        assert codec.decode_events([line])[1] is None


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_a_bookmark_needs_no_name(codec: Codec[Any]) -> None:
    kind = HEADER if codec.type is PartialObjectMetadata else A
    line = WRITTEN["as a server"](
        {"type": "BOOKMARK", "object": kind | {"metadata": {"resourceVersion": "9"}}}
    )

    (event,), error = codec.decode_events([line])

    assert (event.type, event.object.metadata.resource_version, error) == ("BOOKMARK", "9", None)
