"""Key functions: from an object to the text under which stores and queues hold it.

A key is ``namespace/name``, or ``name`` without a namespace. A tombstone has the key of its object.
A namespace with a slash gives a key that :meth:`~clientgo.meta.ObjectName.parse` refuses.

Upstream: ``tools/cache`` KeyFunc, IndexFunc.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

from clientgo.cache.store.changes import DeletedFinalStateUnknown
from clientgo.meta import (
    ObjectMeta,
    ObjectName,
    Undecodable,
    has_metadata,
    metadata_of,
    object_key,
)
from clientgo.util.copies import CopyableError

KeyFunc: TypeAlias = Callable[[Any], str]
"""Returns the key of an object, always the same one. Raises for a value that has none."""

IndexFunc: TypeAlias = Callable[[Any], Iterable[str]]
"""Returns the values, none, one or many, under which an index finds an object."""

NAMESPACE_INDEX: Final = "namespace"
"""The name of the index that listers use to list one namespace."""


class KeyFuncError(CopyableError, ValueError):
    """``obj`` has no key; the key function's own error is the ``__cause__``."""

    def __init__(self, obj: object, cause: object) -> None:
        super().__init__(f"no key for {obj!r:.120}: {cause}")
        self.obj = obj


def meta_namespace_key(obj: Any) -> str:
    """Return ``namespace/name`` or ``name`` of an object; an ``ExplicitKey`` is its own key.

    Raises :class:`~clientgo.meta.NoMetadataError` for a value without object metadata.
    """
    return object_key(obj)


def deletion_handling_meta_namespace_key(obj: Any) -> str:
    """Do the same as :func:`meta_namespace_key`; a tombstone has the key that it stores."""
    try:
        metadata = obj.metadata
    except AttributeError:
        metadata = None
    if type(metadata) is ObjectMeta:
        namespace = metadata.namespace
        return f"{namespace}/{metadata.name}" if namespace else metadata.name
    return obj.key if type(obj) is DeletedFinalStateUnknown else object_key(obj)


def deletion_handling_object_name(obj: Any) -> ObjectName:
    """Return the parsed key of an object or tombstone.

    Raises ``ValueError`` if the key of a tombstone cannot be parsed, and
    :class:`~clientgo.meta.NoMetadataError` for a value without object metadata.
    """
    if isinstance(obj, DeletedFinalStateUnknown):
        return ObjectName.parse(obj.key)
    return ObjectName.of(obj)


def key_for_report(obj: Any) -> str:
    """Return the key of anything that is or should be an object, for messages."""
    if isinstance(obj, DeletedFinalStateUnknown):
        return obj.key
    if isinstance(obj, Undecodable) or has_metadata(obj):
        return object_key(obj) or "without a name"
    return f"of type {type(obj).__name__}"


def deletion_handling(key_func: KeyFunc) -> KeyFunc:
    """Return ``key_func``, extended to tombstones."""
    if key_func in (meta_namespace_key, deletion_handling_meta_namespace_key):
        return deletion_handling_meta_namespace_key

    def key_of(obj: Any) -> str:
        return obj.key if type(obj) is DeletedFinalStateUnknown else key_func(obj)

    return key_of


def meta_namespace_index(obj: Any) -> list[str]:
    """Return the namespace, empty if cluster-scoped: the function of :data:`NAMESPACE_INDEX`."""
    metadata = getattr(obj, "metadata", None)
    if type(metadata) is not ObjectMeta:
        metadata = metadata_of(obj)
    return [metadata.namespace or ""]


def index_func_as_key_func(index_func: IndexFunc) -> KeyFunc:
    """Return a key function for an index function that returns exactly one value per object.

    The key function raises ``ValueError`` for an object with no value or several.
    """

    def key_of(obj: Any) -> str:
        values = list(index_func(obj))
        if len(values) != 1:
            raise ValueError(f"expected exactly one index value for a key, got {values!r}")
        return values[0]

    return key_of
