"""Validate a value against a schema, with the causes that an API server sends.

Promises: `validate_value` reports violations of types, bounds, patterns, formats, enums, required
fields and ``allOf``, ``anyOf``, ``oneOf`` and ``not``. In an update, errors in unchanged parts
are ignored (ratcheting).

Does not promise: list types, embedded resources and rules. `StructuralSchema` adds them.

Upstream (``k8s.io/kube-openapi/pkg/validation/validate``) makes a tree of validators for each
value. Here one walk looks at the type of the value first, and then at the keywords for it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import Any

from clientgo.meta.json_values import WholeFloat, json_equal
from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.schema.json_schema import JSONSchema
from clientgo.testcluster.schema.json_value import (
    MISSING,
    is_json_integer,
    is_number,
    is_whole,
    type_name,
)
from clientgo.testcluster.schema.values.list_types import OldItems
from clientgo.util.text import go_format
from clientgo.util.text.formats import format_check
from clientgo.util.text.go_regexp import compile_go_regexp

_MAX_FLOAT32 = 3.4028235677973366e38
_CHECKS = {dict: 5, list: 6, str: 5, int: 6, float: 6, bool: 4}
_VALUE_FORMATS = {bool: "", int: "int64", float: "float64", dict: ""}


def validate_value(value: Any, schema: JSONSchema, old: Any = MISSING) -> list[FieldError]:
    """Return what is wrong with `value`; fields of the errors are relative to it."""
    errors: list[FieldError] = []
    _validate(value, schema, "", errors, old)
    return _without_repetitions(errors)


def _validate(
    value: Any, schema: JSONSchema, path: str, errors: list[FieldError], old: Any = MISSING
) -> int:
    """Append the errors of `value` and return how many checks applied to it, as upstream counts.

    The count tells which alternative of a junctor fits best, if none fits.
    """
    if type(value) is WholeFloat:
        value = float(value)
    before = len(errors)
    applied = _CHECKS.get(type(value), 1)
    _check_type(value, schema, path, errors)
    if schema.enum and not any(_is_choice(value, choice) for choice in schema.enum):
        errors.append(FieldError.not_supported(path, value, schema.enum))
    if value is not None:
        if isinstance(value, dict):
            applied += _check_object(value, schema, path, errors, old)
        elif isinstance(value, list):
            applied += _check_list(value, schema, path, errors, old)
        elif isinstance(value, str):
            _check_text(value, schema, path, errors)
            _check_format(value, schema, path, errors)
        elif is_number(value):
            _check_number(value, schema, path, errors)
        applied += _check_junctors(value, schema, path, errors, old)
    if len(errors) > before and old is not MISSING and json_equal(value, old):
        del errors[before:]
    return applied


def _check_type(value: Any, schema: JSONSchema, path: str, errors: list[FieldError]) -> None:
    types = schema.types
    if not types or (value is None and schema.nullable):
        return
    if isinstance(value, list) and types == ("string",) and _enforced_format(schema):
        return  # upstream takes it for an array of bytes
    actual = type_name(value)
    if actual in types or (actual == "integer" and "number" in types):
        return
    if actual == "number" and "integer" in types and is_json_integer(value):
        return
    expected = ",".join(types)
    if type(value) in _VALUE_FORMATS and _enforced_format(schema):
        # Upstream compares formats here, and shows the format of the value instead of its type.
        expected, actual = schema.format or "", _VALUE_FORMATS[type(value)]
    detail = f"{path} in body must be of type {expected}: {go_format.quote(actual)}"
    errors.append(FieldError.type_invalid(path, actual, detail))


def _is_choice(value: Any, choice: Any) -> bool:
    """Compare with a member of an enumeration as upstream does: converted to its type.

    Null is never a member.
    """
    if choice is None:
        return False
    if type(choice) is int and type(value) is float:
        value = math.trunc(value)
    elif type(choice) is str and type(value) is int:
        value = chr(value) if 0 <= value <= sys.maxunicode else "\ufffd"
    return json_equal(value, choice)


def _enforced_format(schema: JSONSchema) -> bool:
    """Return True if the format of a schema is checked for its type."""
    if not schema.format:
        return False
    match schema.types:
        case ("integer",):
            return schema.format in ("int32", "int64")
        case ("number",):
            return schema.format in ("float", "double")
        case () | ("string",) | ("integer", "string"):
            return format_check(schema.format) is not None
    return False


def _check_text(value: str, schema: JSONSchema, path: str, errors: list[FieldError]) -> None:
    """Report the first of the textual constraints that is violated."""
    if schema.max_length is not None and len(value) > schema.max_length:
        errors.append(FieldError.too_long(path, schema.max_length))
    elif schema.min_length is not None and len(value) < schema.min_length:
        detail = f"{path} in body should be at least {schema.min_length} chars long"
        errors.append(FieldError.invalid(path, value, detail))
    elif schema.pattern and not compile_go_regexp(schema.pattern).matches(value):
        detail = f"{path} in body should match '{schema.pattern}'"
        errors.append(FieldError.invalid(path, value, detail))


def _check_format(value: str, schema: JSONSchema, path: str, errors: list[FieldError]) -> None:
    check = format_check(schema.format or "") if _enforced_format(schema) else None
    if check is not None and not check(value):
        detail = f"{path} in body must be of type {schema.format}: {go_format.quote(value)}"
        errors.append(FieldError.type_invalid(path, value, detail))


def _check_number(value: float, schema: JSONSchema, path: str, errors: list[FieldError]) -> None:
    if (misfit := _misfit(value, schema, "Checked", path)) is not None:
        errors.append(misfit)
    for name, limit, check in (
        ("MultipleOf", schema.multiple_of, _multiple_problem),
        ("Minimum boundary", schema.minimum, _minimum_problem),
        ("Maximum boundary", schema.maximum, _maximum_problem),
    ):
        if limit is None:
            continue
        number: float = value
        if (misfit := _misfit(limit, schema, name, path)) is not None:
            errors.append(misfit)
            number, limit = float(value), float(limit)
        else:
            # Upstream compares integers with the limit cut off: 0.1 is 0.
            limit = int(limit) if isinstance(value, int) else float(limit)
        shown, problem = check(path, number, limit, schema)
        if problem:
            errors.append(FieldError.invalid(path, shown, problem))


def _misfit(value: float, schema: JSONSchema, name: str, path: str) -> FieldError | None:
    """Return the error of a number that is out of the range of the schema's type and format."""
    match schema.types:
        case ("integer",):
            limit = 2**31 if schema.format == "int32" else 2**63
            fits = is_whole(value) and -limit <= value < limit
        case ("number",):
            fits = schema.format != "float" or abs(value) <= _MAX_FLOAT32
        case _:
            fits = True
    if fits:
        return None
    kind = f"with format {schema.format}" if _enforced_format(schema) else "(default format)"
    detail = f"{name} value must be of type {schema.type} {kind} in {path}"
    return FieldError.invalid("", "", detail)


_Problem = tuple[float, str]
"""The number that the error shows, and what is wrong; empty if nothing is."""


def _multiple_problem(path: str, value: float, factor: float, _: JSONSchema) -> _Problem:
    shown = go_format.number(factor)
    if factor <= 0:
        return factor, f"factor MultipleOf declared for {path} must be positive: {shown}"
    if isinstance(value, int) and isinstance(factor, int):
        fits = value % factor == 0
    else:
        fits = is_json_integer(float(1 / factor * value if factor < 1 else value / factor))
    return value, "" if fits else f"{path} in body should be a multiple of {shown}"


def _minimum_problem(path: str, value: float, limit: float, schema: JSONSchema) -> _Problem:
    exclusive = schema.exclusive_minimum
    if value > limit or (value == limit and not exclusive):
        return value, ""
    bound = "greater than" if exclusive else "greater than or equal to"
    return value, f"{path} in body should be {bound} {go_format.number(limit)}"


def _maximum_problem(path: str, value: float, limit: float, schema: JSONSchema) -> _Problem:
    exclusive = schema.exclusive_maximum
    if value < limit or (value == limit and not exclusive):
        return value, ""
    bound = "less than" if exclusive else "less than or equal to"
    return value, f"{path} in body should be {bound} {go_format.number(limit)}"


def _check_object(
    value: dict[str, Any], schema: JSONSchema, path: str, errors: list[FieldError], old: Any
) -> int:
    count = len(value)
    if schema.min_properties is not None and count < schema.min_properties:
        detail = f"{path} in body should have at least {schema.min_properties} properties"
        errors.append(FieldError.invalid(path, count, detail))
    if schema.max_properties is not None and count > schema.max_properties:
        errors.append(FieldError.too_many(path, count, schema.max_properties))
    applied = 0
    old_members = old if isinstance(old, dict) else {}
    properties, value_schema = schema.properties, schema.value_schema
    for name, member in value.items():
        member_schema = properties.get(name, value_schema)
        if member_schema is not None:
            member_path = f"{path}.{name}" if path else name
            old_member = old_members.get(name, MISSING)
            applied += _validate(member, member_schema, member_path, errors, old_member)
        elif schema.additional_properties is False:
            detail = f"{path}.{name} in body is a forbidden property"
            errors.append(FieldError.invalid(path, name, detail))
    errors.extend(
        FieldError.required(f"{path}.{name}" if path else name)
        for name in schema.required
        if name not in value
    )
    return applied


def _check_list(
    value: list[Any], schema: JSONSchema, path: str, errors: list[FieldError], old: Any
) -> int:
    count = len(value)
    if schema.min_items is not None and count < schema.min_items:
        detail = f"{path} in body should have at least {schema.min_items} items"
        errors.append(FieldError.invalid(path, count, detail))
    if schema.max_items is not None and count > schema.max_items:
        errors.append(FieldError.too_many(path, count, schema.max_items))
    item_schema = schema.item_schema
    if item_schema is None:
        return 0
    applied = 0
    correlate = OldItems(old, schema)
    for position, item in enumerate(value):
        item_path = f"{path}[{position}]"
        applied += _validate(item, item_schema, item_path, errors, correlate.find(item))
    return applied


def _check_junctors(
    value: Any, schema: JSONSchema, path: str, errors: list[FieldError], old: Any
) -> int:
    applied = 0
    if schema.any_of:
        applied += _check_any_of(value, schema.any_of, path, errors, old)
    if schema.one_of:
        applied += _check_one_of(value, schema.one_of, path, errors, old)
    if schema.all_of:
        applied += _check_all_of(value, schema.all_of, path, errors, old)
    if schema.not_ is not None and not _outcome(value, schema.not_, path, old)[1]:
        errors.append(_junctor_error(path, "must not validate the schema (not)"))
    return applied


def _outcome(value: Any, schema: JSONSchema, path: str, old: Any) -> tuple[int, list[FieldError]]:
    errors: list[FieldError] = []
    return _validate(value, schema, path, errors, old), errors


def _check_any_of(
    value: Any, schemas: list[JSONSchema], path: str, errors: list[FieldError], old: Any
) -> int:
    outcomes = []
    for schema in schemas:
        applied, problems = _outcome(value, schema, path, old)
        if not problems:
            return applied
        outcomes.append((applied, problems))
    errors.append(_junctor_error(path, "must validate at least one schema (anyOf)"))
    applied, problems = _best(outcomes)
    errors.extend(problems)
    return applied


def _check_one_of(
    value: Any, schemas: list[JSONSchema], path: str, errors: list[FieldError], old: Any
) -> int:
    outcomes = [_outcome(value, schema, path, old) for schema in schemas]
    valid = [applied for applied, problems in outcomes if not problems]
    if len(valid) == 1:
        return valid[0]
    found = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
    errors.append(_junctor_error(path, f"must validate one and only one schema (oneOf). {found}"))
    if valid:
        return 0
    applied, problems = _best(outcomes)
    errors.extend(problems)
    return applied


def _check_all_of(
    value: Any, schemas: list[JSONSchema], path: str, errors: list[FieldError], old: Any
) -> int:
    outcomes = [_outcome(value, schema, path, old) for schema in schemas]
    for _, problems in outcomes:
        errors.extend(problems)
    valid = sum(not problems for _, problems in outcomes)
    if valid < len(schemas):
        suffix = "" if valid else ". None validated"
        errors.append(_junctor_error(path, f"must validate all the schemas (allOf){suffix}"))
    return sum(applied for applied, _ in outcomes)


def _best(outcomes: list[tuple[int, list[FieldError]]]) -> tuple[int, list[FieldError]]:
    """Return the outcome of the alternative that applied most schema nodes."""
    return max(outcomes, key=lambda outcome: outcome[0])


def _junctor_error(path: str, problem: str) -> FieldError:
    # Upstream does not set the field; it is in the text only.
    return FieldError.invalid("", "", f"{go_format.quote(path)} {problem}")


def _without_repetitions(errors: Iterable[FieldError]) -> list[FieldError]:
    return list({str(error): error for error in errors}.values())
