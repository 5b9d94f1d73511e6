"""The schema of a custom resource: OpenAPI v3 with the extensions of Kubernetes.

Promises: `JSONSchema.parse` reads ``openAPIV3Schema`` into one immutable tree. A keyword of a
wrong type is refused with its path.

Does not promise: that the schema is valid. See `definition`.

Upstream has two trees, ``JSONSchemaProps`` as stored and ``Structural`` as used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from clientgo.meta.decoding import convert


class ValidationRule(msgspec.Struct, frozen=True, rename="camel"):
    """One entry of ``x-kubernetes-validations``."""

    rule: str = ""
    message: str = ""
    message_expression: str = ""
    reason: str | None = None
    field_path: str = ""
    optional_old_self: bool | None = None


class JSONSchema(msgspec.Struct, frozen=True, rename="camel"):
    """One node of a schema. Immutable, to be shared between threads.

    ``default`` is None where there is none: a default of null means the same upstream.
    """

    type: str | None = None
    format: str | None = None
    nullable: bool = False
    default: Any = None
    title: str | None = None
    description: str | None = None
    enum: list[Any] = []

    maximum: int | float | None = None
    exclusive_maximum: bool = False
    minimum: int | float | None = None
    exclusive_minimum: bool = False
    multiple_of: int | float | None = None
    max_length: int | None = None
    min_length: int | None = None
    pattern: str | None = None
    max_items: int | None = None
    min_items: int | None = None
    unique_items: bool = False
    max_properties: int | None = None
    min_properties: int | None = None
    required: list[str] = []

    properties: dict[str, JSONSchema] = {}
    additional_properties: JSONSchema | bool | None = None
    items: JSONSchema | list[JSONSchema] | None = None
    all_of: list[JSONSchema] = []
    any_of: list[JSONSchema] = []
    one_of: list[JSONSchema] = []
    not_: JSONSchema | None = msgspec.field(default=None, name="not")

    preserve_unknown_fields: bool | None = msgspec.field(
        default=None, name="x-kubernetes-preserve-unknown-fields"
    )
    embedded_resource: bool = msgspec.field(default=False, name="x-kubernetes-embedded-resource")
    int_or_string: bool = msgspec.field(default=False, name="x-kubernetes-int-or-string")
    list_type: str | None = msgspec.field(default=None, name="x-kubernetes-list-type")
    list_map_keys: list[str] = msgspec.field(
        default_factory=list, name="x-kubernetes-list-map-keys"
    )
    map_type: str | None = msgspec.field(default=None, name="x-kubernetes-map-type")
    validations: list[ValidationRule] = msgspec.field(
        default_factory=list, name="x-kubernetes-validations"
    )

    # Keywords of OpenAPI that are refused.
    id: str | None = None
    schema_url: str | None = msgspec.field(default=None, name="$schema")
    ref: str | None = msgspec.field(default=None, name="$ref")
    additional_items: JSONSchema | bool | None = None
    pattern_properties: dict[str, JSONSchema] = {}
    definitions: dict[str, JSONSchema] = {}
    dependencies: dict[str, Any] | None = None

    @classmethod
    def parse(cls, document: Any) -> JSONSchema:
        """Read a schema from plain JSON.

        Raises:
            msgspec.ValidationError: a keyword has a value of the wrong type.
        """
        return convert(document, cls)

    @property
    def types(self) -> tuple[str, ...]:
        """The types that a value may have; empty if any."""
        if self.int_or_string:
            return ("integer", "string")
        return (self.type,) if self.type else ()

    @property
    def item_schema(self) -> JSONSchema | None:
        """The schema of every list item, if there is one."""
        return self.items if isinstance(self.items, JSONSchema) else None

    @property
    def value_schema(self) -> JSONSchema | None:
        """The schema of every map value, if this describes a map."""
        additional = self.additional_properties
        return additional if isinstance(additional, JSONSchema) else None

    def parts(self) -> Iterator[JSONSchema]:
        """Yield this node and every one below, those of junctors included."""
        yield self
        listed = self.items if isinstance(self.items, list) else [self.item_schema]
        below = (*listed, *self.all_of, *self.any_of, *self.one_of, self.not_)
        for part in (*below, *self.properties.values(), self.value_schema):
            if part is not None:
                yield from part.parts()

    @property
    def has_rules(self) -> bool:
        """True if there is a rule at this node or below."""
        below = (*self.properties.values(), self.value_schema, self.item_schema)
        return bool(self.validations) or any(part.has_rules for part in below if part is not None)

    def as_resource(self) -> JSONSchema:
        """Return this node as that of a resource, as which upstream takes the root for defaults."""
        return replace(self, embedded_resource=True)

    def without_int_or_string(self) -> JSONSchema:
        """Return this node and those below without the types that int-or-string means."""
        additional = self.value_schema
        return replace(
            self,
            int_or_string=False,
            properties={
                name: part.without_int_or_string() for name, part in self.properties.items()
            },
            items=self.item_schema.without_int_or_string() if self.item_schema else self.items,
            additional_properties=(
                additional.without_int_or_string() if additional else self.additional_properties
            ),
        )

    def specifies(self, name: str) -> bool:
        """Return True if a property or map entry `name` may be there."""
        return name in self.properties or self.additional_properties is not None

    def member_schema(self, name: str) -> JSONSchema | None:
        """Return the schema of the property or map entry `name`, if it is specified."""
        return self.properties.get(name) or self.value_schema
