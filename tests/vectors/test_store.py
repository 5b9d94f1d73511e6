"""Stores and indexes do what client-go's do, step by step."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.cache import Delta, DeltaType, Indexer
from clientgo.meta import Unstructured, annotations_of, deep_copy, labels_of, metadata_of
from tests.vectors.loader import params
from tests.vectors.objects import decode, reference


@pytest.mark.parametrize("case", params("store"))
def test_store_behaves_as_recorded(case: dict[str, Any]) -> None:
    config = case["config"]
    make = _Transforming if config.get("transformer") else Indexer
    store: Indexer[Any] = make(
        indexers={name: INDEX_FUNCS[name] for name in config["indexers"]},
        tracks_resource_version=config["feature_gates"]["AtomicFIFO"],
    )
    for number, step in enumerate(case["steps"]):
        expect = dict(step["expect"])
        seen = _step(store, step["op"], step.get("args") or {})
        must_fail = bool(expect.pop("error", None) or expect.pop("panic", None))
        assert bool(seen.pop("error", None)) is must_fail, (number, step, seen)
        if not must_fail:
            assert {name: seen.get(name) for name in expect} == expect, (number, step)


class _Transforming(Indexer[Any]):
    """A store in front of which objects are transformed, as a reflector's are."""

    def add(self, obj: Any) -> None:
        super().add(_set_app_to_t_and_fail_on_bad(obj))

    def replace(self, objs: Any, resource_version: str, unknown: Any = ()) -> None:
        transformed = [_set_app_to_t_and_fail_on_bad(obj) for obj in objs]
        super().replace(transformed, resource_version, unknown)


def _step(store: Indexer[Any], op: str, args: dict[str, Any]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    try:
        _CALLS[op](store, args, seen)
    except Exception as error:
        seen["error"] = error
    seen["rv"] = store.last_store_sync_resource_version()
    return seen


def _write(name: str) -> Any:
    return lambda store, args, _: getattr(store, name)(decode(args["obj"]))


def _get(store: Indexer[Any], args: dict[str, Any], seen: dict[str, Any]) -> None:
    obj = store.get(decode(args["obj"])) if "obj" in args else store.get_by_key(args["key"])
    seen["exists"] = obj is not None
    seen["obj"] = _plain(obj)


def _query(name: str, *arguments: str) -> Any:
    def call(store: Indexer[Any], args: dict[str, Any], seen: dict[str, Any]) -> None:
        values = [decode(args[a]) if a == "obj" else args[a] for a in arguments]
        found = getattr(store, name)(*values)
        seen["result"] = sorted(_name(item) for item in found)

    return call


_CALLS = {
    "add": _write("add"),
    "update": _write("update"),
    "delete": _write("delete"),
    "replace": lambda store, args, _: store.replace(
        [decode(obj) for obj in args["objs"]], args["resource_version"]
    ),
    "bookmark": lambda store, args, _: store.bookmark(args["resource_version"]),
    "resync": lambda store, _args, _: store.resync(),
    "transaction": lambda store, args, _: store.transaction(
        # An operation of unknown type, which upstream ignores, can't be expressed here.
        [
            Delta(_TYPES[t["type"]], decode(t["obj"]))
            for t in args["transactions"]
            if t["type"] in _TYPES
        ]
    ),
    "add_indexers": lambda store, args, _: store.add_indexers(
        {name: INDEX_FUNCS[name] for name in args["indexers"]}
    ),
    "get": _get,
    "get_by_key": _get,
    "list": _query("list"),
    "list_keys": _query("list_keys"),
    "by_index": _query("by_index", "index_name", "indexed_value"),
    "index_keys": _query("index_keys", "index_name", "indexed_value"),
    "index": _query("index", "index_name", "obj"),
    "list_index_func_values": _query("list_index_func_values", "index_name"),
    "get_indexers": _query("get_indexers"),
}

_TYPES = {"Add": DeltaType.ADDED, "Update": DeltaType.UPDATED, "Delete": DeltaType.DELETED}


def _name(item: Any) -> Any:
    return reference(item) if isinstance(item, Unstructured) else item


def _plain(obj: Any) -> Any:
    return obj.to_dict() if isinstance(obj, Unstructured) else obj


def _fails_on_bad(obj: Any) -> list[str]:
    if labels_of(obj).get("bad"):
        raise ValueError("bad object")
    return ["good"]


def _by_app(obj: Any) -> list[str]:
    labels = labels_of(obj)
    return [labels["app"]] if "app" in labels else []


def _by_groups(obj: Any) -> list[str]:
    groups = annotations_of(obj).get("groups")
    return groups.split(",") if groups else []


INDEX_FUNCS = {
    "by_namespace": lambda obj: [metadata_of(obj).namespace],
    "by_app": _by_app,
    "by_groups": _by_groups,
    "by_name_len": lambda obj: [str(len(metadata_of(obj).name))],
    "fails_on_bad": _fails_on_bad,
}


def _set_app_to_t_and_fail_on_bad(obj: Any) -> Any:
    if labels_of(obj).get("bad"):
        raise ValueError("transform refused")
    copy = deep_copy(obj)
    copy.metadata.labels["app"] = "T"
    return copy
