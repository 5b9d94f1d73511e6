"""Values together with their types: are they legal, and which fields do they set?

Promises: `check_value` finds everything that keeps a value from being walked as its type says, and
`fields_of` returns the fields that a value sets.

Upstream: ``TypedValue.Validate`` and ``ToFieldSet`` in ``sigs.k8s.io/structured-merge-diff/typed``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from clientgo.meta.json_values import JSONValue
from clientgo.meta.managed_fields.field_path import (
    Path,
    PathElement,
    field_element,
    format_path,
    index_element,
)
from clientgo.meta.managed_fields.field_set import FieldSet
from clientgo.meta.managed_fields.field_types import FieldType, ListType, MapType, ScalarKind
from clientgo.meta.managed_fields.shapes import (
    ElementError,
    Shape,
    as_list,
    as_map,
    item_element,
    shape_of,
)


class TypedValueError(ValueError):
    """A value does not have the form that its type demands; one line a problem."""


def check_value(value: JSONValue, field_type: FieldType, *, allow_duplicates: bool = False) -> None:
    """Raise `TypedValueError` if `value` is not of `field_type`.

    Items of lists may share their key only if `allow_duplicates` is set: stored objects may have
    such lists, applied ones may not.
    """
    if problems := list(_problems(value, field_type, (), allow_duplicates)):
        raise TypedValueError("\n".join(problems))


def fields_of(value: JSONValue, field_type: FieldType) -> FieldSet:
    """Return the fields that `value`, which is of `field_type`, sets."""
    return FieldSet.of(_paths(value, field_type, ()))


def _problems(
    value: JSONValue, field_type: FieldType, path: Path, allow_duplicates: bool
) -> Iterator[str]:
    if value is None:
        return
    shape = shape_of(value, field_type)
    if shape is Shape.MAP and field_type.map:
        if not isinstance(value, dict):
            yield _problem(path, f"expected map, got {value!r:.80}")
            return
        for name, member in value.items():
            member_type = field_type.map.member(name)
            below = (*path, field_element(name))
            if member_type is None:
                yield _problem(below, "field not declared in schema")
            else:
                yield from _problems(member, member_type, below, allow_duplicates)
    elif shape is Shape.SCALAR and field_type.scalar:
        if not _SCALARS[field_type.scalar](value):
            yield _problem(path, f"expected {field_type.scalar.value}, got {value!r:.80}")
    elif field_type.list:
        if isinstance(value, list):
            yield from _list_problems(value, field_type.list, path, allow_duplicates)
        else:
            yield _problem(path, f"expected list, got {value!r:.80}")


def _list_problems(
    items: list[JSONValue], list_type: ListType, path: Path, allow_duplicates: bool
) -> Iterator[str]:
    seen: set[PathElement] = set()
    for index, item in enumerate(items):
        element = index_element(index)
        if not list_type.atomic:
            try:
                element = item_element(item, list_type)
            except ElementError as error:
                yield _problem(path, f"element {index}: {error}")
                return
            if element in seen and not allow_duplicates:
                yield _problem(path, f"duplicate entries for key {element}")
            seen.add(element)
        yield from _problems(item, list_type.element, (*path, element), allow_duplicates)


def _paths(value: JSONValue, field_type: FieldType, path: Path) -> Iterator[Path]:
    shape = shape_of(value, field_type)
    if shape is Shape.MAP and field_type.map:
        if field_type.map.atomic:
            yield path
        else:
            yield from _map_paths(value, field_type.map, path)
    elif shape is Shape.LIST and field_type.list:
        if field_type.list.atomic:
            yield path
        else:
            yield from _list_paths(as_list(value), field_type.list, path)
    else:
        yield path


def _map_paths(value: JSONValue, map_type: MapType, path: Path) -> Iterator[Path]:
    for name, member in as_map(value).items():
        below = (*path, field_element(name))
        if member_type := map_type.member(name):
            yield from _paths(member, member_type, below)
        if member is None or member == {} or not map_type.declared(name):
            yield below


def _list_paths(items: list[JSONValue], list_type: ListType, path: Path) -> Iterator[Path]:
    elements = [item_element(item, list_type) for item in items]
    counts = Counter(elements)
    for element, item in zip(elements, items, strict=True):
        below = (*path, element)
        yield below
        if counts[element] == 1:
            yield from _paths(item, list_type.element, below)


def _is_number(value: JSONValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_SCALARS: Mapping[ScalarKind, Callable[[JSONValue], bool]] = {
    ScalarKind.ANY: lambda value: isinstance(value, str | int | float),
    ScalarKind.NUMERIC: _is_number,
    ScalarKind.STRING: lambda value: isinstance(value, str),
    ScalarKind.BOOLEAN: lambda value: isinstance(value, bool),
}


def _problem(path: Path, text: str) -> str:
    return f"{format_path(path)}: {text}" if path else text
