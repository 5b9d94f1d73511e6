"""Objects that a test begins with, and the resources that they belong to.

Promises the resource of every declared class exactly. Of other objects it is guessed from the kind:
English plurals, good for ``Policy`` and ``Ingress``, not for a kind that is its own plural.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from clientgo.meta import (
    APIResource,
    GroupVersion,
    GroupVersionResource,
    ObjectList,
    Resource,
    resource_of,
    to_plain,
)
from clientgo.meta.json_values import JSONObject, copy_json

ResourceLike: TypeAlias = GroupVersionResource | APIResource | type[Resource]
"""Anything that says which resource is meant."""


def gvr_of(resource: ResourceLike) -> GroupVersionResource:
    """The group, version and plural; ``TypeError`` for a class without ``@resource``."""
    if isinstance(resource, GroupVersionResource):
        return resource
    return (resource if isinstance(resource, APIResource) else resource_of(resource)).gvr


def plain_of(obj: Any) -> JSONObject:
    """Any object as JSON values of its own, with metadata; ``TypeError`` for what is no object."""
    plain: JSONObject = copy_json(to_plain(obj))
    plain["metadata"] = plain.get("metadata") or {}
    return plain


def seeds(obj: Any) -> Iterator[tuple[GroupVersionResource, JSONObject]]:
    """The object, or each item of a list, as JSON values of its own, with its resource.

    Raises ``TypeError`` for a value that is no API object, ``ValueError`` for an object that does
    not say its kind.
    """
    if isinstance(obj, ObjectList):
        for item in obj.items:
            yield from seeds(item)
        return
    plain = plain_of(obj)
    if _is_list(plain):
        for item in plain["items"] or ():
            yield from seeds(_complete(item, plain))
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
