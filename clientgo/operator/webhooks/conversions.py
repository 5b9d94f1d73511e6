"""Converting the versions of a kind: one hub, any number of spokes.

    @conversion(FooV1alpha1, hub=FooV1)
    class FooV1alpha1Converter:
        def to_hub(self, spoke: FooV1alpha1) -> FooV1: ...
        def from_hub(self, hub: FooV1) -> FooV1alpha1: ...

Promises that n versions need n - 1 converters, and that fields which a type does not declare are
kept. A conversion may change labels and annotations, and no other metadata; empty metadata is
filled in.

Upstream: controller-runtime ``pkg/conversion``, ``webhook/conversion``; apiextensions-apiserver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

import msgspec

from clientgo.meta import APIResource, Codec, ObjectMeta, Resource, resource_of
from clientgo.meta.decoding import decode
from clientgo.meta.json_values import JSONObject
from clientgo.operator.errors import DeclarationError
from clientgo.operator.webhooks.typed_objects import (
    body_fields,
    typed_view,
    unknown_part,
    with_unknown,
)
from clientgo.util.copies import CopyableError

S = TypeVar("S", bound=Resource)
H = TypeVar("H", bound=Resource)
P = TypeVar("P", bound=Resource)
C = TypeVar("C", bound=type)

_ATTRIBUTE: Final = "__clientgo_conversion__"


class Converter(Protocol[S, H]):
    """Converts one version to another and back; it must not change its argument."""

    def to_hub(self, spoke: S) -> H: ...

    def from_hub(self, hub: H) -> S: ...


@dataclass(frozen=True, slots=True)
class SpokeDeclaration:
    """What the decorator stores on a converter's class."""

    spoke: type[Resource]
    hub: type[Resource]
    unknown_in: str


def conversion(
    spoke: type[Resource], *, hub: type[Resource], unknown_in: str = ""
) -> Callable[[C], C]:
    """Declare a class that converts between ``spoke`` and ``hub``, two versions of one kind.

    ``unknown_in`` names an annotation. While an object is a spoke, it holds the fields of the hub
    that the hub's type does not declare; the spoke's schema would prune them otherwise. Raises
    ``DeclarationError`` for types that are not two versions of a kind.
    """
    ours, theirs = resource_of(spoke), resource_of(hub)
    if _group_kind(ours) != _group_kind(theirs) or ours.version == theirs.version:
        raise DeclarationError(
            f"@conversion({spoke.__name__}, hub={hub.__name__}): {ours.gvk} and {theirs.gvk} "
            "are not two versions of one kind; a class that is not named like its kind has "
            '@resource(..., kind="...")'
        )

    def declare(converter: C) -> C:
        for method in ("to_hub", "from_hub"):
            if not callable(getattr(converter, method, None)):
                raise DeclarationError(
                    f"{converter.__name__} converts {spoke.__name__}: it needs a method {method}"
                )
        setattr(converter, _ATTRIBUTE, SpokeDeclaration(spoke, hub, unknown_in))
        return converter

    return declare


def as_version(obj: Resource, version: type[P]) -> P:
    """Return the object in another version of its kind, with the fields that both declare.

    A copy. What only ``obj`` has is left out; what only ``version`` has gets its default. The rest
    of a converter says what becomes of these fields.
    """
    plain = typed_view(obj) | {"apiVersion": resource_of(version).api_version}
    decoded = Codec(version).decode(msgspec.json.encode(plain))
    shared = {name: getattr(decoded, name) for name in body_fields(version)}
    return version(metadata=decoded.metadata, **shared)


def declared_conversion(converter: Any) -> SpokeDeclaration | None:
    """Return the declaration of a converter or its class, None if it has none."""
    declared: SpokeDeclaration | None = getattr(converter, _ATTRIBUTE, None)
    return declared


def _group_kind(resource: APIResource) -> tuple[str, str]:
    return resource.group, resource.kind


_CHANGEABLE: Final = ("labels", "annotations")


class ConversionError(CopyableError):
    """An object cannot be converted."""


class KindConversions:
    """All conversions of one kind. Immutable and thread-safe.

    Raises ``DeclarationError`` if the converters have several hubs, if two convert the same spoke,
    or if one of ``versions`` is neither hub nor spoke.
    """

    def __init__(self, converters: Iterable[Any], versions: Iterable[type[Resource]] = ()) -> None:
        declared = [(_declaration_of(converter), converter) for converter in converters]
        resources = [resource_of(version) for version in versions]
        self._hub = _hub_of([declaration for declaration, _ in declared], resources)
        self._spokes = _by_version(declared)
        self.resource = resource_of(self._hub)
        types = {self.resource.version: self._hub}
        types |= {version: spoke.spoke for version, (spoke, _) in self._spokes.items()}
        self._codecs = {version: Codec(type_) for version, type_ in types.items()}
        for resource in resources:
            if resource.version not in self._codecs:
                raise DeclarationError(
                    f"no converter for {resource.gvk}: declare one with "
                    f"@conversion(..., hub={self._hub.__name__})"
                )

    def convert(self, plain: JSONObject, desired: str) -> JSONObject:
        """Return the object in the version ``desired``; the same one if it has that version.

        Raises :class:`ConversionError`, and what the converter raises.
        """
        current = _version_of(plain)
        if current == desired:
            return plain
        for version in (current, desired):
            if version not in self._codecs:
                raise ConversionError(
                    f"{self.resource.kind} has no version {version!r} here; "
                    f"there are {', '.join(sorted(self._codecs))}"
                )
        source = self._codecs[current].decode(msgspec.json.encode(plain))
        unknown = unknown_part(_body(plain), typed_view(source))
        result = self._typed(source, current, desired)
        metadata = _metadata(plain, source.metadata, result.metadata)
        annotation = self._annotation(current, desired)
        if annotation and desired == self.resource.version:
            unknown = with_unknown(unknown, _taken_out(metadata, annotation))
        elif annotation and unknown:
            _put_in(metadata, annotation, unknown)
            unknown = {}
        return with_unknown(typed_view(result), unknown) | {"metadata": metadata}

    def _typed(self, source: Resource, current: str, desired: str) -> Resource:
        hub = source
        if current != self.resource.version:
            hub = self._spokes[current][1].to_hub(source)
            _check_made(hub, self._hub)
        if desired == self.resource.version:
            return hub
        declared, converter = self._spokes[desired]
        spoke: Resource = converter.from_hub(hub)
        _check_made(spoke, declared.spoke)
        return spoke

    def _annotation(self, current: str, desired: str) -> str:
        """Return the annotation for unknown fields, empty if this conversion has none."""
        if self.resource.version not in (current, desired):
            return ""
        return self._spokes[desired if current == self.resource.version else current][0].unknown_in


def _declaration_of(converter: Any) -> SpokeDeclaration:
    declared = declared_conversion(converter)
    if declared is None:
        raise DeclarationError(f"{converter!r} is not declared with @conversion")
    return declared


def _hub_of(declared: list[SpokeDeclaration], versions: Iterable[APIResource]) -> type[Resource]:
    hubs = list(dict.fromkeys(declaration.hub for declaration in declared))
    if not hubs:
        named = ", ".join(str(version.gvk) for version in versions)
        raise DeclarationError(
            f"no hub for {named}: declare a converter with @conversion(spoke, hub=...)"
        )
    if len(hubs) > 1:
        raise DeclarationError(
            f"{resource_of(hubs[0]).kind} has two hubs, {hubs[0].__name__} and "
            f"{hubs[1].__name__}, of {' and '.join(resource_of(hub).version for hub in hubs[:2])}; "
            "write hub= the version that is stored in each converter"
        )
    return hubs[0]


def _by_version(
    declared: list[tuple[SpokeDeclaration, Any]],
) -> dict[str, tuple[SpokeDeclaration, Any]]:
    spokes: dict[str, tuple[SpokeDeclaration, Any]] = {}
    for declaration, converter in declared:
        resource = resource_of(declaration.spoke)
        if resource.version in spokes:
            raise DeclarationError(
                f"two converters for {resource.gvk}: "
                f"{type(spokes[resource.version][1]).__name__} and {type(converter).__name__}"
            )
        spokes[resource.version] = (declaration, converter)
    return spokes


def _version_of(plain: JSONObject) -> str:
    return str(plain.get("apiVersion", "")).rpartition("/")[2]


def _body(plain: JSONObject) -> JSONObject:
    return {name: value for name, value in plain.items() if name != "metadata"}


def _put_in(metadata: JSONObject, annotation: str, unknown: JSONObject) -> None:
    metadata["annotations"] = metadata.get("annotations", {}) | {
        annotation: msgspec.json.encode(unknown).decode()
    }


def _taken_out(metadata: JSONObject, annotation: str) -> JSONObject:
    annotations = dict(metadata.pop("annotations", {}))
    text = annotations.pop(annotation, "{}")
    if annotations:
        metadata["annotations"] = annotations
    try:
        unknown: JSONObject = decode(text, dict)
    except msgspec.MsgspecError as error:
        raise ConversionError(f"annotation {annotation} holds no JSON object: {error}") from error
    return unknown


def _check_made(made: Any, wanted: type[Resource]) -> None:
    if not isinstance(made, wanted):
        raise TypeError(f"the converter must return a {wanted.__name__}, not {made!r:.100}")


def _metadata(plain: JSONObject, before: ObjectMeta, after: ObjectMeta) -> JSONObject:
    """Return the original metadata with the labels and annotations of the converter.

    If the converter leaves the metadata empty, nothing changes.
    """
    metadata = dict(plain.get("metadata") or {})
    if after == ObjectMeta():
        return metadata
    _check_unchanged(before, after)
    for name in _CHANGEABLE:
        if values := getattr(after, name):
            metadata[name] = dict(values)
        else:
            metadata.pop(name, None)
    return metadata


def _check_unchanged(before: ObjectMeta, after: ObjectMeta) -> None:
    if after == ObjectMeta(labels=after.labels, annotations=after.annotations):
        return  # the converter has set nothing else
    for name in (field.removeprefix("_") for field in ObjectMeta.__struct_fields__):
        if name not in _CHANGEABLE and getattr(before, name) != getattr(after, name):
            raise ConversionError(
                f"the conversion changes metadata.{name}; "
                "only labels and annotations may be changed"
            )
