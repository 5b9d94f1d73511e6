"""Which class stands for which kind.

A scheme decodes objects whose kind is not known in advance. Build it and pass it where it is
needed; nothing registers itself on import. Source: apimachinery `runtime` Scheme, without
conversion between versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from clientgo.meta.codec import Codec
from clientgo.meta.decoding import decode
from clientgo.meta.group_version import (
    GroupVersion,
    GroupVersionKind,
    GroupVersionResource,
)
from clientgo.meta.objects.resource import Resource, resource_of
from clientgo.meta.objects.unstructured import Unstructured
from clientgo.meta.wire.answers import DecodeError


class _TypeMeta(msgspec.Struct):
    api_version: str = msgspec.field(default="", name="apiVersion")
    kind: str = ""


class Scheme:
    """Declared classes by kind and by resource. Filled before use; reading it is thread-safe."""

    def __init__(self, types: Iterable[type[Resource]] = ()) -> None:
        self._codecs: dict[GroupVersionKind, Codec[Any]] = {}
        self._types: dict[GroupVersionResource, type[Resource]] = {}
        self._unstructured = Codec(Unstructured)
        for type_ in types:
            self.register(type_)

    def register(self, type_: type[Resource]) -> None:
        """Add a declared class; ``ValueError`` where another one already has its kind."""
        declared = resource_of(type_)
        known = self._types.get(declared.gvr)
        if known not in (None, type_):
            raise ValueError(f"{declared.gvk} is registered already, as {known!r}")
        self._codecs[declared.gvk] = Codec(type_)
        self._types[declared.gvr] = type_

    def type_for_resource(self, gvr: GroupVersionResource) -> type[Resource] | None:
        return self._types.get(gvr)

    def __iter__(self) -> Iterator[type[Resource]]:
        return iter(self._types.values())

    def decode(self, raw: bytes) -> Resource | Unstructured:
        """An object of whatever kind it says it is: declared if known, else unstructured.

        Raises :class:`~clientgo.meta.codec.DecodeError` for bytes that are no object.
        """
        try:
            said = decode(raw, _TypeMeta)
            group, version = GroupVersion.parse(said.api_version)
        except ValueError as error:
            raise DecodeError(f"not an API object: {error}; got {raw[:120]!r}") from error
        codec = self._codecs.get(GroupVersionKind(group, version, said.kind), self._unstructured)
        obj: Resource | Unstructured = codec.decode(raw)
        return obj
