"""Patches: how a change to an object is written down, applied and computed.

Three formats of the Kubernetes API on plain JSON values::

    apply_json_patch             RFC 6902, a list of operations; create_…
    apply_merge_patch            RFC 7386, a partial document; create_…, compose_…, three-way
    apply_strategic_merge_patch  merges lists by key; create two- and three-way

Server-side apply is not a patch in this sense; see `clientgo.meta.managed_fields`.
"""

from clientgo.meta.patches.errors import (
    InapplicablePatchError,
    MalformedPatchError,
    PatchConflictError,
    PatchError,
    PatchTestError,
    UnprocessablePatchError,
)
from clientgo.meta.patches.json_patch import apply_json_patch, create_json_patch
from clientgo.meta.patches.merge_patch import (
    apply_merge_patch,
    compose_merge_patches,
    create_merge_patch,
    create_three_way_merge_patch,
)
from clientgo.meta.patches.strategic_merge import (
    MergeStrategy,
    PatchField,
    PatchSchema,
    apply_strategic_merge_patch,
    create_strategic_merge_patch,
    create_three_way_strategic_merge_patch,
)

__all__ = [
    "apply_json_patch",
    "create_json_patch",
    "apply_merge_patch",
    "compose_merge_patches",
    "create_merge_patch",
    "create_three_way_merge_patch",
    "apply_strategic_merge_patch",
    "create_strategic_merge_patch",
    "create_three_way_strategic_merge_patch",
    "PatchSchema",
    "PatchField",
    "MergeStrategy",
    "PatchError",
    "MalformedPatchError",
    "InapplicablePatchError",
    "PatchTestError",
    "UnprocessablePatchError",
    "PatchConflictError",
]
