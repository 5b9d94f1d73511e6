"""JSON patches from two documents."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta.json_values import json_equal
from clientgo.meta.patches import apply_json_patch, create_json_patch

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.text("a~/0 ", max_size=3)
VALUES = st.recursive(
    SCALARS,
    lambda below: (
        st.lists(below, max_size=4)
        | st.dictionaries(st.text("ab~/", min_size=1, max_size=2), below, max_size=4)
    ),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text("ab~/", min_size=1, max_size=2), VALUES, max_size=4)


@given(before=OBJECTS, after=OBJECTS)
def test_applied_to_the_first_document_it_gives_the_second(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    """OP-WHK-03"""
    assert json_equal(apply_json_patch(before, create_json_patch(before, after)), after)


@given(document=OBJECTS)
def test_equal_documents_give_no_operations(document: dict[str, Any]) -> None:
    """OP-WHK-03"""
    assert create_json_patch(document, document) == []


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ({"a": 1}, {"a": 2}, [{"op": "replace", "path": "/a", "value": 2}]),
        ({"a": 1}, {}, [{"op": "remove", "path": "/a"}]),
        ({}, {"a/b~": 1}, [{"op": "add", "path": "/a~1b~0", "value": 1}]),
        ({"a": [1]}, {"a": [1, 2]}, [{"op": "add", "path": "/a/-", "value": 2}]),
        (
            {"a": [1, 2, 3]},
            {"a": [1]},
            [{"op": "remove", "path": "/a/2"}, {"op": "remove", "path": "/a/1"}],
        ),
        ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}]),
        ({"a": 1}, {"a": 1.0}, []),
    ],
)
def test_only_what_differs_is_named(
    before: dict[str, Any], after: dict[str, Any], patch: list[dict[str, Any]]
) -> None:
    assert create_json_patch(before, after) == patch
