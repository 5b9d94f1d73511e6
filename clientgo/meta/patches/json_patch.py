"""JSON Patch (RFC 6902): a list of operations on paths of a document.

Promises: all operations apply, or `PatchError` names the one that does not; the document stays
unchanged, and the result shares nothing with it.

Accepts what the API server accepts: negative indices count from the end, `replace` and `copy` of an
absent member act on null, text before the first slash is ignored. `test` compares encodings, so 1
is not 1.0. Source: github.com/evanphx/json-patch v4.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from clientgo.meta.json_values import (
    JSONObject,
    JSONValue,
    canonical_json,
    copy_json,
    json_equal,
)
from clientgo.meta.nesting import refuses_too_deep
from clientgo.meta.patches.errors import (
    InapplicablePatchError,
    MalformedPatchError,
    PatchTestError,
)

COPY_LIMIT = 3 * 1024 * 1024
"""Bytes that the ``copy`` operations of one patch may make, as upstream; some thirty copies of what
holds the earlier ones would fill any memory."""


@refuses_too_deep(InapplicablePatchError)
def apply_json_patch(document: JSONValue, patch: list[JSONObject]) -> JSONValue:
    """Return `document` (an object or a list) with the operations of `patch` applied in order.

    Raises `MalformedPatchError` if `patch` is not a list of operations, `InapplicablePatchError` if
    an operation does not apply; the message has its index.
    """
    if not isinstance(patch, list) or not all(isinstance(step, dict) for step in patch):
        raise MalformedPatchError("a JSON patch is a list of operation objects")
    if not isinstance(document, dict | list):
        raise InapplicablePatchError("a JSON patch applies to an object or a list")
    root = copy_json(document)
    copied = 0
    for index, step in enumerate(patch):
        try:
            if step.get("op") == "copy":
                copied += _copied_size(root, step)
                _check_copied(copied)
            root = _OPERATIONS.get(str(step.get("op")), _unknown)(root, step)
        except InapplicablePatchError as error:
            raise type(error)(f"operation {index} of the patch: {error}") from None
    return root


@refuses_too_deep(InapplicablePatchError)
def create_json_patch(before: JSONValue, after: JSONValue) -> list[JSONObject]:
    """Return the operations that make `before` equal to `after`; none if they are equal.

    Not the shortest patch: lists are compared item by item from the front, and ``move``, ``copy``
    and ``test`` are not used. Upstream: ``gomodules.xyz/jsonpatch``.
    """
    return list(_changes(before, after, ""))


def _add(root: Any, step: JSONObject) -> Any:
    container, key = _parent(root, _path(step, "path"))
    _insert(container, key, copy_json(step.get("value")))
    return root


def _remove(root: Any, step: JSONObject) -> Any:
    container, key = _parent(root, _path(step, "path"))
    _delete(container, key)
    return root


def _replace(root: Any, step: JSONObject) -> Any:
    path, value = _path(step, "path"), copy_json(step.get("value"))
    if not path:
        return value if isinstance(value, dict | list) else root  # as upstream's library does
    container, key = _parent(root, path)
    if isinstance(container, list):
        container[_existing_index(container, key)] = value
    else:
        container[key] = value
    return root


def _move(root: Any, step: JSONObject) -> Any:
    container, key = _parent(root, _path(step, "from"))
    value = _member(container, key)
    _delete(container, key)
    container, key = _parent(root, _path(step, "path"))
    _insert(container, key, value)
    return root


def _copy(root: Any, step: JSONObject) -> Any:
    value = _member(*_parent(root, _path(step, "from")))
    container, key = _parent(root, _path(step, "path"))
    _insert(container, key, copy_json(value))
    return root


def _copied_size(root: Any, step: JSONObject) -> int:
    return len(canonical_json(_member(*_parent(root, _path(step, "from")))))


def _check_copied(size: int) -> None:
    if size > COPY_LIMIT:
        raise InapplicablePatchError(f"the copies of the patch exceed {COPY_LIMIT} bytes")


def _test(root: Any, step: JSONObject) -> Any:
    path = _path(step, "path")
    actual = _member(*_parent(root, path)) if path else root
    expected = step.get("value")
    if canonical_json(actual) != canonical_json(expected):
        raise PatchTestError(
            f"test failed: {path!r} is {canonical_json(actual)}, not {canonical_json(expected)}"
        )
    return root


def _unknown(_root: Any, step: JSONObject) -> Any:
    raise InapplicablePatchError(f"unknown op {step.get('op')!r}; use one of {list(_OPERATIONS)}")


_OPERATIONS: dict[str, Callable[[Any, JSONObject], Any]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def _path(step: JSONObject, field: str) -> str:
    path = step.get(field)
    if not isinstance(path, str):
        raise InapplicablePatchError(f"{step.get('op')} needs a string {field!r}, not {path!r}")
    return path


def _parent(root: Any, path: str) -> tuple[Any, str]:
    """Return the object or list that holds the last element of `path`, and that element."""
    _ignored, *tokens = (token.replace("~1", "/").replace("~0", "~") for token in path.split("/"))
    if not tokens:
        raise InapplicablePatchError(f"path {path!r} does not name a member of the document")
    container = root
    for token in tokens[:-1]:
        container = _member(container, token)
        if not isinstance(container, dict | list):
            raise InapplicablePatchError(
                f"path {path!r} does not exist: {token!r} is {_kind(container)}"
            )
    return container, tokens[-1]


def _member(container: Any, key: str) -> Any:
    if isinstance(container, list):
        return container[_existing_index(container, key)]
    return container.get(key)


def _insert(container: Any, key: str, value: JSONValue) -> None:
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        container.insert(_index(key, len(container) + 1), value)


def _delete(container: Any, key: str) -> None:
    if isinstance(container, list):
        del container[_existing_index(container, key)]
    elif key in container:
        del container[key]
    else:
        raise InapplicablePatchError(f"can't remove {key!r}: there is no such member")


def _existing_index(container: list[JSONValue], key: str) -> int:
    return _index(key, len(container))


def _index(key: str, length: int) -> int:
    if not _INTEGER.fullmatch(key):
        raise InapplicablePatchError(f"{key!r} is not an index of a list")
    index = int(key) if len(key) <= _LONGEST_INDEX else length
    if not -length <= index < length:
        shown = key[:_LONGEST_INDEX]
        raise InapplicablePatchError(f"index {shown} is outside a list of {length}")
    return index % length


_INTEGER = re.compile(r"[+-]?[0-9]+")
_LONGEST_INDEX = 20
"""Characters; no list is longer."""


def _kind(value: JSONValue) -> str:
    return "absent or null" if value is None else f"a {type(value).__name__}"


def _changes(before: JSONValue, after: JSONValue, path: str) -> Iterator[JSONObject]:
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _member_changes(before, after, path)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _item_changes(before, after, path)
    elif not json_equal(before, after):
        yield {"op": "replace", "path": path, "value": after}


def _member_changes(before: JSONObject, after: JSONObject, path: str) -> Iterator[JSONObject]:
    for name in before.keys() - after.keys():
        yield {"op": "remove", "path": f"{path}/{_escape(name)}"}
    for name, value in after.items():
        below = f"{path}/{_escape(name)}"
        if name in before:
            yield from _changes(before[name], value, below)
        else:
            yield {"op": "add", "path": below, "value": value}


def _item_changes(
    before: list[JSONValue], after: list[JSONValue], path: str
) -> Iterator[JSONObject]:
    for index, (was, is_) in enumerate(zip(before, after, strict=False)):
        yield from _changes(was, is_, f"{path}/{index}")
    # From the end, so that what is yet to be removed keeps its place.
    for index in range(len(before) - 1, len(after) - 1, -1):
        yield {"op": "remove", "path": f"{path}/{index}"}
    for item in after[len(before) :]:
        yield {"op": "add", "path": f"{path}/-", "value": item}


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
