"""Check the keywords of a schema.

Promises: `check_keywords` returns the causes for keywords that a CustomResourceDefinition must
not have, for wrong list and map types and for incomplete rules, at every node.

Does not promise: that the schema is structural, or that rules compile.

Follows ``k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clientgo.meta.validation.duplicates import duplicates
from clientgo.meta.validation.field_errors import OMITTED, FieldError
from clientgo.testcluster.schema.json_schema import JSONSchema, ValidationRule
from clientgo.testcluster.schema.pruning import RESOURCE_FIELDS
from clientgo.testcluster.schema.rules import rule_path

TYPES = ("array", "boolean", "integer", "number", "object", "string")
_ALLOWED_AT_ROOT_WITH_STATUS = frozenset(
    {"description", "type", "format", "title", "maximum", "exclusive_maximum", "minimum"}
    | {"exclusive_minimum", "max_length", "min_length", "pattern", "max_items", "min_items"}
    | {"unique_items", "multiple_of", "required", "items", "properties", "validations"}
    | {"preserve_unknown_fields"}
)
_LINE_BREAK = re.compile(r"[\n\r]")
_RULE_REASONS = (
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
)


def check_keywords(schema: JSONSchema, path: str) -> Iterator[FieldError]:
    """Return what is wrong with the keywords of the root `schema`, found at `path`."""
    return _check(schema, path, is_root=True, no_default=None, in_meta=False)


def has_unsupported_keywords(schema: JSONSchema) -> bool:
    """Return True if a node has a keyword that makes the whole schema unusable."""
    return (
        bool(schema.id or schema.schema_url or schema.ref)
        or bool(schema.pattern_properties or schema.definitions or schema.dependencies)
        or schema.additional_items is not None
        or schema.preserve_unknown_fields is False
        or isinstance(schema.items, list)
        or any(has_unsupported_keywords(part) for _, part in _parts(schema))
    )


def check_root(schema: JSONSchema, path: str, *, has_status: bool) -> Iterator[FieldError]:
    """Return what is wrong with the root of a resource, with or without a status subresource."""
    if has_status:
        yield from _check_root_with_status(schema, path)
    if schema.nullable:
        yield FieldError.forbidden(f"{path}.nullable", "nullable cannot be true at the root")


def _check_root_with_status(schema: JSONSchema, path: str) -> Iterator[FieldError]:
    """Check that the root has no keyword that a status alone cannot fulfil."""
    if schema.type and schema.type != "object":
        detail = (
            'only "object" is allowed as the type at the root of the schema if the status '
            "subresource is enabled"
        )
        yield FieldError.invalid(f"{path}.type", schema.type, detail)
    nothing = JSONSchema()
    present = {
        keyword
        for keyword in schema.__struct_fields__
        if getattr(schema, keyword) != getattr(nothing, keyword)
    }
    if not present <= _ALLOWED_AT_ROOT_WITH_STATUS:
        detail = (
            f"only {sorted(_ALLOWED_AT_ROOT_WITH_STATUS)} fields are allowed at the root of the "
            "schema if the status subresource is enabled"
        )
        yield FieldError.invalid(path, OMITTED, detail)


def _parts(schema: JSONSchema) -> Iterator[tuple[str, JSONSchema]]:
    """Return every schema directly inside `schema`, with its path relative to it."""
    if schema.value_schema is not None:
        yield "additionalProperties", schema.value_schema
    for name, member in schema.properties.items():
        yield f"properties[{name}]", member
    if schema.not_ is not None:
        yield "not", schema.not_
    for keyword, branches in (
        ("allOf", schema.all_of),
        ("oneOf", schema.one_of),
        ("anyOf", schema.any_of),
    ):
        for position, branch in enumerate(branches):
            yield f"{keyword}[{position}]", branch
    for name, definition in schema.definitions.items():
        yield f"definitions[{name}]", definition
    if isinstance(schema.items, JSONSchema):
        yield "items", schema.items
    elif schema.items is not None:
        for position, item in enumerate(schema.items):
            yield f"items[{position}]", item


def _check(
    schema: JSONSchema, path: str, *, is_root: bool, no_default: str | None, in_meta: bool
) -> Iterator[FieldError]:
    """Check a node and all below it; `no_default` is the reason why a default is forbidden."""
    yield from _check_supported(schema, path, no_default=no_default, in_meta=in_meta)
    additional = schema.additional_properties
    if schema.properties and additional is not None and additional is not True:
        detail = "additionalProperties and properties are mutual exclusive"
        yield FieldError.forbidden(f"{path}.additionalProperties", detail)
    for part_path, part in _parts(schema):
        reason, meta = no_default, in_meta
        name = part_path.removeprefix("properties[").removesuffix("]")
        if part_path == "additionalProperties" and in_meta:
            reason = "inside additionalProperties applying to object metadata"
        elif part_path.startswith("properties[") and name in RESOURCE_FIELDS:
            meta = in_meta or is_root or schema.embedded_resource
            reason = f"in top-level {name}" if is_root else no_default
        yield from _check(
            part, f"{path}.{part_path}", is_root=False, no_default=reason, in_meta=meta
        )
    if schema.preserve_unknown_fields is False:
        where = f"{path}.x-kubernetes-preserve-unknown-fields"
        yield FieldError.invalid(where, False, "must be true or undefined")
    yield from _check_map_type(schema, path)
    yield from _check_list_type(schema, path)
    for position, rule in enumerate(schema.validations):
        yield from _check_rule(rule, schema, f"{path}.x-kubernetes-validations[{position}]")


def _check_supported(
    schema: JSONSchema, path: str, *, no_default: str | None, in_meta: bool
) -> Iterator[FieldError]:
    if schema.type and schema.type not in TYPES:
        yield FieldError.not_supported(f"{path}.type", schema.type, TYPES)
    if schema.default is not None and no_default is not None:
        yield FieldError.forbidden(f"{path}.default", f"must not be set {no_default}")
    for keyword, present in (
        ("id", schema.id),
        ("additionalItems", schema.additional_items is not None),
        ("patternProperties", schema.pattern_properties),
        ("definitions", schema.definitions),
        ("dependencies", schema.dependencies is not None),
        ("$ref", schema.ref is not None),
    ):
        if present:
            yield FieldError.forbidden(f"{path}.{keyword}", f"{keyword} is not supported")
    if schema.type == "null":
        detail = "type cannot be set to null, use nullable as an alternative"
        yield FieldError.forbidden(f"{path}.type", detail)
    if isinstance(schema.items, list) and schema.items:
        detail = "items must be a schema object and not an array"
        yield FieldError.forbidden(f"{path}.items", detail)
    if schema.embedded_resource and in_meta:
        where = f"{path}.x-kubernetes-embedded-resource"
        yield FieldError.forbidden(where, "must not be used inside of resource meta")
    if schema.unique_items:
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield FieldError.forbidden(f"{path}.uniqueItems", detail)


def _check_map_type(schema: JSONSchema, path: str) -> Iterator[FieldError]:
    if schema.map_type is None:
        return
    if schema.type != "object":
        detail = "must be object if x-kubernetes-map-type is specified"
        yield _wrong_type(f"{path}.type", schema.type, detail)
    if schema.map_type not in ("atomic", "granular"):
        where = f"{path}.x-kubernetes-map-type"
        yield FieldError.not_supported(where, schema.map_type, ("atomic", "granular"))


def _check_list_type(schema: JSONSchema, path: str) -> Iterator[FieldError]:
    where = f"{path}.x-kubernetes-list-type"
    list_type, items = schema.list_type, schema.item_schema
    if schema.list_map_keys and list_type != "map":
        detail = "must be map if x-kubernetes-list-map-keys is non-empty"
        yield _wrong_type(where, list_type, detail)
    if list_type is None:
        return
    if schema.type != "array":
        detail = "must be array if x-kubernetes-list-type is specified"
        yield _wrong_type(f"{path}.type", schema.type, detail)
    elif list_type == "set" and items is not None:
        yield from _check_set_items(items, f"{path}.items")
    if list_type not in ("atomic", "set", "map"):
        yield FieldError.not_supported(where, list_type, ("atomic", "set", "map"))
    if list_type == "map":
        yield from _check_list_map(schema, path)
    if list_type in ("set", "map") and items is not None and items.nullable:
        detail = f"cannot be nullable when x-kubernetes-list-type is {list_type}"
        yield FieldError.forbidden(f"{path}.items.nullable", detail)


def _check_set_items(items: JSONSchema, path: str) -> Iterator[FieldError]:
    detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
    if items.type == "array" and items.list_type not in (None, "atomic"):
        yield FieldError.invalid(f"{path}.x-kubernetes-list-type", items.list_type, detail)
    if items.type == "object" and items.map_type != "atomic":
        yield FieldError.invalid(f"{path}.x-kubernetes-map-type", items.map_type, detail)


def _check_list_map(schema: JSONSchema, path: str) -> Iterator[FieldError]:
    where = f"{path}.x-kubernetes-list-map-keys"
    if not schema.list_map_keys:
        yield FieldError.required(where, "must not be empty if x-kubernetes-list-type is map")
    items = schema.item_schema
    if items is None:
        detail = "must have a schema if x-kubernetes-list-type is map"
        yield FieldError.required(f"{path}.items", detail)
        return
    if items.type != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        yield FieldError.invalid(f"{path}.items.type", items.type or "", detail)
        return
    repeated = duplicates(schema.list_map_keys)
    for position, name in enumerate(schema.list_map_keys):
        if position in repeated:
            detail = "must not contain duplicate entries"
            yield FieldError.invalid(where, schema.list_map_keys, detail)
        key = items.properties.get(name)
        if key is None:
            detail = "entries must all be names of item properties"
            yield FieldError.invalid(where, schema.list_map_keys, detail)
        else:
            yield from _check_list_map_key(name, key, items, f"{path}.items.properties[{name}]")


def _check_list_map_key(
    name: str, key: JSONSchema, items: JSONSchema, path: str
) -> Iterator[FieldError]:
    if key.type in ("array", "object"):
        detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
        yield FieldError.invalid(f"{path}.type", key.type, detail)
    if name not in items.required and key.default is None:
        detail = (
            "this property is in x-kubernetes-list-map-keys, so it must have a default or be a "
            "required property"
        )
        yield FieldError.required(f"{path}.default", detail)
    if key.nullable:
        detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
        yield FieldError.forbidden(f"{path}.nullable", detail)


def _check_rule(rule: ValidationRule, schema: JSONSchema, path: str) -> Iterator[FieldError]:
    message = rule.message.strip()
    if not rule.rule.strip():
        yield FieldError.required(f"{path}.rule", "rule is not specified")
    elif rule.message and not message:
        detail = "must be non-empty if specified"
        yield FieldError.invalid(f"{path}.message", rule.message, detail)
    elif _LINE_BREAK.search(message):
        yield FieldError.invalid(f"{path}.message", rule.message, "must not contain line breaks")
    elif _LINE_BREAK.search(rule.rule.strip()) and not message:
        detail = "message must be specified if rule contains line breaks"
        yield FieldError.required(f"{path}.message", detail)
    if rule.message_expression and not rule.message_expression.strip():
        detail = "messageExpression must be non-empty if specified"
        yield FieldError.required(f"{path}.messageExpression", detail)
    if rule.reason is not None and rule.reason not in _RULE_REASONS:
        yield FieldError.not_supported(f"{path}.reason", rule.reason, _RULE_REASONS)
    if rule.field_path:
        yield from _check_rule_path(rule.field_path, schema, f"{path}.fieldPath")


def _check_rule_path(text: str, schema: JSONSchema, path: str) -> Iterator[FieldError]:
    if not text.strip():
        yield FieldError.invalid(path, text, "must be non-empty if specified")
    if _LINE_BREAK.search(text):
        yield FieldError.invalid(path, text, "must not contain line breaks")
    try:
        rule_path.resolve(text, schema)
    except rule_path.RulePathError:
        yield FieldError.invalid(path, text, "must be a valid path")


def _wrong_type(path: str, actual: str | None, detail: str) -> FieldError:
    if not actual:
        return FieldError.required(path, detail)
    return FieldError.invalid(path, actual, detail)
