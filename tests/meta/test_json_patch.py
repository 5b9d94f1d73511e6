from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta.patches import (
    InapplicablePatchError,
    MalformedPatchError,
    PatchError,
    apply_json_patch,
)

paths = st.lists(st.sampled_from(["a", "b", "0", "1", "-", "-1"]), max_size=3).map(
    lambda tokens: "".join(f"/{token}" for token in tokens)
)
documents = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=5,
)
steps = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]),
        "path": paths,
        "from": paths,
        "value": documents,
    }
)


@given(documents, st.lists(steps, max_size=4))
def test_any_patch_applies_or_is_refused_with_a_patch_error(document: Any, patch: Any) -> None:
    try:
        result = apply_json_patch(document, patch)
    except PatchError:
        return
    assert isinstance(result, dict | list)


def test_the_error_names_the_operation_that_does_not_apply() -> None:
    patch = [{"op": "add", "path": "/a", "value": 1}, {"op": "remove", "path": "/b"}]

    with pytest.raises(InapplicablePatchError, match="operation 1 of the patch"):
        apply_json_patch({}, patch)


@pytest.mark.parametrize("patch", [{"op": "add"}, ["add"], None, "[]"])
def test_what_is_no_list_of_operations_is_malformed(patch: Any) -> None:
    with pytest.raises(MalformedPatchError):
        apply_json_patch({}, patch)


def test_a_value_used_twice_is_not_shared() -> None:
    value: list[int] = []
    patch = [
        {"op": "add", "path": "/a", "value": value},
        {"op": "copy", "from": "/a", "path": "/b"},
        {"op": "add", "path": "/a/-", "value": 1},
    ]

    assert apply_json_patch({}, patch) == {"a": [1], "b": []}
    assert value == []


def test_test_tells_numbers_from_booleans() -> None:
    with pytest.raises(InapplicablePatchError):
        apply_json_patch({"a": 1}, [{"op": "test", "path": "/a", "value": True}])


@pytest.mark.parametrize(("value", "expected"), [({"b": 2}, {"b": 2}), (1, {"a": 1})])
def test_a_scalar_does_not_replace_the_document(value: Any, expected: Any) -> None:
    patch = [{"op": "replace", "path": "", "value": value}]

    assert apply_json_patch({"a": 1}, patch) == expected


def test_negative_indices_count_from_the_end() -> None:
    def patched(op: str, index: int) -> Any:
        return apply_json_patch({"a": [1, 2]}, [{"op": op, "path": f"/a/{index}", "value": 9}])

    assert patched("add", -1) == {"a": [1, 2, 9]}
    assert patched("add", -3) == {"a": [9, 1, 2]}
    assert patched("replace", -2) == {"a": [9, 2]}
    assert patched("remove", -1) == {"a": [1]}
    with pytest.raises(InapplicablePatchError):
        patched("remove", -3)


@pytest.mark.parametrize("index", ["9" * 5000, "-" + "9" * 5000, "0" * 5000 + "1"])
def test_an_index_of_thousands_of_digits_is_outside(index: str) -> None:
    """Python does not read numbers of more than 4,300 digits."""
    with pytest.raises(InapplicablePatchError, match="outside a list of 2"):
        apply_json_patch([1, 2], [{"op": "replace", "path": f"/{index}", "value": 3}])
