"""Strategic merge patch: a partial document that knows which lists merge, and by which key.

::

    object ──┐
             ├─ apply ──► object
    patch  ──┘

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
)
from clientgo.testcluster.fields.strategic_merge.apply import merge
from clientgo.testcluster.fields.strategic_merge.schema import (
    MergeStrategy,
    PatchField,
    PatchSchema,
)

__all__ = [
    "apply_strategic_merge_patch",
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
    result: JSONObject = copy_json(merge(original, patch, schema))
    return result


def _require_objects(*values: JSONObject) -> None:
    for value in values:
        if not isinstance(value, dict):
            raise MalformedPatchError(
                f"a strategic merge patch is about objects, not {value!r:.100}"
            )
