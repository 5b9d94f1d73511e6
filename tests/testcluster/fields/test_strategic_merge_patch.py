from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from clientgo.meta.patches import (
    InapplicablePatchError,
    MalformedPatchError,
)
from clientgo.testcluster.fields.strategic_merge import (
    MergeStrategy,
    PatchField,
    apply_strategic_merge_patch,
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
            case "whole":
                return PatchField(self, MergeStrategy.REPLACE)
        return None


TREE = Tree()


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


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (
            {"items": [{"value": 1.0, "tags": ["a", None], "b": {"c": True}}]},
            "map: map[b:map[c:true] tags:[a <nil>] value:1] does not contain declared merge key: "
            "name",
        ),
        (
            {"items": ["a"]},
            "list element types are not identical: [[map[name:a]] [a]]",
        ),
        ({"items": [{"name": [Raw(b"[[1]]")]}]}, "list item [[[1]]] has no merge key"),
    ],
)
def test_refusals_show_values_as_go_does(patch: Any, message: str) -> None:
    with pytest.raises(InapplicablePatchError) as refusal:
        apply_strategic_merge_patch({"items": [{"name": "a"}]}, patch, TREE)

    assert str(refusal.value) == message


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
