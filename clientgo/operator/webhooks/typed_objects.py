"""The reviewed object in its declared type, and the way back without losing anything.

Promises: fields that the type does not declare survive whatever the handler does to the object,
also where it returns one that it made anew.

Upstream: controller-runtime ``admission.Decoder``; there, fields that a type does not know got
lost, until a patch learnt to drop its removals.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from clientgo.meta import Codec, Resource, resource_of
from clientgo.meta.json_values import JSONObject
from clientgo.meta.overlay import overlay
from clientgo.operator.webhooks.admission_review import AdmissionRequest
from clientgo.operator.webhooks.refusal import BadReviewError

P = TypeVar("P", bound=Resource)


class TypedObjects(Generic[P]):
    """Decodes the objects of reviews of one kind; immutable, safe for every thread."""

    __slots__ = ("_codec", "kind", "resource")

    def __init__(self, kind: type[P]) -> None:
        self.kind = kind
        self.resource = resource_of(kind)
        self._codec = Codec(kind)

    def check_kind(self, request: AdmissionRequest) -> None:
        """Raise :class:`BadReviewError` for a review of another kind."""
        asked = request.kind
        if (asked.group, asked.version, asked.kind) != tuple(self.resource.gvk):
            raise BadReviewError(
                f"this webhook is for {self.resource.gvk}, not for "
                f"{asked.group}/{asked.version}, Kind={asked.kind}; correct its rules"
            )

    def decode(self, raw: bytes) -> P:
        """The object, to be changed at will.

        Raises ``DecodeError`` and ``ObjectDecodeError`` for one that does not fit the type, here
        and not where the handler first touches it.
        """
        obj = self._codec.decode(raw)
        for name in body_fields(self.kind)[:1]:
            getattr(obj, name)
        return obj


def body_fields(kind: type[Resource]) -> tuple[str, ...]:
    """The fields that a type declares beside the header."""
    return kind.__body__.__struct_fields__


def typed_view(obj: Resource) -> JSONObject:
    """The object as far as its type knows it, as plain JSON values."""
    body: dict[str, Any] = {name: getattr(obj, name) for name in body_fields(type(obj))}
    return type(obj)(metadata=obj.metadata, **body).to_dict()


def changed(raw: JSONObject, before: JSONObject, result: Resource) -> JSONObject:
    """``raw`` with all that the typed view ``before`` and the ``result`` differ in."""
    plain: JSONObject = overlay(raw, before, typed_view(result))
    return plain
