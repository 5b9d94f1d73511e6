"""Patches by their media type: the table that the embedded server and the fakes apply them from."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from clientgo.meta.patches import apply_json_patch, apply_merge_patch
from clientgo.testcluster.fields.strategic_merge import PatchSchema, apply_strategic_merge_patch

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"


def patch_functions(schema: PatchSchema | None) -> dict[str, Callable[[Any, Any], Any]]:
    """Return what applies each type of patch to objects of a kind.

    Each function takes the object and the patch, and changes neither. Without a ``schema`` there is
    no strategic merge.
    """
    functions: dict[str, Callable[[Any, Any], Any]] = {
        JSON_PATCH: apply_json_patch,
        MERGE_PATCH: apply_merge_patch,
    }
    if schema is not None:
        functions[STRATEGIC_PATCH] = partial(apply_strategic_merge_patch, schema=schema)
    return functions
