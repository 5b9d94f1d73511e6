"""Objects under `copy` and `pickle`: nothing is lost, and the original stays as it was."""

from __future__ import annotations

import copy
import json
import multiprocessing
import pickle
from collections.abc import Callable
from typing import Any, Final

import msgspec
import pytest

from clientgo.api.core_v1 import ConfigMap
from clientgo.cache import DeletedFinalStateUnknown, Delta, DeltaType
from clientgo.meta import Codec, ObjectMeta, Status, Unstructured, WatchEvent
from clientgo.rest import TransportTimeoutError

PLAIN: Final[dict[str, Any]] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {
        "name": "a",
        "namespace": "d",
        "labels": {"app": "a"},
        "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:data": {"f:k": {}}}}],
        "unknownHeader": 1,
    },
    "data": {"k": "v"},
    "unknownField": {"deep": [1, {"x": None}]},
}
WAYS: Final[dict[str, Callable[[Any], Any]]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda obj: pickle.loads(pickle.dumps(obj)),
    "pickle protocol 2": lambda obj: pickle.loads(pickle.dumps(obj, 2)),
}
RAW: Final = json.dumps(PLAIN).encode()


def from_an_event(type_: Any) -> Any:
    return Codec(type_).decode_event(b'{"type":"ADDED","object":%b}' % RAW).object


def read(obj: Any) -> Any:
    assert (obj["data"] if isinstance(obj, Unstructured) else obj.data) == {"k": "v"}
    return obj


def changed(obj: Any) -> Any:
    obj.data["k"] = "w"
    obj.metadata.labels["app"] = "b"
    return obj


OBJECTS: Final[dict[str, Callable[[], Any]]] = {
    "typed, from a list": lambda: Codec(ConfigMap).decode(RAW),
    "typed, from a watch": lambda: from_an_event(ConfigMap),
    "typed, read": lambda: read(Codec(ConfigMap).decode(RAW)),
    "typed, changed": lambda: changed(from_an_event(ConfigMap)),
    "typed, made here": lambda: ConfigMap(metadata=ObjectMeta(name="a"), data={"k": "v"}),
    "typed, without a body": ConfigMap,
    "unstructured, from a list": lambda: Codec(Unstructured).decode(RAW),
    "unstructured, from a watch": lambda: from_an_event(Unstructured),
    "unstructured, read in part": lambda: read(Codec(Unstructured).decode(RAW)),
    "unstructured, made here": lambda: Unstructured.from_dict(PLAIN),
}
each_object = pytest.mark.parametrize("obj", OBJECTS.values(), ids=OBJECTS)
each_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@each_object
@each_way
def test_a_copy_has_all_that_the_object_has(
    obj: Callable[[], Any], way: Callable[[Any], Any]
) -> None:
    original, same = obj(), obj()

    duplicate = way(original)

    assert duplicate == original
    assert not duplicate != original  # noqa: SIM202 - a class may define one and not the other
    assert duplicate.to_dict() == same.to_dict()
    assert (duplicate._raw, duplicate._enclosed) == (same._raw, same._enclosed)
    assert repr(duplicate) == repr(original)


@each_object
@pytest.mark.parametrize("way", [way for name, way in WAYS.items() if name != "copy"])
def test_a_change_of_a_deep_copy_leaves_the_original_alone(
    obj: Callable[[], Any], way: Callable[[Any], Any]
) -> None:
    original, same = obj(), obj()

    duplicate = way(original)
    duplicate.metadata.labels["app"] = "changed"
    if isinstance(duplicate, ConfigMap):
        duplicate.data = {**(duplicate.data or {}), "k": "changed"}
    else:
        duplicate["data"]["k"] = "changed"

    assert original == same
    assert original != duplicate


@each_way
def test_a_field_set_on_a_copy_is_not_set_on_the_original(way: Callable[[Any], Any]) -> None:
    original = read(Codec(ConfigMap).decode(RAW))

    duplicate = way(original)
    duplicate.data = {"other": "data"}
    duplicate.metadata = ObjectMeta(name="b")

    assert original.to_dict() == PLAIN


def test_pickling_an_unread_body_does_not_decode_it() -> None:
    original = from_an_event(ConfigMap)

    duplicate = pickle.loads(pickle.dumps(original))

    assert original._body is None
    assert duplicate._body is None


@each_way
@pytest.mark.parametrize("type_", [ConfigMap, Unstructured])
def test_what_holds_objects_is_copied_with_them(type_: Any, way: Callable[[Any], Any]) -> None:
    codec: Codec[Any] = Codec(type_)
    page = b'{"kind":"ConfigMapList","metadata":{"resourceVersion":"7"},"items":[%b,%b]}'
    obj = from_an_event(type_)
    for holder in (
        codec.decode_list(page % (RAW, b'{"metadata":{"name":5}}')),
        codec.decode_event(b'{"type":"ADDED","object":%b}' % RAW),
        WatchEvent("ERROR", Status(code=410, reason="Expired")),
        Delta(DeltaType.ADDED, obj),
        DeletedFinalStateUnknown("d/a", obj),
        [obj, obj],
    ):
        assert way(holder) == holder


def of_a_worker(_: int) -> list[Any]:
    return [from_an_event(ConfigMap), from_an_event(Unstructured), ConfigMap(data={"k": "v"})]


def failing_worker(_: int) -> None:
    raise TransportTimeoutError("GET", "http://x", "slow")


def test_a_pool_of_processes_gives_back_objects_and_errors() -> None:
    """A result that cannot be made again stops the thread that waits for results, for ever."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        objects = pool.apply_async(of_a_worker, (0,)).get(timeout=60)
        with pytest.raises(TransportTimeoutError, match="GET http://x: slow"):
            pool.apply_async(failing_worker, (0,)).get(timeout=60)

    assert objects == of_a_worker(0)


def test_a_pickle_holds_the_json_of_an_object_once() -> None:
    pickled = pickle.dumps(Codec(ConfigMap).decode(RAW))

    assert pickled.count(msgspec.json.encode("unknownField")) == 1
