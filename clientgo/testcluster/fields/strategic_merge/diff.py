"""What a strategic merge patch must say to turn one object into another.

Promises: lists that merge by key are compared item by item, lists of scalars that merge as sets;
deletions and orders are written as directives.

Does not promise the shortest patch.

Upstream: ``diffMaps`` and neighbours in ``k8s.io/apimachinery/pkg/util/strategicpatch``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from clientgo.meta.json_values import JSONObject, JSONValue, json_equal
from clientgo.meta.patches.errors import InapplicablePatchError
from clientgo.testcluster.fields.strategic_merge import directives
from clientgo.testcluster.fields.strategic_merge.apply import field_rule
from clientgo.testcluster.fields.strategic_merge.elements import (
    ElementKey,
    Items,
    element_key,
    element_type,
    sorted_like,
    unique,
)
from clientgo.testcluster.fields.strategic_merge.schema import (
    MergeStrategy,
    PatchField,
    PatchSchema,
)


@dataclass(frozen=True, slots=True)
class DiffOptions:
    """Which differences are written down."""

    changes: bool = True
    deletions: bool = True
    element_order: bool = True
    retain_keys: bool = False


def diff(
    original: JSONObject, modified: JSONObject, schema: PatchSchema, options: DiffOptions
) -> JSONObject:
    """Return the patch from `original` to `modified`; it may share parts with `modified`.

    Raises `InapplicablePatchError` for a field that differs and that the type does not have.
    """
    patch: JSONObject = {}
    for key, value in modified.items():
        before = original.get(key)
        if key == directives.PATCH and key in original:
            _diff_directive(patch, before, value)
        elif isinstance(before, dict) and isinstance(value, dict):
            _diff_member_objects(patch, key, before, value, schema, options)
        elif isinstance(before, list) and isinstance(value, list):
            _diff_member_lists(patch, key, before, value, schema, options)
        elif options.changes and (key not in original or not _same(before, value)):
            patch[key] = value
    if options.deletions:
        patch.update({key: None for key in original if key not in modified})
    if options.retain_keys:
        _retain_keys(patch, original, modified)
    return patch


def _retain_keys(patch: JSONObject, original: JSONObject, modified: JSONObject) -> None:
    retained = sorted(key for key, value in modified.items() if value is not None)
    dropped = any(value is not None and key not in modified for key, value in original.items())
    if retained and (patch or dropped):
        patch[directives.RETAIN_KEYS] = retained


def _diff_directive(patch: JSONObject, before: JSONValue, after: JSONValue) -> None:
    if not isinstance(before, str) or not isinstance(after, str):
        raise InapplicablePatchError(f"{directives.PATCH} is a string, not {before!r} or {after!r}")
    if before != after:
        patch[directives.PATCH] = after


def _diff_member_objects(
    patch: JSONObject,
    key: str,
    before: JSONObject,
    after: JSONObject,
    schema: PatchSchema,
    options: DiffOptions,
) -> None:
    if schema.patch_field(key) is None and json_equal(before, after):
        return
    field = field_rule(schema, key)
    if field.strategy is MergeStrategy.REPLACE:
        if options.changes and not json_equal(before, after):
            patch[key] = after
        return
    options = replace(options, retain_keys=field.retain_keys)
    if nested := diff(before, after, field.schema, options):
        patch[key] = nested


def _diff_member_lists(
    patch: JSONObject,
    key: str,
    before: Items,
    after: Items,
    schema: PatchSchema,
    options: DiffOptions,
) -> None:
    if schema.patch_field(key) is None and json_equal(before, after):
        return
    field = field_rule(schema, key)
    if field.strategy is not MergeStrategy.MERGE:
        if options.changes and not json_equal(before, after):
            patch[key] = after
        return
    if not before:
        if after and options.changes:
            patch[key] = after
        return
    options = replace(options, retain_keys=field.retain_keys)
    if element_type(before, after) is dict:
        _diff_objects_by_key(patch, key, before, after, field, options)
    else:
        _diff_scalars(patch, key, before, after, options)


def _diff_objects_by_key(
    patch: JSONObject,
    key: str,
    before: Items,
    after: Items,
    field: PatchField,
    options: DiffOptions,
) -> None:
    merge_key = field.merge_key
    # A merge key need not be unique (a port serves TCP and UDP). Items that share one are paired
    # from the last to the first, because that is how upstream's sort leaves them.
    unpaired: dict[ElementKey, Items] = {}
    for item in reversed(before):
        unpaired.setdefault(element_key(item, merge_key), []).append(item)
    items: Items = []
    for item in reversed(after):
        if originals := unpaired.get(element_key(item, merge_key)):
            if changes := diff(originals.pop(0), item, field.schema, options):
                items.append(changes | {merge_key: item[merge_key]})
        elif options.changes:
            items.append(item)
    items = sorted_like(items, after, merge_key)
    if options.deletions:
        gone = [item[merge_key] for originals in unpaired.values() for item in originals]
        items += [
            {directives.PATCH: directives.DELETE, merge_key: value}
            for value in sorted(gone, key=_text)
        ]
    if items:
        patch[key] = items
    reordered = _keys(before, merge_key) != _keys(after, merge_key)
    if options.element_order and after and (items or (options.changes and reordered)):
        patch[directives.element_order(key)] = [{merge_key: item[merge_key]} for item in after]


def _diff_scalars(
    patch: JSONObject, key: str, before: Items, after: Items, options: DiffOptions
) -> None:
    added = _surplus(after, before) if options.changes else []
    gone = unique(_surplus(before, after)) if options.deletions else []
    if added:
        patch[key] = sorted_like(added, after, "")
    if gone:
        patch[directives.list_deletion(key)] = gone
    # Upstream sorts the original in place while it compares; what it then finds to be in order is
    # the sorted list. Patches must be the same, so the same is compared here.
    reordered = not json_equal(sorted(before, key=_text), after)
    if options.element_order and after and (gone or (options.changes and reordered)):
        patch[directives.element_order(key)] = after


def _surplus(items: Items, others: Items) -> Items:
    """Return, sorted, the scalars of `items` that are left when those of `others` are taken away.

    A scalar that is there twice has to be taken away twice.
    """
    remaining = [element_key(other, "") for other in others]
    surplus: Items = []
    for item in sorted(items, key=_text):
        key = element_key(item, "")
        if key in remaining:
            remaining.remove(key)
        else:
            surplus.append(item)
    return surplus


def _keys(items: Items, merge_key: str) -> list[ElementKey]:
    return [element_key(item, merge_key) for item in items]


def _same(before: JSONValue, after: JSONValue) -> bool:
    return type(before) is type(after) and json_equal(before, after)


def _text(scalar: JSONValue) -> str:
    """Sort scalars as upstream does: by what Go prints for them."""
    if scalar is None:
        return "<nil>"
    return str(scalar).lower() if isinstance(scalar, bool) else str(scalar)
