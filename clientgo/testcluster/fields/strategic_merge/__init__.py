"""Strategic merge patch: a partial document that knows which lists merge, and by which key.

::

    original ─┐
              ├─ create ──► patch ──► apply ──► object
    modified ─┘

What merges how is a property of the type, asked of a `PatchSchema`; the instructions that a patch
can carry are listed in `directives`. Everything works on plain JSON values and changes none.

Upstream: ``k8s.io/apimachinery/pkg/util/strategicpatch``.
"""

from __future__ import annotations

from clientgo.meta.json_values import JSONObject, copy_json
from clientgo.meta.nesting import refuses_too_deep
from clientgo.meta.patches.errors import (
    InapplicablePatchError,
    MalformedPatchError,
    PatchConflictError,
)
from clientgo.testcluster.fields.strategic_merge.apply import Mode, merge
from clientgo.testcluster.fields.strategic_merge.conflicts import patches_conflict
from clientgo.testcluster.fields.strategic_merge.diff import DiffOptions, diff
from clientgo.testcluster.fields.strategic_merge.schema import (
    MergeStrategy,
    PatchField,
    PatchSchema,
)

__all__ = [
    "apply_strategic_merge_patch",
    "create_strategic_merge_patch",
    "create_three_way_strategic_merge_patch",
    "PatchSchema",
    "PatchField",
    "MergeStrategy",
]


@refuses_too_deep(InapplicablePatchError)
def apply_strategic_merge_patch(
    original: JSONObject, patch: JSONObject, schema: PatchSchema
) -> JSONObject:
    """Return `original` with `patch` merged into it as the API server does.

    Raises `MalformedPatchError` for directives of the wrong form, `InapplicablePatchError` if list
    items lack their merge key, the given orders contradict each other, or a list or object that is
    on both sides is unknown to `schema`.
    """
    _require_objects(original, patch)
    result: JSONObject = copy_json(merge(original, patch, schema, Mode.APPLY))
    return result


@refuses_too_deep(InapplicablePatchError)
def create_strategic_merge_patch(
    original: JSONObject, modified: JSONObject, schema: PatchSchema
) -> JSONObject:
    """Return the patch that turns `original` into `modified`; an empty one if they are equal.

    Raises `InapplicablePatchError` as `apply_strategic_merge_patch` does.
    """
    _require_objects(original, modified)
    patch: JSONObject = copy_json(diff(original, modified, schema, DiffOptions()))
    return patch


@refuses_too_deep(InapplicablePatchError)
def create_three_way_strategic_merge_patch(
    original: JSONObject,
    modified: JSONObject,
    current: JSONObject,
    schema: PatchSchema,
    *,
    overwrite: bool = True,
) -> JSONObject:
    """Return the patch that brings `current` to `modified`.

    It removes only what `original` (the state last applied) had and `modified` lacks, and so leaves
    alone what others have added. Unless `overwrite` is set, raises `PatchConflictError` if it would
    undo a change made between `original` and `current`.
    """
    _require_objects(original, modified, current)
    changes = diff(current, modified, schema, DiffOptions(deletions=False))
    deletions = diff(original, modified, schema, DiffOptions(changes=False))
    patch = merge(deletions, changes, schema, Mode.COMBINE)
    if not overwrite:
        theirs = diff(original, current, schema, DiffOptions(element_order=False))
        if patches_conflict(patch, theirs, schema):
            raise PatchConflictError(
                f"patch {patch} conflicts with the changes made by others: {theirs}"
            )
    result: JSONObject = copy_json(patch)
    return result


def _require_objects(*values: JSONObject) -> None:
    for value in values:
        if not isinstance(value, dict):
            raise MalformedPatchError(
                f"a strategic merge patch is about objects, not {value!r:.100}"
            )
