"""What a strategic merge patch needs to know of a type: how each field merges.

Promises: a protocol of one method, so that any source of schemas can drive patches.

Does not promise where schemas come from; `clientgo.testcluster.schema.openapi` has the built-in
types.

Upstream: ``strategicpatch.LookupPatchMeta``, which has one method for fields that hold objects and
another for lists; the patch knows which it is looking at, so one suffices.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Protocol


class MergeStrategy(enum.Enum):
    """What a patch does to a field that is present on both sides."""

    DEFAULT = "default"
    """Objects merge, lists are replaced."""
    MERGE = "merge"
    """Lists merge too: of objects by merge key, of scalars as sets."""
    REPLACE = "replace"
    """Objects are replaced too."""


@dataclass(frozen=True, slots=True)
class PatchField:
    """How one field merges.

    `schema` is that of the field's value, or of its items if it is a list.
    """

    schema: PatchSchema
    strategy: MergeStrategy = MergeStrategy.DEFAULT
    merge_key: str = ""


class PatchSchema(Protocol):
    """How the fields of an object merge."""

    def patch_field(self, name: str) -> PatchField | None:
        """Return how field `name` merges, or None if there is no such field."""
