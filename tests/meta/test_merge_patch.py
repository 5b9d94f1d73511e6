from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta.json_values import json_equal
from clientgo.meta.patches import (
    apply_merge_patch,
    create_merge_patch,
)

scalars = st.booleans() | st.integers(0, 2) | st.floats(0, 1) | st.sampled_from(["", "x"])
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from("abcd"), values, max_size=4)


@given(objects, objects)
def test_applying_a_created_patch_gives_the_modified_object(
    original: dict[str, Any], modified: dict[str, Any]
) -> None:
    patch = create_merge_patch(original, modified)

    assert json_equal(apply_merge_patch(original, patch), modified)


@given(objects)
def test_equal_objects_have_an_empty_patch(value: dict[str, Any]) -> None:
    assert create_merge_patch(value, value) == {}


def test_a_boolean_is_not_a_number() -> None:
    assert create_merge_patch({"a": 1}, {"a": True}) == {"a": True}
    assert create_merge_patch({"a": 1}, {"a": 1.0}) == {}


def test_the_result_shares_nothing_with_its_arguments() -> None:
    document, patch = {"a": {"b": [1]}}, {"c": {"d": [2]}}

    result = apply_merge_patch(document, patch)
    result["a"]["b"].append(3)
    result["c"]["d"].append(4)

    assert document == {"a": {"b": [1]}}
    assert patch == {"c": {"d": [2]}}
