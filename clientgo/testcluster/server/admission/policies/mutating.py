"""MutatingAdmissionPolicy: the changes that are made to a write.

Upstream: apiserver ``admission/plugin/policy/mutating``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from clientgo.meta.patches import PatchError, PatchTestError, apply_json_patch
from clientgo.testcluster.cel import Program
from clientgo.testcluster.cel.values import ObjectValue, Optional
from clientgo.testcluster.fields.managed_fields import (
    FieldType,
    TypedValueError,
    check_value,
    merge_values,
)
from clientgo.testcluster.server.admission.expression_errors import ExpressionError
from clientgo.testcluster.server.admission.policies.expressions import (
    Conditions,
    Inputs,
    PolicyExpressions,
)
from clientgo.testcluster.server.storage.storage import Object

_HEADER = ("apiVersion", "kind")


class MutatingPolicy:
    """The compiled expressions of one policy."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        """Compile a ``spec`` that was validated.

        Raises:
            CelCompileError: an expression does not compile.
        """
        self.is_reinvoked = spec.get("reinvocationPolicy") == "IfNeeded"
        self._expressions = PolicyExpressions(spec)
        self._conditions = Conditions(self._expressions, spec.get("matchConditions", ()))
        self._mutations = [self._mutation(item) for item in spec.get("mutations", ())]

    def _mutation(self, mutation: Mapping[str, Any]) -> tuple[bool, Program]:
        is_patch = mutation["patchType"] == "JSONPatch"
        part = mutation["jsonPatch" if is_patch else "applyConfiguration"]
        return is_patch, self._expressions.compile(part["expression"], with_patches=True)

    def mutate(self, obj: Object, inputs: Inputs, field_type: FieldType) -> Object:
        """Return the changed object, or ``obj`` if a condition does not hold.

        Raises:
            ExpressionError: an expression could not be evaluated, or its value be applied.
        """
        if not self._conditions.hold(inputs):
            return obj
        for is_patch, program in self._mutations:
            value = self._expressions.evaluation(replace(inputs, obj=obj)).value_of(program)
            obj = _patched(obj, value) if is_patch else _merged(obj, value, field_type)
        return obj


def _patched(obj: Object, operations: Any) -> Object:
    """Apply a list of JSONPatch values; a test that fails leaves the object as it is.

    Raises:
        ExpressionError: the patch does not fit.
    """
    steps = [_plain(operation, "JSONPatch") for operation in operations]
    try:
        patched = apply_json_patch(obj, steps)
    except PatchTestError:
        return obj
    except PatchError as error:
        raise ExpressionError(f"JSON Patch: {error}") from error
    if not isinstance(patched, dict) or not isinstance(patched.get("metadata"), dict):
        raise ExpressionError("JSON Patch: the result is no object")
    return patched


def _merged(obj: Object, configuration: Any, field_type: FieldType) -> Object:
    """Merge an apply configuration into an object.

    Raises:
        ExpressionError: one of them is of another type, or the configuration sets a list or map
            that is one field.
    """
    header = {name: obj[name] for name in _HEADER}
    applied = header | _plain(configuration, "Object")
    _check_typed(applied, field_type, "patch")
    _check_typed(obj, field_type, "original", allow_duplicates=True)
    if atomics := ", ".join(_atomics(applied, field_type, "")):
        raise ExpressionError(
            "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps "
            f"or structs: {atomics}"
        )
    merged: Object = merge_values(obj, applied, field_type)
    return header | {name: value for name, value in merged.items() if name not in header}


def _check_typed(
    obj: Object, field_type: FieldType, role: str, *, allow_duplicates: bool = False
) -> None:
    try:
        check_value(obj, field_type, allow_duplicates=allow_duplicates)
    except TypedValueError as error:
        raise ExpressionError(
            f"error applying patch: failed to convert {role} object to typed object: {error}"
        ) from error


def _atomics(value: Any, field_type: FieldType | None, path: str) -> Iterator[str]:
    """Yield the paths of lists and maps that are one field each."""
    if field_type is None:
        return
    if isinstance(value, dict) and (map_type := field_type.map) is not None:
        if map_type.atomic:
            yield path
        for name, member in value.items():
            yield from _atomics(member, map_type.declared(name), f"{path}.{name}")
    elif isinstance(value, list) and (list_type := field_type.list) is not None:
        if list_type.atomic:
            yield path
        for index, item in enumerate(value):
            yield from _atomics(item, list_type.element, f"{path}[{index}]")


def _plain(value: Any, type_name: str) -> Any:
    """Return the JSON of a value; made objects must have the type of the field that they are in.

    Raises:
        ExpressionError: an object is of another type, or a value has no JSON.
    """
    if isinstance(value, ObjectValue):
        found = value.cel_type.name
        if type_name != "JSONPatch" and found != type_name and type_name:
            raise ExpressionError(
                f'type mismatch: unexpected type name "{found}", expected "{type_name}", which '
                "matches field name path from root Object type"
            )
        base = "" if found == "JSONPatch" else found
        return {
            name: _plain(member, f"{base}.{name}" if base else "") for name, member in value.items()
        }
    if isinstance(value, dict):
        return {str(name): _plain(member, type_name) for name, member in value.items()}
    if isinstance(value, list):
        return [_plain(item, type_name) for item in value]
    if isinstance(value, Optional):
        raise ExpressionError("type mismatch: an optional value has no JSON")
    if value is None or isinstance(value, str | bool | float):
        return value
    return int(value) if isinstance(value, int) else str(value)
