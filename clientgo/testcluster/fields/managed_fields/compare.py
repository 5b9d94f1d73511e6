"""Which fields differ between two values of one type.

Promises: every field that differs is added, removed or modified, and only one of these; containers
count as added or removed as a whole besides what is in them.

Upstream: ``Compare`` in ``sigs.k8s.io/structured-merge-diff/typed``.
"""

from __future__ import annotations

from dataclasses import dataclass

from clientgo.meta.json_values import JSONValue, json_equal
from clientgo.meta.repeated_values import value_key
from clientgo.testcluster.fields.managed_fields.fields.field_path import (
    Path,
    PathElement,
    field_element,
)
from clientgo.testcluster.fields.managed_fields.fields.field_set import FieldSet
from clientgo.testcluster.fields.managed_fields.fields.field_types import (
    UNTYPED,
    FieldType,
    ListType,
    MapType,
)
from clientgo.testcluster.fields.managed_fields.fields.shapes import (
    ABSENT,
    Shape,
    as_list,
    as_map,
    item_element,
    shape_of,
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The fields that differ from an old to a new value."""

    added: FieldSet
    modified: FieldSet
    removed: FieldSet

    def without_trees(self, ignored: FieldSet) -> Comparison:
        """Leave out `ignored` fields and everything in them."""
        return Comparison(
            self.added.without_trees(ignored),
            self.modified.without_trees(ignored),
            self.removed.without_trees(ignored),
        )


def compare_values(old: JSONValue, new: JSONValue, field_type: FieldType) -> Comparison:
    """Compare two values that are both of `field_type`."""
    walk = _Walk()
    walk.compare(old, new, field_type, ())
    return Comparison(
        FieldSet.of(walk.added), FieldSet.of(walk.modified), FieldSet.of(walk.removed)
    )


class _Walk:
    def __init__(self) -> None:
        self.added: list[Path] = []
        self.modified: list[Path] = []
        self.removed: list[Path] = []

    def compare(self, old: JSONValue, new: JSONValue, field_type: FieldType, path: Path) -> None:
        if old is ABSENT:
            self.added.append(path)
            self._compare_as(shape_of(new, field_type), old, new, field_type, path)
            return
        before = shape_of(old, field_type)
        self._compare_as(before, old, new, field_type, path)
        if new is ABSENT:
            self.removed.append(path)
        elif (after := shape_of(new, field_type)) is not before:
            # A field that turns from a map into a list loses the fields of the map, too.
            self._compare_as(after, old, new, field_type, path)

    def _compare_as(
        self, shape: Shape, old: JSONValue, new: JSONValue, field_type: FieldType, path: Path
    ) -> None:
        if shape is Shape.MAP and field_type.map and not field_type.map.atomic:
            if as_map(old) or as_map(new):
                self._compare_maps(old, new, field_type.map, path)
                return
        elif (
            shape is Shape.LIST
            and field_type.list
            and not field_type.list.atomic
            and (as_list(old) or as_list(new))
        ):
            self._compare_lists(old, new, field_type.list, path)
            return
        if old is not ABSENT and new is not ABSENT and not json_equal(old, new):
            self.modified.append(path)

    def _compare_maps(self, old: JSONValue, new: JSONValue, map_type: MapType, path: Path) -> None:
        before, after = as_map(old), as_map(new)
        for name in before | after:
            had, has = before.get(name, ABSENT), after.get(name, ABSENT)
            if type(had) is type(has) and type(had) in _SCALAR_TYPES and had == has:
                continue  # most fields are like this
            if type(had) is type(has) and (key := value_key(had)) and key == value_key(has):
                continue
            member_type = map_type.member(name) or UNTYPED
            self.compare(had, has, member_type, (*path, field_element(name)))

    def _compare_lists(
        self, old: JSONValue, new: JSONValue, list_type: ListType, path: Path
    ) -> None:
        before, after = _by_element(old, list_type), _by_element(new, list_type)
        for element in before | after:
            self._compare_items(
                before.get(element, []),
                after.get(element, []),
                list_type.element,
                (*path, element),
            )

    def _compare_items(
        self, old: list[JSONValue], new: list[JSONValue], item_type: FieldType, path: Path
    ) -> None:
        """Compare the items that share a key; several of them are one field together."""
        if len(old) > 1 and len(new) > 1:
            if not json_equal(old, new):
                self.modified.append(path)
        elif len(old) > 1:
            if new:
                self.compare(ABSENT, new[0], item_type, path)
            self.removed.append(path)
        elif len(new) > 1:
            if old:
                self.compare(old[0], ABSENT, item_type, path)
            self.added.append(path)
        else:
            self.compare(old[0] if old else ABSENT, new[0] if new else ABSENT, item_type, path)


_SCALAR_TYPES = frozenset({str, int, float, bool, type(None)})


def _by_element(items: JSONValue, list_type: ListType) -> dict[PathElement, list[JSONValue]]:
    found: dict[PathElement, list[JSONValue]] = {}
    for item in as_list(items):
        found.setdefault(item_element(item, list_type), []).append(item)
    return found
