"""Whether two strategic merge patches of one object contradict each other.

Promises: patches that give different values to one field conflict; lists that merge conflict where
items with the same key do, lists of scalars that merge never.

Upstream: ``MergingMapsHaveConflicts`` in ``k8s.io/apimachinery/pkg/util/strategicpatch``.
"""

from __future__ import annotations

from clientgo.meta.json_values import JSONObject, JSONValue, json_equal
from clientgo.testcluster.fields.strategic_merge import directives
from clientgo.testcluster.fields.strategic_merge.apply import field_rule
from clientgo.testcluster.fields.strategic_merge.elements import (
    Items,
    element_key,
    element_type,
)
from clientgo.testcluster.fields.strategic_merge.schema import (
    MergeStrategy,
    PatchField,
    PatchSchema,
)


def patches_conflict(left: JSONObject, right: JSONObject, schema: PatchSchema) -> bool:
    """Tell whether `left` and `right` give different values to some field.

    Raises `InapplicablePatchError` if both have a list or object that the type does not have, or
    lists that can't be compared.
    """
    if left.get(directives.PATCH) != right.get(directives.PATCH):
        return True
    return any(
        _members_conflict(left[key], right[key], schema, key)
        for key in left.keys() & right.keys() - {directives.PATCH, directives.RETAIN_KEYS}
    )


def _members_conflict(left: JSONValue, right: JSONValue, schema: PatchSchema, key: str) -> bool:
    if isinstance(left, dict):
        return not isinstance(right, dict) or _objects_conflict(
            left, right, field_rule(schema, key)
        )
    if isinstance(left, list):
        return not isinstance(right, list) or _lists_conflict(left, right, field_rule(schema, key))
    return not json_equal(left, right)


def _objects_conflict(left: JSONObject, right: JSONObject, field: PatchField) -> bool:
    if field.strategy is MergeStrategy.REPLACE:
        return left.get(directives.PATCH) != right.get(directives.PATCH)
    return patches_conflict(left, right, field.schema)


def _lists_conflict(left: Items, right: Items, field: PatchField) -> bool:
    of_objects = element_type(left, right) is dict
    if field.strategy is MergeStrategy.MERGE:
        if not of_objects:
            return False
        others = {element_key(item, field.merge_key): item for item in right}
        return any(
            (other := others.get(element_key(item, field.merge_key))) is not None
            and patches_conflict(item, other, field.schema)
            for item in left
        )
    if len(left) != len(right):
        return True
    if of_objects:
        return any(
            patches_conflict(item, other, field.schema)
            for item, other in zip(left, right, strict=True)
        )
    return {element_key(item, "") for item in left} != {element_key(item, "") for item in right}
