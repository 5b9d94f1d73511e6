"""Naming the kind of an object, declared or unstructured.

Does not ask the API server: where a kind is served is for the client to find out.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from clientgo.meta import APIResource, GroupVersion, GroupVersionKind, Unstructured, resource_of

AnyKind: TypeAlias = type[Any] | APIResource | GroupVersionKind
"""A declared class, or a kind whose objects are unstructured."""


def kind_of(obj: Any) -> Any:
    """What an object is an instance of: its class or, unstructured, its group, version and kind."""
    if isinstance(obj, Unstructured):
        group, version = GroupVersion.parse(obj.api_version)
        return APIResource(group=group, version=version, kind=obj.kind, plural="")
    resource_of(type(obj))
    return type(obj)
