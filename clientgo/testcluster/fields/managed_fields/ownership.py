"""Who owns which fields after an apply or an update.

An applier owns what it applies. What it no longer applies is removed unless another manager owns
it. Changing a field of another manager is a conflict for an apply without force, and takes the
field over otherwise. Source: `Updater` in structured-merge-diff/merge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from clientgo.meta.json_values import JSONObject, json_equal
from clientgo.testcluster.fields.managed_fields.compare import Comparison, compare_values
from clientgo.testcluster.fields.managed_fields.conflicts import (
    FieldConflict,
    OwnershipConflictError,
)
from clientgo.testcluster.fields.managed_fields.entries import ManagerId, OwnedFields
from clientgo.testcluster.fields.managed_fields.fields.field_set import EMPTY, FieldSet
from clientgo.testcluster.fields.managed_fields.fields.field_types import FieldType
from clientgo.testcluster.fields.managed_fields.fields.typed_values import (
    TypedValueError,
    check_value,
    fields_of,
)
from clientgo.testcluster.fields.managed_fields.merge import merge_values, remove_fields
from clientgo.testcluster.fields.managed_fields.reconcile import reconcile_fields

Owners = dict[ManagerId, OwnedFields]
TypeLookup = Callable[[str, str], FieldType | None]
"""Returns the type of an API version and kind, or None if there is none (any more)."""
ResetFields = Callable[[str], FieldSet]
"""Returns the fields that the server overwrites at an API version."""


class OwnershipRules:
    """Computes the owners of an object of one kind.

    `ignored` are the fields that are never owned, by API version. Objects are converted between
    versions by writing the other version into them, as for custom resources without a conversion
    webhook.
    """

    def __init__(
        self, types: TypeLookup, api_version: str, kind: str, ignored: ResetFields
    ) -> None:
        field_type = types(api_version, kind)
        if field_type is None:
            raise ValueError(f"there is no type for {api_version}, kind {kind}")
        self.field_type = field_type
        """The type of the objects that the rules are for."""
        self._types = types
        self._version = api_version
        self._kind = kind
        self._ignored = ignored

    def update(
        self,
        live: JSONObject,
        new: JSONObject,
        owners: Mapping[ManagerId, OwnedFields],
        manager: ManagerId,
    ) -> Owners:
        """Return the owners after `manager` has replaced `live` by `new`."""
        result, comparison = self._yield_fields(
            live, new, self._reconciled(owners), manager, force=True
        )
        own = result.pop(manager, OwnedFields(EMPTY, self._version)).fields
        own = (own - comparison.removed) | comparison.modified | comparison.added
        if own := own.without_trees(self._ignored(self._version)):
            result[manager] = OwnedFields(own, self._version)
        return result

    def apply(
        self,
        live: JSONObject,
        config: JSONObject,
        owners: Mapping[ManagerId, OwnedFields],
        manager: ManagerId,
        *,
        force: bool,
    ) -> tuple[JSONObject | None, Owners]:
        """Return the object and its owners after `manager` has applied `config` to `live`.

        The object is None if it is the same as before. Raises `OwnershipConflictError` unless
        `force` is set.
        """
        reconciled = self._reconciled(owners)
        applied = fields_of(config, self.field_type).without_trees(self._ignored(self._version))
        last = reconciled.get(manager)
        reconciled[manager] = OwnedFields(applied, self._version)
        merged: JSONObject = merge_values(live, config, self.field_type)
        new = self._prune(merged, reconciled, manager, last) if last and last.fields else merged
        result, _comparison = self._yield_fields(live, new, reconciled, manager, force=force)
        return (None if json_equal(live, new) else new), result

    def _yield_fields(
        self, live: JSONObject, new: JSONObject, owners: Owners, manager: ManagerId, *, force: bool
    ) -> tuple[Owners, Comparison]:
        """Take from all but `manager` what differs between the objects."""
        comparisons = {self._version: self._compare(live, new, self._version, self.field_type)}
        result: Owners = {}
        conflicts: list[FieldConflict] = []
        for other, ownership in owners.items():
            if other == manager:
                result[other] = ownership
                continue
            version = ownership.api_version
            if version not in comparisons:
                field_type = self._type_at(version, old=live, new=new)
                if field_type is None:
                    continue  # the meaning of the entry is lost
                comparisons[version] = self._compare(live, new, version, field_type)
            comparison = comparisons[version]
            taken = ownership.fields & (comparison.modified | comparison.added)
            conflicts += [FieldConflict(other, path) for path in taken.paths()]
            result[other] = ownership.without(taken).without(comparison.removed)
        if conflicts and not force:
            raise OwnershipConflictError(conflicts)
        left = {other: ownership for other, ownership in result.items() if ownership.fields}
        return left, comparisons[self._version]

    def _compare(
        self, live: JSONObject, new: JSONObject, version: str, field_type: FieldType
    ) -> Comparison:
        return compare_values(live, new, field_type).without_trees(self._ignored(version))

    def _prune(
        self, merged: JSONObject, owners: Owners, manager: ManagerId, last: OwnedFields
    ) -> JSONObject:
        """Remove what was applied last time and is not owned any more."""
        last_type = self._type_at(last.api_version, new=merged)
        if last_type is None or not last.fields - owners[manager].fields:
            return merged
        last_fields = last.fields.with_declared_fields(last_type)
        pruned = remove_fields(merged, last_fields, last_type)
        pruned = self._add_back_owned(merged, pruned, last.api_version, owners)
        # What is gone now although it was not applied last time was unowned: it stays.
        left = fields_of(pruned, last_type).with_declared_fields(last_type)
        before = fields_of(merged, last_type).with_declared_fields(last_type)
        result: JSONObject = remove_fields(merged, (before - left) & last_fields, last_type)
        return result

    def _add_back_owned(
        self, merged: JSONObject, pruned: JSONObject, pruned_version: str, owners: Owners
    ) -> JSONObject:
        owned: dict[str, FieldSet] = {pruned_version: EMPTY}
        for ownership in owners.values():
            version = ownership.api_version
            owned[version] = owned.get(version, EMPTY) | ownership.fields
        for version, fields in owned.items():
            if field_type := self._type_at(version, new=merged):
                before = fields_of(merged, field_type).with_declared_fields(field_type)
                left = fields_of(pruned, field_type).with_declared_fields(field_type)
                kept = left | fields.with_declared_fields(field_type)
                pruned = remove_fields(merged, before - kept, field_type)
        return pruned

    def _type_at(self, version: str, **objects: JSONObject) -> FieldType | None:
        """Return the type of a version, or None if there is none any more.

        Raises `TypedValueError` if one of the objects is not of that type after its conversion.
        """
        field_type = self._types(version, self._kind)
        if field_type is not None and version != self._version:
            for role, obj in objects.items():
                try:
                    check_value(obj, field_type)
                except TypedValueError as error:
                    raise TypedValueError(
                        f"failed to convert {role} object to {version}: {error}"
                    ) from None
        return field_type

    def _reconciled(self, owners: Mapping[ManagerId, OwnedFields]) -> Owners:
        result: Owners = {}
        for manager, ownership in owners.items():
            if field_type := self._type_at(ownership.api_version):
                fields = reconcile_fields(ownership.fields, field_type)
                result[manager] = OwnedFields(fields, ownership.api_version)
        return result
