"""JSONPath as printer columns and selectable fields use it."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.server.crds.json_path import JsonPath, JsonPathError, as_text

DOCUMENT = {
    "list": ["a", "b", "c", "d"],
    "items": [
        {"name": "x", "v": 1, "ok": True},
        {"name": "y", "v": 2, "ok": False},
        {"name": "z", "v": 3},
    ],
    "conditions": [{"type": "Ready", "status": "True"}, {"type": "Old", "status": "False"}],
    "map": {"a.b/c": 1, "d": {"e": [2, 3]}},
    "text": "hi",
    "none": None,
    "ratio": 0.5,
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".text", ["hi"]),
        ("$.text", ["hi"]),
        (".missing.x", []),
        (".none", [None]),
        (".none.x", []),
        (".map.a\\.b/c", [1]),
        (".map['a\\.b/c']", [1]),
        (".map['d']", [{"e": [2, 3]}]),
        (".list[0]", ["a"]),
        (".list[]", ["a"]),
        (".list[-1]", ["d"]),
        (".list[1:3]", ["b", "c"]),
        (".list[:2]", ["a", "b"]),
        (".list[2:]", ["c", "d"]),
        (".list[-2:]", ["c", "d"]),
        (".list[0:4:2]", ["a", "c"]),
        (".list[::3]", ["a", "d"]),
        (".list[1:1]", []),
        (".list[*]", ["a", "b", "c", "d"]),
        (".list[0,2]", ["a", "c"]),
        (".list[0:2,-1]", ["a", "b", "d"]),
        (".items[*].name", ["x", "y", "z"]),
        (".items[*]['name','v']", ["x", "y", "z", 1, 2, 3]),
        (".map.d.*", [[2, 3]]),
        (".text.*", [104, 105]),
        ("..e", [[2, 3]]),
        ("..status", ["True", "False"]),
        (".items[?(@.v>1)].name", ["y", "z"]),
        (".items[?(@.v >= 2)].name", ["y", "z"]),
        (".items[?(@.v<2)].name", ["x"]),
        (".items[?(@.v!=2)].name", ["x", "z"]),
        (".items[?(@.ok)].name", ["x", "y"]),
        (".items[?(@.ok==true)].name", ["x"]),
        (".items[?(@.name=='y')].v", [2]),
        ('.conditions[?(@.type=="Ready")].status', ["True"]),
        ('.conditions[?(@.type=="A ) \\" b")].status', []),
        (".none[0]", []),
    ],
)
def test_a_path_selects_what_kubernetes_selects(path: str, found: list[Any]) -> None:
    assert JsonPath(path).find(DOCUMENT) == found


@pytest.mark.parametrize(
    "path",
    [
        ".list[4]",
        ".list[-5]",
        ".list[0:5]",
        ".list[3:1]",
        ".list[0:4:0]",
        ".text[0]",
        ".map[0]",
        ".map[?(@.v==1)]",
        ".none[?(@.v==1)]",
        '.items[?(@.v=="1")]',
        ".items[?(@.ok>false)]",
        ".items[?(@.v=>1)]",
        ".items[?(@.v>0.5)]",
        ". range",
    ],
)
def test_a_path_that_does_not_fit_the_document_is_an_error(path: str) -> None:
    with pytest.raises(JsonPathError):
        JsonPath(path).find(DOCUMENT)


@pytest.mark.parametrize(
    "path", [".a[", ".a[x]", ".a[-]", ".a[?(@.x==1]", ".a[?(@.x==1)", ".a....b", ".a#[?]", ".a[0]~"]
)
def test_a_malformed_path_is_refused(path: str) -> None:
    with pytest.raises(JsonPathError):
        JsonPath(path)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "<no value>"),
        (True, "true"),
        (3, "3"),
        (1e30, "1e+30"),
        ("x", "x"),
        ({"b": [1, None], "a": "<"}, '{"a":"\\u003c","b":[1,null]}'),
    ],
)
def test_values_are_printed_as_the_server_prints_them(value: Any, text: str) -> None:
    assert as_text(value) == text
