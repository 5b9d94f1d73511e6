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
Convert = Callable[[JSONObject, str], JSONObject]
"""Returns an object in another API version."""


def rewritten(obj: JSONObject, version: str) -> JSONObject:
    """Return an object in a version that differs from its own by name only."""
    return obj | {"apiVersion": version}


class OwnershipRules:
    """Computes the owners of an object of one kind.

    `ignored` are the fields that are never owned, by API version. What owners at other versions
    have is seen in objects that `convert` has converted.
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
        convert: Convert,
    ) -> Owners:
        """Return the owners after `manager` has replaced `live` by `new`."""
        reconciled = self._reconciled(owners)
        _, result, comparison = self._yield_fields(live, new, reconciled, manager, convert)
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
        convert: Convert,
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
        new = merged
        if last and last.fields:
            new = self._prune(merged, reconciled, manager, last, convert)
        conflicts, result, _ = self._yield_fields(live, new, reconciled, manager, convert)
        if conflicts and not force:
            raise OwnershipConflictError(conflicts)
        return (None if json_equal(live, new) else new), result

    def _yield_fields(
        self,
        live: JSONObject,
        new: JSONObject,
        owners: Owners,
        manager: ManagerId,
        convert: Convert,
    ) -> tuple[list[FieldConflict], Owners, Comparison]:
        """Take from all but `manager` what differs between the objects; return what others had."""
        comparisons = {self._version: self._compare(live, new, self._version, self.field_type)}
        result: Owners = {}
        conflicts: list[FieldConflict] = []
        for other, ownership in owners.items():
            if other == manager:
                result[other] = ownership
                continue
            version = ownership.api_version
            if version not in comparisons:
                field_type = self._types(version, self._kind)
                if field_type is None:
                    continue  # the meaning of the entry is lost
                before = self._at(live, version, field_type, "old", convert)
                after = self._at(new, version, field_type, "new", convert)
                comparisons[version] = self._compare(before, after, version, field_type)
            comparison = comparisons[version]
            taken = ownership.fields & (comparison.modified | comparison.added)
            conflicts += [FieldConflict(other, path) for path in taken.paths()]
            result[other] = ownership.without(taken).without(comparison.removed)
        left = {other: ownership for other, ownership in result.items() if ownership.fields}
        return conflicts, left, comparisons[self._version]

    def _compare(
        self, live: JSONObject, new: JSONObject, version: str, field_type: FieldType
    ) -> Comparison:
        return compare_values(live, new, field_type).without_trees(self._ignored(version))

    def _prune(
        self,
        merged: JSONObject,
        owners: Owners,
        manager: ManagerId,
        last: OwnedFields,
        convert: Convert,
    ) -> JSONObject:
        """Remove what was applied last time and is not owned any more."""
        version = last.api_version
        last_type = self._types(version, self._kind)
        is_same = version == self._version and not last.fields - owners[manager].fields
        if last_type is None or is_same:
            return merged
        merged = self._at(merged, version, last_type, "merged", convert)
        last_fields = last.fields.with_declared_fields(last_type)
        pruned = remove_fields(merged, last_fields, last_type)
        pruned = self._add_back_owned(merged, pruned, version, owners, convert)
        pruned = self._at(pruned, version, last_type, "pruned", convert)
        # What is gone now although it was not applied last time was unowned: it stays.
        left = fields_of(pruned, last_type).with_declared_fields(last_type)
        before = fields_of(merged, last_type).with_declared_fields(last_type)
        result: JSONObject = remove_fields(merged, (before - left) & last_fields, last_type)
        return self._at(result, self._version, self.field_type, "pruned", convert)

    def _add_back_owned(
        self,
        merged: JSONObject,
        pruned: JSONObject,
        pruned_version: str,
        owners: Owners,
        convert: Convert,
    ) -> JSONObject:
        owned: dict[str, FieldSet] = {pruned_version: EMPTY}
        for ownership in owners.values():
            version = ownership.api_version
            owned[version] = owned.get(version, EMPTY) | ownership.fields
        for version, fields in owned.items():
            if field_type := self._types(version, self._kind):
                merged = self._at(merged, version, field_type, "merged", convert)
                pruned = self._at(pruned, version, field_type, "pruned", convert)
                before = fields_of(merged, field_type).with_declared_fields(field_type)
                left = fields_of(pruned, field_type).with_declared_fields(field_type)
                kept = left | fields.with_declared_fields(field_type)
                pruned = remove_fields(merged, before - kept, field_type)
        return pruned

    def _at(
        self, obj: JSONObject, version: str, field_type: FieldType, role: str, convert: Convert
    ) -> JSONObject:
        """Return an object in a version.

        Raises `TypedValueError` if it is not of the type of the version then.
        """
        if obj.get("apiVersion", self._version) == version:
            return obj
        converted = convert(obj, version)
        try:
            check_value(converted, field_type)
        except TypedValueError as error:
            problem = f"failed to convert {role} object to {version}: {error}"
            raise TypedValueError(problem) from None
        return converted

    def _reconciled(self, owners: Mapping[ManagerId, OwnedFields]) -> Owners:
        result: Owners = {}
        for manager, ownership in owners.items():
            if field_type := self._types(ownership.api_version, self._kind):
                fields = reconcile_fields(ownership.fields, field_type)
                result[manager] = OwnedFields(fields, ownership.api_version)
        return result
