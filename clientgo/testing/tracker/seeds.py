"""Objects that a test begins with, and the resources that they belong to.

Promises the resource of every declared class exactly. Of other objects it is guessed from the kind:
English plurals, good for ``Policy`` and ``Ingress``, not for a kind that is its own plural.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import msgspec

from clientgo.meta import (
    APIResource,
    BadRequestError,
    GroupVersion,
    GroupVersionResource,
    ObjectList,
    ObjectMeta,
    Resource,
    resource_of,
    to_plain,
)
from clientgo.meta.decoding import convert_leniently
from clientgo.meta.json_values import JSONObject, copy_json

ResourceLike: TypeAlias = GroupVersionResource | APIResource | type[Resource]
"""Anything that says which resource is meant."""


def gvr_of(resource: ResourceLike) -> GroupVersionResource:
    """The group, version and plural; ``TypeError`` for a class without ``@resource``."""
    if isinstance(resource, GroupVersionResource):
        return resource
    return (resource if isinstance(resource, APIResource) else resource_of(resource)).gvr


class _Header(msgspec.Struct, rename="camel"):
    metadata: ObjectMeta
    api_version: str = ""
    kind: str = ""


def check_header(plain: Mapping[str, Any]) -> str:
    """Return the name of an object whose header a client can read.

    Raises :class:`~clientgo.meta.BadRequestError` for any other.
    """
    header = {name: plain[name] for name in _Header.__struct_encode_fields__ if name in plain}
    try:
        return convert_leniently(header, _Header).metadata.name
    except msgspec.ValidationError as error:
        raise BadRequestError.of(f"the header of the object cannot be read: {error}") from error


def plain_of(obj: Any) -> JSONObject:
    """Any object as JSON values of its own, with metadata.

    Raises ``TypeError`` for what is no object, :class:`~clientgo.meta.BadRequestError` for one
    whose header cannot be read.
    """
    plain: JSONObject = copy_json(to_plain(obj))
    plain["metadata"] = plain.get("metadata") or {}
    check_header(plain)
    return plain


def seeds(obj: Any) -> Iterator[tuple[GroupVersionResource, JSONObject]]:
    """The object, or each item of a list, as JSON values of its own, with its resource.

    Raises as :func:`plain_of` does, and ``ValueError`` for an object that does not say its kind and
    for a list without items.
    """
    if isinstance(obj, ObjectList):
        for item in obj.items:
            yield from seeds(item)
        return
    plain = plain_of(obj)
    if _is_list(plain):
        items = plain["items"] or []
        if not isinstance(items, list):
            raise ValueError(f"the items of a {plain['kind']} are a list, not {items!r:.100}")
        for item in items:
            yield from seeds(_complete(to_plain(item), plain))
    elif isinstance(obj, Resource):
        yield resource_of(type(obj)).gvr, plain
    else:
        yield _guessed_resource(plain), plain


def _is_list(plain: Mapping[str, Any]) -> bool:
    return str(plain.get("kind", "")).endswith("List") and "items" in plain


def _complete(item: JSONObject, of: JSONObject) -> JSONObject:
    """A list may say once what its items are."""
    kind = of["kind"].removesuffix("List")
    return ({"apiVersion": of.get("apiVersion"), "kind": kind} if kind else {}) | item


def _guessed_resource(plain: JSONObject) -> GroupVersionResource:
    api_version, kind = plain.get("apiVersion"), plain.get("kind")
    if not api_version or not kind:
        name = plain["metadata"].get("name")
        raise ValueError(
            f"the object {name!r} does not say its apiVersion and kind; add them, or create it "
            "with an explicit resource through ObjectTracker.create"
        )
    return GroupVersionResource(*GroupVersion.parse(api_version), _guessed_plural(kind))


def _guessed_plural(kind: str) -> str:
    singular = kind.lower()
    if singular == "endpoints":
        return singular
    if singular.endswith(("s", "x", "ch", "sh")):
        return f"{singular}es"
    if singular.endswith("y") and singular[-2:-1] not in "aeiou":
        return f"{singular[:-1]}ies"
    return f"{singular}s"
