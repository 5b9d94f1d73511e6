"""The ``fieldPath`` of a rule: a simple JSON path such as ``.spec.hosts['a.b']``.

Promises: `resolve` and `follow` follow names of properties and keys of maps through a schema.

Does not promise: list indexes, or any other part of JSON path.

Follows ``ValidFieldPath`` of ``k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel``.
"""

from __future__ import annotations

import re

from clientgo.meta.validation import field_path
from clientgo.testcluster.schema.json_schema import JSONSchema
from clientgo.util.copies import CopyableError

_STEP = re.compile(r"\.(?P<name>[^.\[\]]+)|\['(?P<quoted>(?:[^'\\]|\\.)*)'\]")
_ESCAPES = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "'": "'",
    "\\": "\\",
}


class RulePathError(CopyableError, ValueError):
    """The path is malformed or leads to no field of the schema."""


def resolve(path: str, schema: JSONSchema) -> str:
    """Return `path` as causes show it.

    Raises:
        RulePathError: the path is malformed or leads to no field of the schema.
    """
    return follow(path, schema)[0]


def follow(path: str, schema: JSONSchema, *, quoted_names: bool = True) -> tuple[str, JSONSchema]:
    """Return `path` as causes show it, and the schema of the field that it leads to.

    Raises:
        RulePathError: the path is malformed or leads to no field of the schema.
    """
    position, result, node = 0, field_path.ROOT, schema
    while position < len(path):
        if path[position] == "[" and not quoted_names:
            raise RulePathError("array notation is not allowed")
        step = _STEP.match(path, position)
        if step is None:
            raise RulePathError(f"{path!r}: expected .name or ['name'] at {path[position:]!r}")
        position = step.end()
        name = step["name"] if step["quoted"] is None else _unescape(step["quoted"], path)
        member = node.properties.get(name)
        if member is not None:
            result = field_path.child(result, name)
        elif node.value_schema is not None and not node.properties:
            member, result = node.value_schema, field_path.key(result, name)
        else:
            raise RulePathError(f"{path!r}: {name!r} does not refer to a valid field")
        node = member
    return result, node


def _unescape(text: str, path: str) -> str:
    def replace(match: re.Match[str]) -> str:
        try:
            return _ESCAPES[match[1]]
        except KeyError:
            raise RulePathError(f"{path!r}: invalid escape {match[0]}") from None

    return re.sub(r"\\(.)", replace, text)
