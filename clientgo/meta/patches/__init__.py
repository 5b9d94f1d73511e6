"""Patches: how a change to an object is written down, applied and computed.

Two formats of the Kubernetes API on plain JSON values::

    apply_json_patch    RFC 6902, a list of operations; create_…
    apply_merge_patch   RFC 7386, a partial document; create_…

A server also merges lists by key (`strategic_merge`) and applies
(`clientgo.testcluster.fields.managed_fields`).
"""

from clientgo.meta.patches.errors import (
    InapplicablePatchError,
    MalformedPatchError,
    PatchError,
    PatchTestError,
    UnprocessablePatchError,
)
from clientgo.meta.patches.json_patch import apply_json_patch, create_json_patch
from clientgo.meta.patches.merge_patch import (
    apply_merge_patch,
    create_merge_patch,
)

__all__ = [
    "apply_json_patch",
    "create_json_patch",
    "apply_merge_patch",
    "create_merge_patch",
    "PatchError",
    "MalformedPatchError",
    "InapplicablePatchError",
    "PatchTestError",
    "UnprocessablePatchError",
]
