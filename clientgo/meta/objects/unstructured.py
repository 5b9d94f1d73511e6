"""Objects of any kind, read like their JSON.

`obj["spec"]["replicas"]` reads, `obj.metadata` is the typed header, `obj.to_dict()` gives a plain
dict to change. The mapping is read-only. A field is decoded when it is first read, so that managed
fields, often half of an object, cost nothing. Source: apimachinery `meta/v1/unstructured`.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Final

import msgspec
from msgspec import Raw, field

from clientgo.meta.decoding import convert_leniently
from clientgo.meta.objects.copying import copy_value
from clientgo.meta.objects.object_meta import ObjectMeta
from clientgo.meta.objects.object_name import object_key
from clientgo.meta.objects.resource import REFUSALS, APIObject, body_decoder

_Fields: Final = dict[str, Raw]


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
        except (KeyError, msgspec.ValidationError, RecursionError) as error:
            raise ValueError(f"not an API object, its metadata does not fit: {error}") from error
        return cls(
            metadata=metadata,
            api_version=body.get("apiVersion", ""),
            kind=body.get("kind", ""),
            _body=body,
        )

    def to_dict(self) -> dict[str, Any]:
        """A plain dict of the object that the caller may change."""
        if self._body is None and self._raw is not None:  # decoding again is faster than a copy
            plain = self._with_type(self._original())
        else:
            plain = copy_value(self._loaded())
        try:
            plain["metadata"] = self._metadata_over(plain)
        except (RecursionError, msgspec.DecodeError) as error:
            raise self._undecodable(error) from error
        return plain

    def _fields(self) -> dict[str, Any]:
        """The fields of the object; those not read yet are still JSON (``Raw``)."""
        fields: dict[str, Any] | None = self._body
        if fields is None:
            fields = {} if self._raw is None else self._undecoded(self._raw)
            fields = self._body = self._with_type(fields)
        return fields

    def _with_type(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Add what the items of a list of a built-in kind leave to the list to say."""
        if "kind" in fields and "apiVersion" in fields:
            return fields
        return {"apiVersion": self.api_version, "kind": self.kind} | fields

    def _undecoded(self, raw: bytes) -> dict[str, Any]:
        try:
            fields: dict[str, Any] = body_decoder(_Fields, self._enclosed)(raw)
        except REFUSALS as error:
            raise self._undecodable(error) from error
        return fields

    def _read(self, fields: dict[str, Any], name: str) -> Any:
        """Decode a field once and keep its value."""
        value = fields[name]
        if type(value) is Raw:
            try:
                value = fields[name] = msgspec.json.decode(value)
            except REFUSALS as error:
                raise self._undecodable(error) from error
        return value

    def _loaded(self) -> dict[str, Any]:
        """All fields, decoded."""
        if self._body is None:  # faster than field by field
            self._body = self._with_type(self._original())
        fields = self._fields()
        for name in fields:
            self._read(fields, name)
        return fields

    def __getitem__(self, key: str) -> Any:
        return self._read(self._fields(), key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields())

    def __len__(self) -> int:
        return len(self._fields())

    def __contains__(self, key: object) -> bool:
        return key in self._fields()

    def get(self, key: str, default: Any = None) -> Any:
        fields = self._fields()
        return self._read(fields, key) if key in fields else default

    def keys(self) -> KeysView[str]:
        return self._fields().keys()

    def values(self) -> ValuesView[Any]:
        return self._loaded().values()

    def items(self) -> ItemsView[str, Any]:
        return self._loaded().items()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Mapping):
            return NotImplemented
        theirs = other._loaded() if isinstance(other, Unstructured) else other
        try:
            return self._loaded() == theirs
        except (RecursionError, msgspec.DecodeError) as error:
            raise self._undecodable(error) from error

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        version = self.metadata.resource_version or "new"
        return f"<{self.kind or 'object'} {object_key(self)} @{version}>"


Mapping.register(Unstructured)
