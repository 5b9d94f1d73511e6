from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta.json_values import json_equal
from clientgo.meta.patches import (
    InapplicablePatchError,
    MalformedPatchError,
    PatchConflictError,
)
from clientgo.testcluster.fields.strategic_merge import (
    MergeStrategy,
    PatchField,
    apply_strategic_merge_patch,
    create_strategic_merge_patch,
    create_three_way_strategic_merge_patch,
)


class Tree:
    """Objects in objects, lists by name (items), of scalars (tags) and atomic ones (args)."""

    def patch_field(self, name: str) -> PatchField | None:
        match name:
            case "items":
                return PatchField(self, MergeStrategy.MERGE, merge_key="name")
            case "tags":
                return PatchField(self, MergeStrategy.MERGE)
            case "args" | "sub":
                return PatchField(self)
            case "union":
                return PatchField(self, retain_keys=True)
            case "whole":
                return PatchField(self, MergeStrategy.REPLACE)
        return None


TREE = Tree()

scalars = st.sampled_from(["x", "y", 1, True])
tags = st.lists(st.sampled_from(["t1", "t2", "t3"]), unique=True, max_size=3)


def trees(depth: int = 2) -> st.SearchStrategy[dict[str, Any]]:
    fields: dict[str, st.SearchStrategy[Any]] = {
        "value": scalars,
        "args": st.lists(st.sampled_from(["p", "q"]), max_size=2),
        "tags": tags,
    }
    if depth:
        nested = trees(depth - 1)
        fields |= {
            "sub": nested,
            "union": nested,
            "whole": nested,
            "items": st.lists(
                st.tuples(st.sampled_from("abcd"), nested),
                unique_by=lambda pair: pair[0],
                max_size=3,
            ).map(lambda pairs: [tree | {"name": name} for name, tree in pairs]),
        }
    return st.fixed_dictionaries({}, optional=fields)


def _tags_sorted(value: Any) -> Any:
    """A reordering that sorts scalars goes unnoticed, as it does upstream."""
    if isinstance(value, dict):
        return {k: sorted(v) if k == "tags" else _tags_sorted(v) for k, v in value.items()}
    return [_tags_sorted(item) for item in value] if isinstance(value, list) else value


@given(trees(), trees())
def test_applying_a_created_patch_gives_the_modified_object(
    original: dict[str, Any], modified: dict[str, Any]
) -> None:
    patch = create_strategic_merge_patch(original, modified, TREE)

    result = apply_strategic_merge_patch(original, patch, TREE)

    assert json_equal(_tags_sorted(result), _tags_sorted(modified))


@given(trees().map(_tags_sorted))
def test_equal_objects_have_an_empty_patch(value: dict[str, Any]) -> None:
    assert create_strategic_merge_patch(value, value, TREE) == {}
    assert apply_strategic_merge_patch(value, {}, TREE) == value


@given(trees(), trees())
def test_without_foreign_changes_three_ways_are_two(
    original: dict[str, Any], modified: dict[str, Any]
) -> None:
    patch = create_three_way_strategic_merge_patch(original, modified, original, TREE)

    result = apply_strategic_merge_patch(original, patch, TREE)

    assert json_equal(_tags_sorted(result), _tags_sorted(modified))


def test_items_that_others_added_survive_a_three_way_patch() -> None:
    original = {"items": [{"name": "a"}, {"name": "b"}]}
    modified = {"items": [{"name": "a", "value": 1}]}
    current = {"items": [{"name": "theirs"}, {"name": "a"}, {"name": "b"}]}

    patch = create_three_way_strategic_merge_patch(original, modified, current, TREE)

    assert apply_strategic_merge_patch(current, patch, TREE) == {
        "items": [{"name": "theirs"}, {"name": "a", "value": 1}]
    }


def test_undoing_a_foreign_change_is_a_conflict_unless_overwriting() -> None:
    original, modified, current = {"value": 1}, {"value": 2}, {"value": 3}

    with pytest.raises(PatchConflictError):
        create_three_way_strategic_merge_patch(original, modified, current, TREE, overwrite=False)
    patch = create_three_way_strategic_merge_patch(original, modified, current, TREE)
    assert patch == {"value": 2}


def test_items_that_share_a_merge_key_are_paired_in_sequence() -> None:
    value = {"items": [{"name": "a", "value": 1}, {"name": "a", "value": 2}]}

    assert create_strategic_merge_patch(value, value, TREE) == {}


@pytest.mark.parametrize(
    ("patch", "error"),
    [
        ({"items": [{"value": 1}]}, InapplicablePatchError),
        ({"items": [["a"]]}, InapplicablePatchError),
        ({"items": ["a"]}, InapplicablePatchError),
        ({"items": [{"name": "a", "$patch": "merge"}]}, InapplicablePatchError),
        ({"unknown": {"a": 1}}, InapplicablePatchError),
        ({"$patch": "bogus"}, InapplicablePatchError),
        ({"$setElementOrder": []}, MalformedPatchError),
        ({"$setElementOrder/items": "a"}, InapplicablePatchError),
        ({"$setElementOrder/tags": ["t1"], "tags": []}, InapplicablePatchError),
        (
            {
                "$setElementOrder/items": [{"name": "a"}],
                "items": [{"name": "a"}, {"$patch": "replace"}],
            },
            InapplicablePatchError,
        ),
        ({"$deleteFromPrimitiveList": ["a"]}, MalformedPatchError),
        ({"$retainKeys": "a"}, MalformedPatchError),
        ({"$retainKeys": ["a"], "value": 1}, MalformedPatchError),
        ([], MalformedPatchError),
    ],
)
def test_patches_that_make_no_sense_are_refused(patch: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        apply_strategic_merge_patch({"items": [{"name": "a"}], "unknown": {}}, patch, TREE)


def test_directives_before_the_last_ordered_item_have_no_place_in_the_order() -> None:
    patch = {
        "$setElementOrder/items": [{"name": "b"}, {"name": "a"}],
        "items": [{"$patch": "replace"}, {"name": "b"}, {"name": "a"}],
    }

    result = apply_strategic_merge_patch({"items": [{"name": "a"}]}, patch, TREE)

    assert result == {"items": [{"name": "b"}, {"name": "a"}]}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([], [{"name": "a", "value": 1}]),
        ([{"name": "a", "value": 2}], [{"name": "a", "value": 2}]),
    ],
)
def test_objects_can_not_be_deleted_as_scalars_but_merge(value: Any, expected: Any) -> None:
    original = {"items": [{"name": "a", "value": 1}]}

    result = apply_strategic_merge_patch(original, {"$deleteFromPrimitiveList/items": value}, TREE)

    assert result == {"items": expected}


def test_neither_argument_is_changed_and_nothing_is_shared() -> None:
    original = {"items": [{"name": "a", "sub": {"value": 1}}], "args": ["p"]}
    patch = {"items": [{"name": "b", "sub": {"args": ["q"]}}]}

    result = apply_strategic_merge_patch(original, patch, TREE)
    for item in result["items"]:
        item["sub"].clear()
    result["args"].clear()

    assert original == {"items": [{"name": "a", "sub": {"value": 1}}], "args": ["p"]}
    assert patch == {"items": [{"name": "b", "sub": {"args": ["q"]}}]}
