"""Patches: how a change to an object is written down, applied and computed.

Two formats of the Kubernetes API on plain JSON values::

    apply_json_patch    RFC 6902, a list of operations; create_…
    apply_merge_patch   RFC 7386, a partial document; create_…

`upgrade_managed_fields` is for objects that were updated and are to be applied from now on. A
server also merges lists by key (`strategic_merge`) and applies (`clientgo.testcluster.fields`).
"""

from clientgo.meta.patches.errors import (
    InapplicablePatchError,
    MalformedPatchError,
    PatchError,
    PatchTestError,
    UnprocessablePatchError,
)
from clientgo.meta.patches.json_patch import apply_json_patch, create_json_patch
from clientgo.meta.patches.managed_fields import (
    entries_of,
    upgrade_managed_fields,
    upgrade_managed_fields_patch,
)
from clientgo.meta.patches.merge_patch import (
    apply_merge_patch,
    create_merge_patch,
)

__all__ = [
    "apply_json_patch",
    "create_json_patch",
    "apply_merge_patch",
    "create_merge_patch",
    "entries_of",
    "upgrade_managed_fields",
    "upgrade_managed_fields_patch",
    "PatchError",
    "MalformedPatchError",
    "InapplicablePatchError",
    "PatchTestError",
    "UnprocessablePatchError",
]
