"""References: how an event names the object that it is about.

Any object that the library accepts has a reference; the object is only read. A reference that is
passed in is not changed.

Differs from client-go (`tools/reference`): a declared :class:`~clientgo.meta.Resource` knows its
kind, any other object must have it; there is no scheme to ask.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from clientgo.api.core_v1 import ObjectReference
from clientgo.meta import NoMetadataError, metadata_of
from clientgo.util.copies import CopyableError


class NoReferenceError(CopyableError, ValueError):
    """A value that nothing can refer to: no API object, or one that does not say its kind."""


def get_reference(obj: Any) -> ObjectReference:
    """Make the reference to an object; an ``ObjectReference`` is returned as it is.

    Raises :class:`NoReferenceError`. Source: tools/reference, GetReference.
    """
    if isinstance(obj, ObjectReference):
        return obj
    if obj is None:
        raise NoReferenceError("None can't be referred to; pass the object that this is about")
    kind, api_version = _kind_of(obj)
    metadata = _metadata_of_object_or_list(obj)
    return ObjectReference(
        kind=kind,
        api_version=api_version,
        name=getattr(metadata, "name", None) or None,
        namespace=getattr(metadata, "namespace", None) or None,
        uid=getattr(metadata, "uid", None) or None,
        resource_version=metadata.resource_version or None,
    )


def get_partial_reference(obj: Any, field_path: str) -> ObjectReference:
    """Make the reference to a part of an object, such as ``spec.containers{web}``.

    Raises :class:`NoReferenceError`. Source: tools/reference, GetPartialReference.
    """
    reference = copy.copy(get_reference(obj))
    reference.field_path = field_path
    return reference


def _kind_of(obj: Any) -> tuple[str, str]:
    if isinstance(obj, Mapping) and not hasattr(obj, "kind"):
        kind, api_version = obj.get("kind"), obj.get("apiVersion")
    else:
        kind, api_version = getattr(obj, "kind", None), getattr(obj, "api_version", None)
    if not kind or not api_version:
        raise NoReferenceError(
            f"a {type(obj).__name__} can't be referred to, it does not say its kind and version "
            f"(kind {kind!r}, apiVersion {api_version!r}); set both"
        )
    return kind, api_version


def _metadata_of_object_or_list(obj: Any) -> Any:
    try:
        return metadata_of(obj)
    except NoMetadataError as error:
        metadata = getattr(obj, "metadata", None)
        if hasattr(metadata, "resource_version"):
            return metadata
        raise NoReferenceError(str(error)) from error
