"""The name of an object within its kind, and the store keys made of it.

A key is ``namespace/name``, or just ``name`` for an object without a namespace. Keys are what
queues and stores hold; :class:`ObjectName` is the parsed form. Upstream: ``tools/cache``
ObjectName, MetaNamespaceKeyFunc, SplitMetaNamespaceKey.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from clientgo.meta.objects.accessor import metadata_of


class ObjectName(NamedTuple):
    """Namespace and name; the namespace of a cluster-scoped object is the empty string."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @classmethod
    def parse(cls, key: str) -> ObjectName:
        """Split a store key; two slashes or more are a ``ValueError`` that quotes it."""
        namespace, slash, name = key.partition("/")
        if not slash:
            return cls("", key)
        if "/" in name:
            raise ValueError(f"unexpected key format: {key!r}; expected namespace/name or name")
        return cls(namespace, name)

    @classmethod
    def of(cls, obj: Any) -> ObjectName:
        """The name of an object; raises :class:`NoMetadataError` for a value that has none."""
        metadata = metadata_of(obj)
        return cls(metadata.namespace or "", metadata.name or "")


class ExplicitKey(str):
    """A string that stands for an object wherever only its key matters."""

    __slots__ = ()


def object_key(obj: Any) -> str:
    """The store key of an object: ``namespace/name`` or ``name``.

    An :class:`ExplicitKey` is its own key. Raises :class:`NoMetadataError` for a value without
    object metadata.
    """
    if type(obj) is ExplicitKey:
        return obj
    metadata = metadata_of(obj)
    namespace = metadata.namespace
    return f"{namespace}/{metadata.name}" if namespace else metadata.name or ""
