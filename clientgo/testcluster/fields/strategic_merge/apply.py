"""Merging a strategic merge patch into an object.

Promises: what the API server does with every directive. `merge` never changes its arguments.

Does not promise to remove directives from what a patch adds whole (new list items); a server drops
them as unknown fields.

Upstream: ``mergeMap`` and neighbours in ``k8s.io/apimachinery/pkg/util/strategicpatch``, which
change both arguments in place.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Final

from clientgo.meta.json_values import JSONObject, JSONValue, without_nulls
from clientgo.meta.patches.errors import InapplicablePatchError, MalformedPatchError
from clientgo.testcluster.fields.strategic_merge import directives
from clientgo.testcluster.fields.strategic_merge.elements import (
    ElementKey,
    Items,
    element_key,
    element_type,
    interleave,
    partition,
    unique,
)
from clientgo.testcluster.fields.strategic_merge.schema import (
    MergeStrategy,
    PatchField,
    PatchSchema,
)


def merge(original: JSONObject, patch: JSONObject, schema: PatchSchema) -> JSONObject:
    """Return `original` with `patch` merged into it; the result may share parts with both."""
    if directives.PATCH in patch:
        return _obey(patch)
    result, patch = dict(original), dict(patch)
    _retain_keys(result, patch)
    _merge_ordered_lists(result, patch, schema)
    for key, value in patch.items():
        if directives.is_list_deletion(key):
            _delete_from_list(result, key, value, schema)
        elif value is None:
            result.pop(key, None)
        else:
            _merge_member(result, key, value, schema)
    return result


def field_rule(schema: PatchSchema, name: str) -> PatchField:
    """Return how field `name` merges.

    Raises `InapplicablePatchError` if the type has no such field.
    """
    field = schema.patch_field(name)
    if field is None:
        raise InapplicablePatchError(f"the type has no field {name!r}, so it can't be merged")
    return field


def _obey(patch: JSONObject) -> JSONObject:
    match patch[directives.PATCH]:
        case directives.REPLACE:
            return {key: value for key, value in patch.items() if key != directives.PATCH}
        case directives.DELETE:
            return {}
        case directive:
            raise _unknown_directive(directive, patch)


def _merge_member(
    result: JSONObject,
    key: str,
    value: JSONValue,
    schema: PatchSchema,
) -> None:
    present = result.get(key)
    if isinstance(present, dict) and isinstance(value, dict):
        field = field_rule(schema, key)
        replaces = field.strategy is MergeStrategy.REPLACE
        result[key] = value if replaces else merge(present, value, field.schema)
    elif isinstance(present, list) and isinstance(value, list):
        result[key] = _merge_lists(present, value, field_rule(schema, key))
    else:
        value = _without_directives(without_nulls(value))
        if value is _DROPPED:
            result.pop(key, None)
        else:
            result[key] = value


def _retain_keys(result: JSONObject, patch: JSONObject) -> None:
    if directives.RETAIN_KEYS not in patch:
        return
    retained = patch.pop(directives.RETAIN_KEYS)
    if not isinstance(retained, list):
        raise MalformedPatchError(f"{directives.RETAIN_KEYS} is a list, not {retained!r}")
    for key, value in patch.items():
        is_data = not (directives.is_list_deletion(key) or directives.is_element_order(key))
        if is_data and value is not None and key not in retained:
            raise MalformedPatchError(f"{key!r} is set but missing in {directives.RETAIN_KEYS}")
    for key in [key for key in result if key not in retained]:
        del result[key]


def _merge_ordered_lists(
    result: JSONObject,
    patch: JSONObject,
    schema: PatchSchema,
) -> None:
    """Merge the lists whose order the patch gives, and take them and their order out of it."""
    for key in [key for key in patch if directives.is_element_order(key)]:
        order = patch.pop(key)
        name = directives.field_of(key)
        order, present, changes = (
            _as_list(key, order),
            _as_list(name, result.get(name, [])),
            _as_list(name, patch.get(name, [])),
        )
        field = field_rule(schema, name)
        _check_order(changes, order, field.merge_key)
        if name in result and name in patch:
            merged = _merge_lists(present, changes, field)
        elif name in result:
            merged = present
        elif name in patch:
            merged = _without_directives(changes)
        else:
            continue
        element_type(present, changes)
        listed, server_only = partition(merged, order, field.merge_key)
        result[name] = interleave(listed, server_only, order, present, field.merge_key)
        patch.pop(name, None)


def _check_order(changes: Items, order: Items, merge_key: str) -> None:
    """Raise if the patched items are not all in `order`, or in another sequence."""
    if not order:
        return
    remaining = deque(item for item in changes if not directives.is_deletion(item))
    for listed in order:
        while remaining and isinstance(item := remaining[0], dict) and directives.PATCH in item:
            remaining.popleft()  # behind the last item in the order, this is an error
        if remaining and element_key(remaining[0], merge_key) == element_key(listed, merge_key):
            remaining.popleft()
    if remaining:
        raise InapplicablePatchError(f"the order of {changes} is not that of {order}")


def _delete_from_list(
    result: JSONObject,
    key: str,
    value: JSONValue,
    schema: PatchSchema,
) -> None:
    name = directives.field_of(key)
    present = result.get(name)
    if value is None:
        result.pop(name, None)
    elif isinstance(present, list) and isinstance(value, list) and (present or value):
        if element_type(present, value) is dict:  # objects merge, as they do without the directive
            field = replace(field_rule(schema, name), strategy=MergeStrategy.MERGE)
            result[name] = _merge_lists(present, value, field)
            return
        gone = {element_key(item, "") for item in value}
        result[name] = [item for item in present if element_key(item, "") not in gone]


def _merge_lists(original: Items, patch: Items, field: PatchField) -> Items:
    if field.strategy is not MergeStrategy.MERGE:
        return patch
    if not original and not patch:
        return original
    if element_type(original, patch) is dict:
        if not field.merge_key:
            raise InapplicablePatchError(f"items of {patch} can't be merged without a merge key")
        original, patch = _obey_in_list(original, patch, field.merge_key)
        merged = _merge_items(original, patch, field)
    else:
        merged = unique(original + patch)
    patched, server_only = partition(merged, patch, field.merge_key)
    return interleave(patched, server_only, patch, original, field.merge_key)


def _obey_in_list(original: Items, patch: Items, merge_key: str) -> tuple[Items, Items]:
    """Take the directives out of `patch` and return what is left of both lists."""
    gone = set()
    changes = []
    replaces = False
    for item in patch:
        match item.get(directives.PATCH):
            case None:
                changes.append(item)
            case directives.DELETE:
                gone.add(element_key(item, merge_key))
            case directives.REPLACE:
                replaces = True
            case directives.MERGE:
                raise InapplicablePatchError("an item can't ask to be merged; it is anyway")
            case directive:
                raise _unknown_directive(directive, item)
    if replaces:
        return changes, []
    if gone:
        original = [item for item in original if element_key(item, merge_key) not in gone]
    return original, changes


def _merge_items(original: Items, patch: Items, field: PatchField) -> Items:
    merged = list(original)
    positions: dict[ElementKey, int] = {}
    for position, item in enumerate(original):
        positions.setdefault(element_key(item, field.merge_key), position)
    for item in patch:
        position = positions.setdefault(element_key(item, field.merge_key), len(merged))
        if position < len(merged):
            merged[position] = merge(merged[position], item, field.schema)
        else:
            merged.append(item)
    return merged


_DROPPED: Final = object()


def _without_directives(value: JSONValue) -> JSONValue:
    """Leave out objects that carry ``$patch``; return `_DROPPED` if `value` is such an object."""
    if isinstance(value, dict):
        if directives.PATCH in value:
            return _DROPPED
        members = {key: _without_directives(member) for key, member in value.items()}
        return {key: member for key, member in members.items() if member is not _DROPPED}
    if isinstance(value, list):
        return [kept for item in value if (kept := _without_directives(item)) is not _DROPPED]
    return value


def _as_list(key: str, value: JSONValue) -> Items:
    if not isinstance(value, list):
        raise InapplicablePatchError(f"{key!r} is a list, not {value!r}")
    return value


def _unknown_directive(directive: JSONValue, where: JSONObject) -> InapplicablePatchError:
    return InapplicablePatchError(f"unknown {directives.PATCH} directive {directive!r} in {where}")
