"""Bringing a stored set of fields in line with a schema that has changed since.

Promises: where a list or map has become atomic, an owner of a part becomes owner of the whole.
The way back, from atomic to granular, needs nothing.

Upstream: ``ReconcileFieldSetWithSchema`` in ``sigs.k8s.io/structured-merge-diff/typed``.
"""

from __future__ import annotations

from collections.abc import Iterator

from clientgo.testcluster.fields.managed_fields.fields.field_path import (
    ElementKind,
    Path,
    PathElement,
)
from clientgo.testcluster.fields.managed_fields.fields.field_set import FieldSet
from clientgo.testcluster.fields.managed_fields.fields.field_types import FieldType


def reconcile_fields(fields: FieldSet, field_type: FieldType) -> FieldSet:
    """Return `fields` as they are to be understood under `field_type`."""
    if fields.in_line_with is field_type:
        return fields
    atomic = FieldSet.of(_atomic_paths(fields, field_type, (), whole=False))
    if atomic:
        return fields.without_trees(atomic) | atomic
    fields.in_line_with = field_type
    return fields


def _atomic_paths(
    fields: FieldSet, field_type: FieldType, path: Path, *, whole: bool
) -> Iterator[Path]:
    """Walk to where `fields` goes into something atomic.

    `whole` says that the field at `path` is a member with nothing below it.
    """
    if map_type := field_type.map:
        if map_type.free_form:
            return
        if map_type.atomic:
            if not whole and fields:
                yield path
            return
        for element in fields.members | fields.children.keys():
            if element.kind is ElementKind.FIELD and (child := map_type.member(element.selector)):
                yield from _below(fields, element, child, path)
    elif (list_type := field_type.list) and not field_type.scalar:
        if list_type.atomic:
            if not whole:
                yield path
            return
        for element in fields.members | fields.children.keys():
            yield from _below(fields, element, list_type.element, path)


def _below(
    fields: FieldSet, element: PathElement, field_type: FieldType, path: Path
) -> Iterator[Path]:
    has_children = element in fields.children
    whole = element in fields.members and not has_children
    return _atomic_paths(fields.below(element), field_type, (*path, element), whole=whole)
