"""Declaring how the versions of a kind are made from each other: one hub, any number of spokes.

::

    @conversion(FooV1alpha1, hub=FooV1)
    class FooV1alpha1Converter:
        def to_hub(self, spoke: FooV1alpha1) -> FooV1: ...
        def from_hub(self, hub: FooV1) -> FooV1alpha1: ...

Promises: two spokes are converted through the hub, so n versions need n - 1 converters; fields that
a type does not declare survive. Metadata other than labels and annotations cannot be changed by a
conversion: a converter that leaves it empty gets it filled in, one that changes it is an error.

Does not promise that a version can say all that another can: what it cannot, its converter has to
put somewhere, usually into an annotation.

Upstream: controller-runtime ``pkg/conversion`` Hub and Convertible, ``webhook/conversion``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from clientgo.meta import APIResource, Resource, resource_of
from clientgo.operator.errors import DeclarationError

S = TypeVar("S", bound=Resource)
H = TypeVar("H", bound=Resource)
C = TypeVar("C", bound=type)

_ATTRIBUTE: Final = "__clientgo_conversion__"


class Converter(Protocol[S, H]):
    """Makes one version from another and back; must not change what it is given."""

    def to_hub(self, spoke: S) -> H: ...

    def from_hub(self, hub: H) -> S: ...


@dataclass(frozen=True, slots=True)
class SpokeDeclaration:
    """What the decorator leaves on a converter's class."""

    spoke: type[Resource]
    hub: type[Resource]
    unknown_in: str


def conversion(
    spoke: type[Resource], *, hub: type[Resource], unknown_in: str = ""
) -> Callable[[C], C]:
    """Declare a class that converts between ``spoke`` and ``hub``, two versions of one kind.

    ``unknown_in`` names an annotation. With it, fields of the hub that the hub's type does not
    declare are kept there while an object is a spoke, instead of where they are; a spoke's schema
    would prune them there. Raises ``DeclarationError`` for types that are not two versions of a
    kind.
    """
    ours, theirs = resource_of(spoke), resource_of(hub)
    if _group_kind(ours) != _group_kind(theirs) or ours.version == theirs.version:
        raise DeclarationError(
            f"@conversion({spoke.__name__}, hub={hub.__name__}): {ours.gvk} and {theirs.gvk} "
            "are not two versions of one kind"
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


def declared_conversion(converter: Any) -> SpokeDeclaration | None:
    """What ``@conversion`` says of a converter or its class; None if it is none."""
    declared: SpokeDeclaration | None = getattr(converter, _ATTRIBUTE, None)
    return declared


def _group_kind(resource: APIResource) -> tuple[str, str]:
    return resource.group, resource.kind
