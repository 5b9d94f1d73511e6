"""Server-side apply, and the ownership records of every other write, as an API server does them.

Promises: `apply` and `update` take the live object and the sent one, and return the object to
store with its `metadata.managedFields`. Arguments stay unchanged. Immutable and thread-safe; make
one for each kind, version and subresource.

Does not default, validate or admit: a server does that. Source: `FieldManager` in
k8s.io/apimachinery/pkg/util/managedfields, a chain of nine managers there, a sequence here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from clientgo.meta.errors import BadRequestError
from clientgo.meta.json_values import JSONObject, copy_json
from clientgo.meta.nesting import refuses_too_deep
from clientgo.meta.repeated_values import RepeatedValues, value_key
from clientgo.meta.timestamps import format_time
from clientgo.testcluster.fields.managed_fields.conflicts import (
    ApplyConflictError,
    OwnershipConflictError,
)
from clientgo.testcluster.fields.managed_fields.entries import (
    APPLY,
    UPDATE,
    ManagedFieldsError,
    ManagerId,
    Managers,
    OwnedFields,
    decode_managers,
    encode_managers,
    seconds_of,
)
from clientgo.testcluster.fields.managed_fields.fields.field_path import field_path
from clientgo.testcluster.fields.managed_fields.fields.field_set import EMPTY, FieldSet
from clientgo.testcluster.fields.managed_fields.fields.field_types import FieldType
from clientgo.testcluster.fields.managed_fields.fields.typed_values import (
    TypedValueError,
    check_value,
)
from clientgo.testcluster.fields.managed_fields.last_applied import (
    allowed_conflicts,
    has_last_applied,
    with_last_applied,
)
from clientgo.testcluster.fields.managed_fields.ownership import (
    Convert,
    OwnershipRules,
    ResetFields,
    TypeLookup,
    rewritten,
)
from clientgo.util.copies import unpicklable

MAX_UPDATE_MANAGERS = 10
"""Entries of updates beyond this number are merged, oldest first; appliers have no limit."""

ANCIENT_CHANGES = "ancient-changes"
BEFORE_FIRST_APPLY = "before-first-apply"
KUBECTL = "kubectl"

UNOWNED = FieldSet.of(
    [
        field_path("apiVersion"),
        field_path("kind"),
        field_path("metadata"),
        *(
            field_path("metadata", name)
            for name in (
                "name",
                "namespace",
                "creationTimestamp",
                "selfLink",
                "uid",
                "clusterName",
                "generation",
                "managedFields",
                "resourceVersion",
            )
        ),
    ]
)
"""What identifies an object has no owner."""


@unpicklable("it holds functions; make one in each process")
class FieldManager:
    """Keeps ``managedFields`` of the objects of one kind, version and subresource."""

    def __init__(
        self,
        *,
        api_version: str,
        kind: str,
        types: TypeLookup,
        subresource: str = "",
        reset_fields: ResetFields = lambda _version: EMPTY,
        empty: JSONObject | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Set up for objects of `kind`.

        `types` returns the type of an API version and kind, or None; it is `DEDUCED` where there
        are no schemas. `reset_fields` returns those that the server overwrites on this subresource,
        and that a client therefore can't own, by API version. `empty` is an object that no field is
        set in, if the kind always writes more than apiVersion and kind. `now` returns Unix seconds.
        Raises ``ValueError`` if there is no type for `api_version` and `kind`.
        """
        self._api_version = api_version
        self._kind = kind
        self._types = types
        self._subresource = subresource
        self._empty = empty or {"apiVersion": api_version, "kind": kind}
        self._rules = OwnershipRules(types, api_version, kind, reset_fields)
        self._valid = _ValidBodies(None)
        self._now = now

    @refuses_too_deep(TypedValueError)
    def update(
        self, live: JSONObject, new: JSONObject, manager: str, convert: Convert = rewritten
    ) -> JSONObject:
        """Return `new` with the owners of its fields after `manager` has written it.

        The result shares its values with `new`, except metadata.
        `live` is the stored object; for a creation, one with nothing but apiVersion and kind.
        An object that was created without owners gets none. `convert` converts the objects for
        owners at other versions; what it raises is raised. Raises `TypedValueError` if an object
        does not fit its type: a server then keeps the ``managedFields`` of `live`.
        """
        managers = self._managers_for_update(live, new)
        live, new = _without_entries(live), _without_entries(new)
        if managers.owners or not _metadata(live).get("uid"):
            managers = self._updated(live, new, managers, manager, convert)
        return _with_entries(new, managers)

    @refuses_too_deep(TypedValueError)
    def apply(
        self,
        live: JSONObject,
        config: JSONObject,
        manager: str,
        *,
        force: bool = False,
        convert: Convert = rewritten,
    ) -> JSONObject:
        """Return `live` with `config` applied to it by `manager`.

        `convert` converts the objects for owners at other versions; what it raises is raised.

        Raises `ApplyConflictError` if that would change what others own and `force` is not set;
        `BadRequestError` if `config` is of another kind or version, or has ``managedFields``;
        `TypedValueError` if it does not fit its type; `ManagedFieldsError` if the entries of `live`
        are malformed.
        """
        self._check_config(config)
        managers = decode_managers(_metadata(live).get("managedFields") or [])
        live = _without_entries(live)
        if not managers.owners:
            managers = self._updated(self._empty, live, managers, BEFORE_FIRST_APPLY, convert)
        apply = partial(self._applied, live, config, managers, manager, convert)
        try:
            applied, managers = apply(force=force)
        except OwnershipConflictError as error:
            conflicts = error.conflicts
            if manager == KUBECTL:
                allowed = allowed_conflicts(live, self._api_version, self._rules.field_type)
                conflicts = tuple(c for c in conflicts if c.path not in allowed)
            if conflicts:
                raise ApplyConflictError(conflicts) from None
            applied, managers = apply(force=True)
        if manager == KUBECTL and has_last_applied(applied):
            applied = with_last_applied(applied, config)
        return _with_entries(copy_json(applied), managers)

    def _managers_for_update(self, live: JSONObject, new: JSONObject) -> Managers:
        """Return the owners that an update starts from.

        A client may send other entries than the live ones, and none at all to forget them. Entries
        that don't decode count as none.
        """
        stored = _metadata(live).get("managedFields") or []
        sent = _metadata(new).get("managedFields")
        if not self._subresource:
            if sent in ([], [{}]):
                return Managers()
            managers = _decoded_or_none(sent or [])
            if managers.owners:
                return managers
        return _decoded_or_none(stored)

    def _updated(
        self,
        live: JSONObject,
        new: JSONObject,
        managers: Managers,
        manager: str,
        convert: Convert,
    ) -> Managers:
        self._check(new, "new")
        self._check(live, "live")
        # Only what this very write changed counts; it joins what the manager changed before.
        operation = ManagerId("current-operation", UPDATE)
        owners = self._rules.update(live, new, managers.owners, operation, convert)
        times = dict(managers.times)
        changed = owners.pop(operation, None)
        if changed and (owned := changed.fields - UNOWNED):
            identity = self._identify(manager, UPDATE)
            before = owners[identity].fields if identity in owners else EMPTY
            owners[identity] = replace(changed, fields=owned | before)
            self._note_time(times, identity)
        return _capped(Managers(owners, times))

    def _applied(
        self,
        live: JSONObject,
        config: JSONObject,
        managers: Managers,
        manager: str,
        convert: Convert,
        *,
        force: bool,
    ) -> tuple[JSONObject, Managers]:
        self._check(config, "patch", allow_duplicates=False)
        self._check(live, "live")
        identity = self._identify(manager, APPLY)
        rules, owned_before = self._rules, managers.owners
        changed, owners = rules.apply(live, config, owned_before, identity, convert, force=force)
        ownership = owners.pop(identity, None)
        if ownership and (owned := ownership.fields - UNOWNED):
            owners[identity] = replace(ownership, fields=owned)
        times = dict(managers.times)
        if changed is not None:
            self._note_time(times, identity)
        return (live if changed is None else changed), Managers(owners, times)

    def _note_time(self, times: dict[ManagerId, str], identity: ManagerId) -> None:
        """Note when a manager has written; upstream forgets it for a scale."""
        if self._subresource != "scale":
            times[identity] = format_time(self._now())

    def _identify(self, manager: str, operation: str) -> ManagerId:
        name = manager or "unknown"
        return ManagerId.of(name, operation, self._api_version, self._subresource)

    def _check_config(self, config: JSONObject) -> None:
        api_version, kind = config.get("apiVersion", ""), config.get("kind", "")
        if (api_version, kind) != (self._api_version, self._kind):
            group, slash, version = str(api_version).rpartition("/")
            raise BadRequestError.of(
                f"invalid object type: {group}{slash or '/'}{version}, Kind={kind}"
            )
        if _metadata(config).get("managedFields") is not None:
            raise BadRequestError.of("metadata.managedFields must be nil")

    def _check(self, obj: JSONObject, role: str, *, allow_duplicates: bool = True) -> None:
        kind = obj.get("kind", "")
        try:
            field_type = self._type_of(kind)
            valid = self._valid
            if field_type is not valid.field_type:
                valid = self._valid = _ValidBodies(field_type)
            valid.check(obj, field_type, allow_duplicates=allow_duplicates)
        except TypedValueError as error:
            metadata = _metadata(obj)
            name = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
            raise TypedValueError(
                f"failed to create typed {role} object "
                f"({name}; {self._api_version}, Kind={kind}): {error}"
            ) from None

    def _type_of(self, kind: str) -> FieldType:
        field_type = self._types(self._api_version, kind)
        if field_type is None:
            raise TypedValueError(f"there is no type for {self._api_version}, kind {kind}")
        return field_type


class _ValidBodies:
    """Checks objects; what is known to be valid beside their metadata is not checked again.

    Most writes leave the body of an object as it is, and it is checked before and after each.
    """

    def __init__(self, field_type: FieldType | None) -> None:
        self.field_type = field_type
        """The type of the known bodies."""
        self._known = RepeatedValues()

    def check(self, obj: JSONObject, field_type: FieldType, *, allow_duplicates: bool) -> None:
        """Raise `TypedValueError` if an object is not of a type."""
        body = {name: value for name, value in obj.items() if name != "metadata"}
        key = value_key([allow_duplicates, body])
        if key in self._known:
            rest = {name: value for name, value in obj.items() if name not in body}
            check_value(rest, field_type, allow_duplicates=allow_duplicates)
        else:
            check_value(obj, field_type, allow_duplicates=allow_duplicates)
            self._known.remember(key)


def _capped(managers: Managers) -> Managers:
    """Merge the oldest entries of updates until there are no more than the maximum."""
    owners, times = dict(managers.owners), dict(managers.times)
    updaters = [manager for manager in owners if not manager.applies]
    excess = len(updaters) - MAX_UPDATE_MANAGERS
    updaters.sort(key=lambda manager: (seconds_of(times.get(manager)), manager))
    first_of_version: dict[str, ManagerId] = {}
    for manager in updaters:
        if excess <= 0:
            break
        version = owners[manager].api_version
        first = first_of_version.setdefault(version, manager)
        if first == manager:
            continue  # two entries are needed to make one of them
        bucket = ManagerId.of(ANCIENT_CHANGES, UPDATE, version, "")
        if bucket not in owners:
            owners[bucket] = owners.pop(first)
        merged = owners.pop(manager).fields | owners[bucket].fields
        owners[bucket] = OwnedFields(merged, version)
        if manager in times:
            times[bucket] = times[manager]
        excess -= 1
    return Managers(owners, times)


def _decoded_or_none(entries: list[Any]) -> Managers:
    try:
        return decode_managers(entries)
    except ManagedFieldsError:
        return Managers()


def _metadata(obj: JSONObject) -> Mapping[str, Any]:
    metadata = obj.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _without_entries(obj: JSONObject) -> JSONObject:
    metadata = {k: v for k, v in _metadata(obj).items() if k != "managedFields"}
    return obj if len(metadata) == len(_metadata(obj)) else obj | {"metadata": metadata}


def _with_entries(obj: JSONObject, managers: Managers) -> JSONObject:
    entries = encode_managers(managers)
    return obj | {"metadata": {**_metadata(obj), "managedFields": entries}} if entries else obj
