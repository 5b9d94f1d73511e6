"""JSON Merge Patch (RFC 7386): a partial document in which null removes a member.

Promises apply and its inverse. Arguments stay unchanged; results share nothing with them.

A patch cannot set a member to null and replaces lists whole, so `apply(a, create(a, b))` may lose
nulls. Source: github.com/evanphx/json-patch v4; integers stay exact here.
"""

from __future__ import annotations

from clientgo.meta.json_values import JSONObject, JSONValue, copy_json, json_equal, without_nulls
from clientgo.meta.nesting import refuses_too_deep
from clientgo.meta.patches.errors import InapplicablePatchError, MalformedPatchError


@refuses_too_deep(InapplicablePatchError)
def apply_merge_patch(document: JSONValue, patch: JSONValue) -> JSONValue:
    """Return `document` with `patch` merged over it; a list as a patch replaces the document.

    Raises `MalformedPatchError` if `patch` is a scalar or null, or `document` is null.
    """
    return copy_json(_apply(document, patch))


@refuses_too_deep(InapplicablePatchError)
def create_merge_patch(original: JSONValue, modified: JSONValue) -> JSONValue:
    """Return the patch that turns `original` into `modified`; an empty one if they are equal.

    Two lists of objects of equal length give a list of patches. None stands for an empty object.
    Raises `MalformedPatchError` for any other pair.
    """
    if isinstance(original, list) and isinstance(modified, list):
        if len(original) != len(modified):
            raise MalformedPatchError("lists of different length have no merge patch")
        pairs = zip(original, modified, strict=True)
        return [_create(_object(a), _object(b)) for a, b in pairs]
    return _create(_object(original), _object(modified))


def _apply(document: JSONValue, patch: JSONValue) -> JSONValue:
    if document is None:
        raise MalformedPatchError("a merge patch does not apply to null")
    if not isinstance(patch, dict | list):
        raise MalformedPatchError(f"a merge patch is an object or a list, not {patch!r}")
    if isinstance(patch, list):
        return without_nulls(patch)
    if not isinstance(document, dict):
        return without_nulls(patch)
    return _merge(document, patch)


def _merge(document: JSONObject, patch: JSONObject) -> JSONObject:
    merged = dict(document)
    todo = [(merged, patch)]
    while todo:
        result, part = todo.pop()
        for key, value in part.items():
            present = result.get(key)
            if value is None:
                result.pop(key, None)
            elif present is None or not isinstance(present, dict):
                result[key] = without_nulls(value)
            elif isinstance(value, dict):
                result[key] = dict(present)
                todo.append((result[key], value))
            else:
                result[key] = value
    return merged


def _create(original: JSONObject, modified: JSONObject) -> JSONObject:
    patch: JSONObject = {}
    for key, value in modified.items():
        before = original.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            if nested := _create(before, value):
                patch[key] = nested
        elif key not in original or not json_equal(before, value):
            patch[key] = copy_json(value)
    patch.update({key: None for key in original if key not in modified})
    return patch


def _object(value: JSONValue) -> JSONObject:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise MalformedPatchError(f"a merge patch is made from objects, not from {value!r:.100}")
    return value
