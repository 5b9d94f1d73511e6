"""Objects that came off the wire as the same JSON."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clientgo.api.core_v1 import ConfigMap
from clientgo.meta import Codec, ObjectMeta, PartialObjectMetadata, Unstructured, is_same_json

TYPED = {"kind": "ConfigMap", "apiVersion": "v1"}
PLAIN = {"metadata": {"name": "a", "resourceVersion": "7"}, "data": {"x": "1"}}


def item(plain: dict[str, Any], type_: Any = ConfigMap, kind: str = "ConfigMap") -> Any:
    page = {"kind": f"{kind}List", "apiVersion": "v1", "metadata": {}, "items": [plain]}
    (obj,) = Codec(type_).decode_list(msgspec.json.encode(page)).items
    return obj


def event(plain: dict[str, Any], type_: Any = ConfigMap, kind: str = "ADDED") -> Any:
    line = msgspec.json.encode({"type": kind, "object": plain}) + b"\n"
    return Codec(type_).decode_event(line).object


@pytest.mark.parametrize("type_", [ConfigMap, Unstructured, PartialObjectMetadata])
def test_lists_and_events_bring_the_same(type_: Any) -> None:
    """The items of a list of a built-in kind have no kind."""
    objs = [
        item(PLAIN, type_),
        event(TYPED | PLAIN, type_),
        event(TYPED | PLAIN, type_, "MODIFIED"),
    ]
    assert all(is_same_json(one, other) for one in objs for other in objs)
    assert is_same_json(item(TYPED | PLAIN, type_), objs[1])
    assert all("~" not in name for obj in objs for name in obj.to_dict())


@pytest.mark.parametrize(
    "other",
    [
        {**PLAIN, "metadata": {"name": "a", "resourceVersion": "8"}},
        {**PLAIN, "data": {"x": "2"}},
        {**PLAIN, "data": {"x": "11"}},
        {**PLAIN, "extra": 1},
        {"extra": 1, **PLAIN},
        {"extra": 1, **TYPED, **PLAIN},
        {"data": {"x": "1"}, "metadata": PLAIN["metadata"]},
        {"spec": PLAIN, "metadata": PLAIN["metadata"]},
    ],
)
@pytest.mark.parametrize("made", [item, event])
def test_other_json_differs(other: dict[str, Any], made: Any) -> None:
    """Also where the version is the same."""
    assert not is_same_json(item(PLAIN), made(other))
    assert not is_same_json(made(other), event(TYPED | PLAIN))


def test_what_is_not_json_differs() -> None:
    made = ConfigMap(metadata=ObjectMeta(name="a", resource_version="7"), data={"x": "1"})
    assert not is_same_json(made, made)
    assert not is_same_json(made, item(PLAIN))
    assert not is_same_json(PLAIN, PLAIN)
    assert not is_same_json(item(PLAIN, Unstructured), item(PLAIN))
    assert not is_same_json(
        item(PLAIN, Unstructured), item(PLAIN, Unstructured, kind="AnotherConfigMap")
    )
