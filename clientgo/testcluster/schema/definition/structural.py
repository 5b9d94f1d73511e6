"""Check that a schema is structural.

Promises: `check_structure` returns the causes that a CustomResourceDefinition with this schema
gets, except for those about keywords, defaults and rules.

Follows ``k8s.io/apiextensions-apiserver/pkg/apiserver/schema``.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator

import msgspec

from clientgo.meta.validation import field_path
from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.schema.json_schema import JSONSchema
from clientgo.util.text.go_regexp import GoRegexpError, compile_go_regexp

_INT_OR_STRING = [JSONSchema(type="integer"), JSONSchema(type="string")]
_NESTED_FORBIDDEN_EMPTY = "must be empty to be structural"
_NESTED_FORBIDDEN_FALSE = "must be false to be structural"
_NESTED_FORBIDDEN_UNSET = "must be undefined to be structural"


class _Level(enum.Enum):
    """The place of a schema, which the cause for a missing type names."""

    ROOT = "at the root"
    ITEM = "for specified array items"
    FIELD = "for specified object fields"


def check_structure(schema: JSONSchema, path: str) -> list[FieldError]:
    """Return what keeps `schema`, found at `path`, from being structural."""
    errors = [
        *_check_node(schema, _Level.ROOT, path),
        *_check_completeness(schema, schema, path, path),
    ]
    return sorted(errors, key=str)


def _check_node(schema: JSONSchema, level: _Level, path: str) -> Iterator[FieldError]:
    """Check a node that specifies structure, and all below it."""
    if schema.type == "array" and schema.items is None:
        yield FieldError.required(f"{path}.items", "must be specified")
    if schema.item_schema is not None:
        yield from _check_node(schema.item_schema, _Level.ITEM, f"{path}.items")
    for name, member in schema.properties.items():
        yield from _check_node(member, _Level.FIELD, _property(path, name))
    if schema.additional_properties is not None and level is _Level.ROOT:
        yield FieldError.forbidden(f"{path}.additionalProperties", "must not be used at the root")
    if schema.value_schema is not None:
        yield from _check_node(schema.value_schema, _Level.FIELD, f"{path}.additionalProperties")
    yield from _check_type(schema, level, path)
    yield from _check_extensions(schema, path)
    yield from _check_resource_fields(schema, level, path)
    yield from _check_value_validation(
        schema,
        path,
        skip_any_of=schema.any_of == _INT_OR_STRING,
        skip_first_all_of=bool(schema.all_of) and schema.all_of[0].any_of == _INT_OR_STRING,
    )


def _check_type(schema: JSONSchema, level: _Level, path: str) -> Iterator[FieldError]:
    where = f"{path}.type"
    if schema.embedded_resource and schema.type != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        if schema.type:
            yield FieldError.invalid(where, schema.type, detail)
        else:
            yield FieldError.required(where, detail)
    elif not schema.type and not schema.int_or_string and not schema.preserve_unknown_fields:
        yield FieldError.required(where, f"must not be empty {level.value}")
    if level is _Level.ROOT and schema.type and schema.type != "object":
        yield FieldError.invalid(where, schema.type, "must be object at the root")


def _check_extensions(schema: JSONSchema, path: str) -> Iterator[FieldError]:
    if schema.int_or_string:
        detail = "must be false if x-kubernetes-int-or-string is true"
        if schema.preserve_unknown_fields:
            where = f"{path}.x-kubernetes-preserve-unknown-fields"
            yield FieldError.invalid(where, True, detail)
        if schema.embedded_resource:
            yield FieldError.invalid(f"{path}.x-kubernetes-embedded-resource", True, detail)
    if schema.embedded_resource:
        if schema.additional_properties is not None:
            detail = "must not be used if x-kubernetes-embedded-resource is set"
            yield FieldError.forbidden(f"{path}.additionalProperties", detail)
        if not schema.preserve_unknown_fields and not schema.properties:
            detail = (
                "must not be empty if x-kubernetes-embedded-resource is true without "
                "x-kubernetes-preserve-unknown-fields"
            )
            yield FieldError.required(f"{path}.properties", detail)


def _check_resource_fields(schema: JSONSchema, level: _Level, path: str) -> Iterator[FieldError]:
    """Check the schemas of fields whose types the server knows."""
    is_resource = level is _Level.ROOT or schema.embedded_resource
    if is_resource:
        for name in ("kind", "apiVersion"):
            member = schema.properties.get(name)
            if member is not None and member.type != "string":
                where = f"{_property(path, name)}.type"
                yield FieldError.invalid(where, member.type or "", "must be string")
    metadata = schema.properties.get("metadata")
    if metadata is None:
        return
    where = _property(path, "metadata")
    if is_resource and metadata.type != "object":
        yield FieldError.invalid(f"{where}.type", metadata.type or "", "must be object")
    if level is _Level.ROOT and not _restricts_names_only(metadata):
        detail = (
            "must not specify anything other than name and generateName, but metadata is "
            "implicitly specified"
        )
        yield FieldError.forbidden(where, detail)


def _restricts_names_only(metadata: JSONSchema) -> bool:
    names = metadata.properties.keys()
    if not names <= {"name", "generateName"}:
        return False
    rest = msgspec.structs.replace(metadata, type=None, default=None, properties={})
    return rest == JSONSchema()


def _check_value_validation(
    schema: JSONSchema, path: str, *, skip_any_of: bool = False, skip_first_all_of: bool = False
) -> Iterator[FieldError]:
    """Check the junctors and the pattern of any node."""
    if not skip_any_of:
        for position, branch in enumerate(schema.any_of):
            yield from _check_nested(branch, f"{path}.anyOf[{position}]")
    for position, branch in enumerate(schema.all_of):
        skip = skip_first_all_of and position == 0
        yield from _check_nested(branch, f"{path}.allOf[{position}]", skip_any_of=skip)
    for position, branch in enumerate(schema.one_of):
        yield from _check_nested(branch, f"{path}.oneOf[{position}]")
    if schema.not_ is not None:
        yield from _check_nested(schema.not_, f"{path}.not")
    if schema.pattern:
        try:
            compile_go_regexp(schema.pattern)
        except GoRegexpError as error:
            detail = f"must be a valid regular expression, but isn't: {error}"
            yield FieldError.invalid(f"{path}.pattern", schema.pattern, detail)


def _check_nested(
    schema: JSONSchema, path: str, *, skip_any_of: bool = False
) -> Iterator[FieldError]:
    """Check a node below a junctor: it may restrict values, but not specify structure."""
    yield from _check_value_validation(schema, path, skip_any_of=skip_any_of)
    if schema.item_schema is not None:
        yield from _check_nested(schema.item_schema, f"{path}.items")
    for name, member in schema.properties.items():
        yield from _check_nested(member, _property(path, name))
    for keyword, value, detail in (
        ("type", schema.type, _NESTED_FORBIDDEN_EMPTY),
        ("additionalProperties", _allows_more(schema), _NESTED_FORBIDDEN_UNSET),
        ("default", schema.default is not None, _NESTED_FORBIDDEN_UNSET),
        ("title", schema.title, _NESTED_FORBIDDEN_EMPTY),
        ("description", schema.description, _NESTED_FORBIDDEN_EMPTY),
        ("nullable", schema.nullable, _NESTED_FORBIDDEN_FALSE),
        (
            "x-kubernetes-preserve-unknown-fields",
            schema.preserve_unknown_fields,
            _NESTED_FORBIDDEN_FALSE,
        ),
        ("x-kubernetes-embedded-resource", schema.embedded_resource, _NESTED_FORBIDDEN_FALSE),
        ("x-kubernetes-int-or-string", schema.int_or_string, _NESTED_FORBIDDEN_FALSE),
        ("x-kubernetes-list-map-keys", schema.list_map_keys, _NESTED_FORBIDDEN_EMPTY),
        ("x-kubernetes-list-type", schema.list_type is not None, _NESTED_FORBIDDEN_UNSET),
        ("x-kubernetes-map-type", schema.map_type is not None, _NESTED_FORBIDDEN_UNSET),
        ("x-kubernetes-validations", schema.validations, _NESTED_FORBIDDEN_EMPTY),
    ):
        if value:
            yield FieldError.forbidden(f"{path}.{keyword}", detail)
    if "metadata" in schema.properties:
        where = _property(path, "metadata")
        yield FieldError.forbidden(where, "must not be specified in a nested context")


def _allows_more(schema: JSONSchema) -> bool:
    return schema.additional_properties is not None and schema.additional_properties is not False


def _check_completeness(
    schema: JSONSchema, structure: JSONSchema, path: str, structure_path: str
) -> Iterator[FieldError]:
    """Check that what the junctors of `schema` restrict is specified by `structure`.

    Upstream checks this for the root and what its junctors reach, not for every node.
    """
    branches = [
        *((f"{path}.allOf[{position}]", branch) for position, branch in enumerate(schema.all_of)),
        *((f"{path}.anyOf[{position}]", branch) for position, branch in enumerate(schema.any_of)),
        *((f"{path}.oneOf[{position}]", branch) for position, branch in enumerate(schema.one_of)),
    ]
    if schema.not_ is not None:
        branches.append((f"{path}.not", schema.not_))
    for branch_path, branch in branches:
        yield from _check_nested_completeness(branch, structure, branch_path, structure_path)


def _check_nested_completeness(
    schema: JSONSchema, structure: JSONSchema | None, path: str, structure_path: str
) -> Iterator[FieldError]:
    if structure is None:
        yield FieldError.required(structure_path, f"because it is defined in {path}")
        return
    yield from _check_completeness(schema, structure, path, structure_path)
    if schema.item_schema is not None:
        yield from _check_nested_completeness(
            schema.item_schema, structure.item_schema, f"{path}.items", f"{structure_path}.items"
        )
    for name, member in schema.properties.items():
        yield from _check_nested_completeness(
            member,
            structure.properties.get(name),
            _property(path, name),
            _property(structure_path, name),
        )


def _property(path: str, name: str) -> str:
    return field_path.key(f"{path}.properties", name)
