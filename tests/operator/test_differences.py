"""How an object is compared with what is desired of it."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.operator.client.differences import differences, merge_patch_between, patch_to


@pytest.mark.parametrize(
    ("actual", "desired", "found", "patch"),
    [
        ({"a": 1, "default": 2}, {"a": 1}, {}, {}),
        ({"a": [1]}, {"a": []}, {}, {}),
        ({"a": {"b": 1}}, {"a": {}}, {}, {}),
        ({}, {"a": None, "b": {}, "c": []}, {}, {}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}}, {".a.b": 1}, {"a": {"b": 3}}),
        ({}, {"a": {"b": 3}}, {".a": None}, {"a": {"b": 3}}),
        ({"a": [{"b": 1, "c": 2}]}, {"a": [{"b": 1}]}, {}, {}),
        ({"a": [{"b": 1, "c": 2}]}, {"a": [{"b": 3}]}, {".a[0].b": 1}, {"a": [{"b": 3}]}),
        ({"a": [1, 2]}, {"a": [1]}, {".a": [1, 2]}, {"a": [1]}),
        ({"a": False}, {"a": 0}, {}, {}),
        ({"a": "x"}, {"a": ""}, {".a": "x"}, {"a": ""}),
    ],
    ids=[
        "a default of the server",
        "an empty list desires nothing",
        "an empty object desires nothing",
        "empty and missing are the same",
        "another value",
        "a missing object",
        "a default in an item",
        "another value in an item",
        "a list of another length",
        "equal values",
        "an empty text is a value",
    ],
)
def test_only_what_is_desired_and_not_empty_can_differ(
    actual: dict[str, Any], desired: dict[str, Any], found: dict[str, Any], patch: dict[str, Any]
) -> None:
    """OP-CLI-08, OP-DEP-02, BP-29"""
    assert differences(actual, desired) == found
    assert patch_to(actual, desired) == patch


def test_a_null_is_no_difference_to_an_absent_field() -> None:
    there = {"status": {"conditions": [{"type": "Ready", "lastProbeTime": None}]}}

    assert merge_patch_between(there, {"status": {"conditions": [{"type": "Ready"}]}}) == {}
    assert merge_patch_between(there, {"status": {}}) == {"status": {"conditions": None}}
