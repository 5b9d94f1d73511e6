"""Objects in their declared type, and back without loss of fields that the type does not declare.

Upstream: controller-runtime ``admission.Decoder``, which used to lose such fields.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from clientgo.meta import Codec, Resource, overlay, resource_of
from clientgo.meta.json_values import JSONObject
from clientgo.operator.webhooks.admission_review import AdmissionRequest
from clientgo.operator.webhooks.refusals import BadReviewError

P = TypeVar("P", bound=Resource)


class TypedObjects(Generic[P]):
    """Decodes the objects of reviews of one kind. Immutable and thread-safe."""

    __slots__ = ("_codec", "kind", "resource")

    def __init__(self, kind: type[P]) -> None:
        self.kind = kind
        self.resource = resource_of(kind)
        self._codec = Codec(kind)

    def check_kind(self, request: AdmissionRequest) -> None:
        """Raise :class:`BadReviewError` for a review of another kind."""
        kind = request.kind
        if (kind.group, kind.version, kind.kind) != tuple(self.resource.gvk):
            raise BadReviewError(
                f"this webhook is for {self.resource.gvk}, not for "
                f"{kind.group}/{kind.version}, Kind={kind.kind}; correct its rules"
            )

    def decode(self, raw: bytes) -> P:
        """Return an object that the caller may change.

        Raises ``DecodeError`` and ``ObjectDecodeError`` if it does not fit the type: here, and not
        when the handler first reads it.
        """
        obj = self._codec.decode(raw)
        for name in body_fields(self.kind)[:1]:
            getattr(obj, name)
        return obj


def body_fields(kind: type[Resource]) -> tuple[str, ...]:
    """Return the fields that a type declares beside the header."""
    return kind.__body__.__struct_fields__


def typed_view(obj: Resource) -> JSONObject:
    """Return the fields that the object's type declares, as plain JSON values."""
    body: dict[str, Any] = {name: getattr(obj, name) for name in body_fields(type(obj))}
    return type(obj)(metadata=obj.metadata, **body).to_dict()


def changed(raw: JSONObject, before: JSONObject, result: Resource) -> JSONObject:
    """Return ``raw`` with the differences between the typed view ``before`` and ``result``."""
    plain: JSONObject = overlay(raw, before, typed_view(result))
    return plain


def unknown_part(original: JSONObject, view: JSONObject) -> JSONObject:
    """Return the part of ``original`` that its typed ``view`` lacks, in the same nesting."""
    return _part_of_mapping(original, view)


def with_unknown(document: JSONObject, unknown: JSONObject) -> JSONObject:
    """Return ``document`` with the ``unknown`` members added; nothing is replaced."""
    merged: JSONObject = _merged(document, unknown)
    return merged


def _part_of_mapping(original: JSONObject, view: JSONObject) -> JSONObject:
    part: JSONObject = {}
    for name, value in original.items():
        if name not in view:
            part[name] = value
        elif below := _part(value, view[name]):
            part[name] = below
    return part


def _part(original: Any, view: Any) -> Any:
    if isinstance(original, dict) and isinstance(view, dict):
        return _part_of_mapping(original, view)
    if isinstance(original, list) and isinstance(view, list) and len(original) == len(view):
        parts = [_part(item, seen) for item, seen in zip(original, view, strict=True)]
        return parts if any(parts) else None
    return None


def _merged(document: Any, unknown: Any) -> Any:
    if isinstance(document, dict) and isinstance(unknown, dict):
        result = dict(document)
        for name, value in unknown.items():
            result[name] = _merged(result[name], value) if name in result else value
        return result
    if isinstance(document, list) and isinstance(unknown, list) and len(document) == len(unknown):
        return [_merged(item, part) for item, part in zip(document, unknown, strict=True)]
    return document
