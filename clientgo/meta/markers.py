"""Markers: what a type says of its schema that Python's annotations and ``msgspec.Meta`` cannot.

Promises small immutable values that do nothing at run time: a field carries them in
``Annotated``, a class through :func:`marked` or :class:`CustomResource`, and only the generator of
CustomResourceDefinitions reads them::

    class Listener(Model):
        name: str
        port: Annotated[int, Meta(ge=1, le=65535)]

    @marked(Rule("self.minReplicas <= self.maxReplicas", "minReplicas must not exceed maxReplicas"))
    class GatewaySpec(Model):
        min_replicas: int = 1
        max_replicas: int = 3
        listeners: Annotated[list[Listener], ListMap("name")] = []

    @CustomResource(columns=(PrinterColumn("Max", ".spec.maxReplicas"),), categories=("all",))
    @resource(group="example.com", version="v1", plural="gateways")
    class Gateway(Resource):
        spec: GatewaySpec

Decoding does not enforce them: the server does. Write a keyword that has no marker as
``msgspec.Meta(extra_json_schema={...})``. In controller-tools these are comments.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from msgspec import Meta, Struct

from clientgo.meta.objects.resource import Resource

S = TypeVar("S", bound=type[Struct])
R = TypeVar("R", bound=type[Resource])


class Rule(Struct, frozen=True, rename="camel"):
    """A validation rule in CEL, about ``self`` and, in an update, ``oldSelf``.

    ``message`` (or ``message_expression``, which computes it) is what a user who breaks it
    reads; ``field_path``, relative to here, says which field is at fault. ``reason`` is one of
    ``FieldValueInvalid`` (the server's choice), ``FieldValueForbidden``, ``FieldValueRequired``,
    ``FieldValueDuplicate``. ``optional_old_self`` has the rule checked at creation too.
    """

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str = ""
    field_path: str = ""
    optional_old_self: bool = False


class ListType(enum.Enum):
    """How server-side apply merges a list; :class:`ListMap` is the third way."""

    ATOMIC = "atomic"
    """The list is replaced as a whole."""
    SET = "set"
    """Each item stands once; managers own items."""


@dataclass(frozen=True, slots=True, init=False)
class ListMap:
    """A list whose items are told apart by some of their fields, given by their wire names."""

    keys: tuple[str, ...]

    def __init__(self, *keys: str) -> None:
        object.__setattr__(self, "keys", keys)


class MapType(enum.Enum):
    """How server-side apply merges an object or a mapping."""

    GRANULAR = "granular"
    """Managers own members."""
    ATOMIC = "atomic"
    """It is replaced as a whole."""


class Format(Struct, frozen=True):
    """The format of a string or number, such as ``date-time``, ``ipv4`` or ``int32``."""

    name: str


class Default(Struct, frozen=True, eq=False):
    """What the server fills in for an absent field, where that is not the default in Python."""

    value: Any


class Flag(enum.Enum):
    """What is either so or not."""

    NULLABLE = "nullable"
    """The server stores a null instead of dropping or refusing it."""
    PRESERVE_UNKNOWN_FIELDS = "x-kubernetes-preserve-unknown-fields"
    """The server keeps members that no class declares."""
    EMBEDDED_RESOURCE = "x-kubernetes-embedded-resource"
    """The value is a whole API object, with ``apiVersion``, ``kind`` and ``metadata``."""
    QUANTITY = "quantity"
    """The value is an amount such as ``500m`` or ``1Gi``."""
    UNCHECKED = "unchecked"
    """The definition says that it is an object and no more, however much its class says."""


NULLABLE = Flag.NULLABLE
PRESERVE_UNKNOWN_FIELDS = Flag.PRESERVE_UNKNOWN_FIELDS
EMBEDDED_RESOURCE = Flag.EMBEDDED_RESOURCE
UNCHECKED = Flag.UNCHECKED

Marker: TypeAlias = Rule | ListType | ListMap | MapType | Format | Default | Flag | Meta
"""What :func:`marked` takes and ``Annotated`` may carry."""


def marked(*markers: Marker) -> Callable[[S], S]:
    """Mark a class: its schema has the markers wherever the class is used."""

    def mark(cls: S) -> S:
        cls.__markers__ = (*markers_of(cls), *markers)  # type: ignore[attr-defined]
        return cls

    return mark


def markers_of(cls: type) -> tuple[Marker, ...]:
    """The markers of a class, those of its bases first."""
    markers: tuple[Marker, ...] = getattr(cls, "__markers__", ())
    return markers


class PrinterColumn(Struct, frozen=True):
    """A column of ``kubectl get``: the value at ``json_path``, such as ``.spec.replicas``.

    ``type`` is that of the field unless given (``string``, ``integer``, ``number``, ``boolean``,
    ``date``). A ``priority`` above 0 shows the column in the wide output only.
    """

    name: str
    json_path: str
    type: str = ""
    description: str = ""
    priority: int = 0
    format: str = ""


AGE = PrinterColumn("Age", ".metadata.creationTimestamp", "date")
"""How long ago the object was created; the server shows it by itself where no columns are named."""


class Scale(Struct, frozen=True):
    """The paths behind the ``scale`` subresource, which ``kubectl scale`` and autoscalers use."""

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    label_selector: str = ""


class CustomResource(Struct, frozen=True, kw_only=True):
    """Above ``@resource``: what a CustomResourceDefinition says and the types do not tell.

    Of several versions, each a class of its own, one has ``storage``; its ``categories`` (groups
    of kinds for ``kubectl get``) and ``annotations`` are those of the definition. Field selectors
    may use ``selectable_fields``, paths such as ``.spec.color``. A ``deprecation_warning`` is sent
    to clients of a ``deprecated`` version instead of the server's own.
    """

    columns: tuple[PrinterColumn, ...] = ()
    scale: Scale | None = None
    selectable_fields: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    annotations: Mapping[str, str] = {}
    served: bool = True
    storage: bool = False
    deprecated: bool = False
    deprecation_warning: str = ""

    def __call__(self, cls: R) -> R:
        cls.__custom_resource__ = self  # type: ignore[attr-defined]
        return cls

    @staticmethod
    def of(cls: type[Resource]) -> CustomResource:
        """What was said of a class, or else the defaults."""
        said: CustomResource = cls.__dict__.get("__custom_resource__", CustomResource())
        return said
