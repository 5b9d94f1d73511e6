"""Objects of any kind, read like their JSON.

`obj["spec"]["replicas"]` reads, `obj.metadata` is the typed header, `obj.to_dict()` gives a plain
dict to change. The mapping is read-only. Source: apimachinery `meta/v1/unstructured`.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any

import msgspec
from msgspec import field

from clientgo.meta.decoding import convert_leniently
from clientgo.meta.objects.copying import copy_value
from clientgo.meta.objects.object_meta import ObjectMeta
from clientgo.meta.objects.object_name import object_key
from clientgo.meta.objects.resource import APIObject


class Unstructured(APIObject, gc=False, eq=False, kw_only=True):
    """An object whose type is not declared: a read-only mapping with a typed header."""

    api_version: str = field(default="", name="apiVersion")
    kind: str = ""

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Unstructured:
        """Make an object from plain JSON values, which are copied.

        Raises ``ValueError`` where ``metadata`` is missing or malformed.
        """
        body = copy_value(dict(plain))
        try:
            metadata = convert_leniently(body["metadata"], ObjectMeta)
        except (KeyError, msgspec.ValidationError) as error:
            raise ValueError(f"not an API object, its metadata does not fit: {error}") from error
        return cls(
            metadata=metadata,
            api_version=body.get("apiVersion", ""),
            kind=body.get("kind", ""),
            _body=body,
        )

    def to_dict(self) -> dict[str, Any]:
        """A plain dict of the object that the caller may change."""
        plain = copy_value(self._loaded())
        plain["metadata"] = self._metadata_over(plain)
        return plain

    def _loaded(self) -> dict[str, Any]:
        body: dict[str, Any] | None = self._body
        if body is None:
            # The items of a list of a built-in kind do not repeat what the list says of them.
            body = {"apiVersion": self.api_version, "kind": self.kind} | self._original()
            self._body = body
        return body

    def __getitem__(self, key: str) -> Any:
        return self._loaded()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded())

    def __len__(self) -> int:
        return len(self._loaded())

    def __contains__(self, key: object) -> bool:
        return key in self._loaded()

    def get(self, key: str, default: Any = None) -> Any:
        return self._loaded().get(key, default)

    def keys(self) -> KeysView[str]:
        return self._loaded().keys()

    def values(self) -> ValuesView[Any]:
        return self._loaded().values()

    def items(self) -> ItemsView[str, Any]:
        return self._loaded().items()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Unstructured):
            return self is other or self._loaded() == other._loaded()
        return self._loaded() == other if isinstance(other, Mapping) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        version = self.metadata.resource_version or "new"
        return f"<{self.kind or 'object'} {object_key(self)} @{version}>"


Mapping.register(Unstructured)
