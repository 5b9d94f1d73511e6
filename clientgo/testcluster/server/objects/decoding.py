"""An object that a client sent, read as its kind demands."""

from __future__ import annotations

import functools
import re
from typing import Any

from clientgo.testcluster.server.objects.metadata import read_metadata
from clientgo.testcluster.server.objects.options import FieldValidation
from clientgo.testcluster.server.resources.errors import bad_request
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.storage import Object

_HEADER = frozenset({"apiVersion", "kind", "metadata"})


def read_object(
    resource: Resource,
    obj: Object,
    validation: FieldValidation = FieldValidation.IGNORE,
    duplicates: tuple[str, ...] = (),
    *,
    applied: bool = False,
    is_patched: bool = False,
) -> tuple[Object, list[str]]:
    """Check the types of an object and drop the fields that its kind does not know.

    Returns the object with apiVersion, kind and metadata first, and warnings for the client.
    ``duplicates`` are the problems of fields that occurred twice in the body; ``applied`` says that
    server-side apply has merged the object, ``is_patched`` that the body was a patch of it.

    Raises:
        FailedRequestError: 400, a field has the wrong type, or validation is strict and one is
            unknown.
    """
    resource.strategy.check_type(resource, obj)
    metadata = obj.get("metadata")
    unknown_metadata = read_metadata(obj, keeps_reset=not resource.is_custom)
    # Only built-in kinds may leave it out; a custom resource without it is refused later.
    api_version = obj.get("apiVersion") or ("" if resource.is_custom else resource.api_version)
    ordered = {
        "apiVersion": api_version,
        "kind": obj.get("kind") or resource.kind,
        "metadata": obj["metadata"],
    } | {key: value for key, value in obj.items() if key not in _HEADER}
    strategy = resource.strategy
    decode = strategy.decode_applied if applied else strategy.decode
    decoded = decode(resource, ordered)
    unknown = (*unknown_metadata, *decoded.unknown_fields)
    problems = [*duplicates, *map(unknown_field, unknown)]
    if not resource.is_custom and len(problems) > 1:
        sent = obj | {"metadata": metadata}
        problems = _in_order(sent, unknown, () if is_patched else duplicates)
        if is_patched:
            problems[:0] = duplicates
    return decoded.obj, field_warnings(resource, ordered, problems, validation)


def unknown_field(path: str) -> str:
    """Return the problem of a field that its kind does not know."""
    return f'unknown field "{path}"'


def _in_order(obj: Object, unknown: tuple[str, ...], duplicates: tuple[str, ...]) -> list[str]:
    """Return the problems of a built-in kind in the order of the body, where they begin there.

    What is below an unknown field is not read.
    """
    below = tuple(f"{path}{mark}" for path in unknown for mark in (".", "["))
    known = [
        text
        for text in duplicates
        if (path := _path(text)) not in unknown and not path.startswith(below)
    ]
    problems = [*known, *map(unknown_field, unknown)]
    return sorted(problems, key=functools.partial(_position, obj))


_NAME = re.compile(r"[^.\[\]]+")


def _path(problem: str) -> str:
    return problem.partition('"')[2].removesuffix('"')


def _position(obj: Object, problem: str) -> tuple[int, ...]:
    """Return where the field of a problem is in an object."""
    position: list[int] = []
    value: Any = obj
    for name in _NAME.findall(_path(problem)):
        if isinstance(value, dict) and name in value:
            position.append(list(value).index(name))
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            position.append(int(name))
            value = value[int(name)]
        else:
            break
    return tuple(position)


def field_warnings(
    resource: Resource, obj: Object, problems: list[str], validation: FieldValidation
) -> list[str]:
    """Return the warnings of an object with unknown and duplicate fields.

    Raises:
        FailedRequestError: 400, there are some and validation is strict.
    """
    if validation is FieldValidation.IGNORE:
        return []
    if problems and validation is FieldValidation.STRICT:
        version = obj["apiVersion"].rpartition("/")[2]
        raise bad_request(
            f'{obj["kind"]} in version "{version}" cannot be handled as a {resource.kind}: '
            f"strict decoding error: {', '.join(problems)}"
        )
    return problems
