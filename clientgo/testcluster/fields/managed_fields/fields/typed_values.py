"""Values together with their types: are they legal, and which fields do they set?

Promises: `check_value` finds everything that keeps a value from being walked as its type says, and
`fields_of` returns the fields that a value sets.

Upstream: ``TypedValue.Validate`` and ``ToFieldSet`` in ``sigs.k8s.io/structured-merge-diff/typed``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from msgspec import Raw

from clientgo.meta.json_values import JSONObject, JSONValue
from clientgo.testcluster.fields.managed_fields.fields.field_path import (
    PathElement,
    field_element,
    index_element,
)
from clientgo.testcluster.fields.managed_fields.fields.field_set import EMPTY, FieldSet
from clientgo.testcluster.fields.managed_fields.fields.field_types import (
    UNTYPED,
    FieldType,
    ListType,
    MapType,
    ScalarKind,
)
from clientgo.testcluster.fields.managed_fields.fields.shapes import (
    ElementError,
    Shape,
    as_list,
    as_map,
    item_element,
    shape_of,
)
from clientgo.util.copies import CopyableError


class TypedValueError(CopyableError, ValueError):
    """A value does not have the form that its type demands; one line a problem."""


def check_value(value: JSONValue, field_type: FieldType, *, allow_duplicates: bool = False) -> None:
    """Raise `TypedValueError` if `value` is not of `field_type`.

    Items of lists may share their key only if `allow_duplicates` is set: stored objects may have
    such lists, applied ones may not.
    """
    if problems := _problems(value, field_type, allow_duplicates):
        raise TypedValueError("\n".join(f"{where}: {text}" for where, text in problems))


def fields_of(value: JSONValue, field_type: FieldType) -> FieldSet:
    """Return the fields that `value`, which is of `field_type`, sets."""
    return _fields(value, field_type) or EMPTY


_Problem = tuple[str, str]
"""Where something is wrong, below the value in question, and what."""


def _problems(
    value: JSONValue, field_type: FieldType, allow_duplicates: bool
) -> Sequence[_Problem]:
    if value is None:
        return ()
    if isinstance(value, dict):
        if map_type := field_type.map:
            return _map_problems(value, map_type, allow_duplicates)
    elif isinstance(value, list):
        if list_type := field_type.list:
            return _list_problems(value, list_type, allow_duplicates)
    elif scalar := field_type.scalar:
        if _SCALARS[scalar](value):
            return ()
        return [("", f"expected {scalar.value}, got {value!r:.80}")]
    expected = "map" if field_type.map else "list" if field_type.list else "scalar"
    return [("", f"expected {expected}, got {value!r:.80}")]


def _map_problems(
    value: JSONObject, map_type: MapType, allow_duplicates: bool
) -> Sequence[_Problem]:
    problems: list[_Problem] = []
    for name, member in value.items():
        member_type = map_type.member(name)
        if member_type is None:
            problems.append((f".{name}", "field not declared in schema"))
        elif below := _problems(member, member_type, allow_duplicates):
            problems += ((f".{name}{where}", text) for where, text in below)
    return problems


def _list_problems(
    items: list[JSONValue], list_type: ListType, allow_duplicates: bool
) -> Sequence[_Problem]:
    problems: list[_Problem] = []
    seen: set[PathElement] = set()
    for index, item in enumerate(items):
        element = index_element(index)
        if not list_type.atomic:
            try:
                element = item_element(item, list_type)
            except ElementError as error:
                return [*problems, ("", f"element {index}: {error}")]
            if element in seen and not allow_duplicates:
                problems.append(("", f"duplicate entries for key {element}"))
            seen.add(element)
        if below := _problems(item, list_type.element, allow_duplicates):
            problems += ((f"{element}{where}", text) for where, text in below)
    return problems


def _fields(value: JSONValue, field_type: FieldType) -> FieldSet | None:
    """Return the fields in `value`, or None if it is one field itself."""
    shape = shape_of(value, field_type)
    if shape is Shape.MAP and (map_type := field_type.map):
        return None if map_type.atomic else _map_fields(as_map(value), map_type)
    if shape is Shape.LIST and (list_type := field_type.list):
        return None if list_type.atomic else _list_fields(as_list(value), list_type)
    return None


def _map_fields(value: JSONObject, map_type: MapType) -> FieldSet:
    members, children = set(), {}
    for name, member in value.items():
        element = field_element(name)
        below = _fields(member, map_type.member(name) or UNTYPED)
        if below:
            children[element] = below
        if below is None or member is None or member == {} or not map_type.declared(name):
            members.add(element)
    return FieldSet(frozenset(members), children)


def _list_fields(items: list[JSONValue], list_type: ListType) -> FieldSet:
    elements = [item_element(item, list_type) for item in items]
    counts = Counter(elements)
    children = {}
    for element, item in zip(elements, items, strict=True):
        if counts[element] == 1 and (below := _fields(item, list_type.element)):
            children[element] = below
    return FieldSet(frozenset(elements), children)


def _is_number(value: JSONValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_SCALARS: Mapping[ScalarKind, Callable[[JSONValue], bool]] = {
    # Raw is what a server keeps as JSON, because it is nested deeply.
    ScalarKind.ANY: lambda value: isinstance(value, str | int | float | Raw),
    ScalarKind.NUMERIC: _is_number,
    ScalarKind.STRING: lambda value: isinstance(value, str),
    ScalarKind.BOOLEAN: lambda value: isinstance(value, bool),
}
