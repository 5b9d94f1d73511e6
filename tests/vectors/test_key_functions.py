"""Keys are made and split as client-go does it."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.cache import (
    deletion_handling_meta_namespace_key,
    deletion_handling_object_name,
    index_func_as_key_func,
    meta_namespace_index,
    meta_namespace_key,
)
from clientgo.meta import ObjectName
from tests.vectors.loader import params
from tests.vectors.objects import decode


@pytest.mark.parametrize("case", params("key_functions"))
def test_key_functions_behave_as_recorded(case: dict[str, Any]) -> None:
    for step in case["steps"]:
        args, expect = step.get("args") or {}, step["expect"]
        function = _FUNCTIONS[step["op"]]
        if expect.get("error"):
            with pytest.raises((ValueError, TypeError)):
                function(args)
            continue
        result = function(args)
        if step["op"] in ("parse_object_name", "object_name"):
            assert str(result) == expect["str"]
            # A pair of names has a text form of its own upstream, which always has the slash.
            assert "/".join(result) == expect["namespaced_name_str"]
        if "result" in expect:
            assert _plain(result, expect["result"]) == expect["result"], step


_FUNCTIONS = {
    "meta_namespace_key": lambda a: meta_namespace_key(decode(a["obj"])),
    "deletion_handling_meta_namespace_key": lambda a: deletion_handling_meta_namespace_key(
        decode(a["obj"])
    ),
    "deletion_handling_object_to_name": lambda a: deletion_handling_object_name(decode(a["obj"])),
    "meta_namespace_index": lambda a: meta_namespace_index(decode(a["obj"])),
    "split_meta_namespace_key": lambda a: ObjectName.parse(a["key"]),
    "parse_object_name": lambda a: ObjectName.parse(a["value"]),
    "object_name": lambda a: ObjectName(a["namespace"], a["name"]),
    "index_func_to_key_func_adapter": lambda a: index_func_as_key_func(
        lambda _: a["index_values"] or []
    )(object()),
}


def _plain(result: Any, like: Any) -> Any:
    if isinstance(result, ObjectName):
        return result._asdict() if isinstance(like, dict) else list(result)
    return result
