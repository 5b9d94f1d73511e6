"""Field ownership: ``managedFields`` of every write, and server-side apply.

Promises: each write updates the owners of the fields that it changes; an apply merges by the kind's
type and refuses to take fields from other managers. Thread-safe.

Upstream: apiserver ``endpoints/handlers/fieldmanager``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, Final, TypeVar

from clientgo.meta.errors import BadRequestError
from clientgo.testcluster.fields.managed_fields import (
    UNTYPED,
    ApplyConflictError,
    Convert,
    FieldManager,
    FieldType,
    ManagedFieldsError,
    TypedValueError,
    rewritten,
)
from clientgo.testcluster.server.objects.large_work import WorkOn
from clientgo.testcluster.server.resources.conversion import Converter
from clientgo.testcluster.server.resources.errors import FailedRequestError, bad_request, internal
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.deep_values import encode
from clientgo.testcluster.server.storage.storage import Object

T = TypeVar("T")


class Ownership:
    """The field managers of all resources, created when first needed."""

    def __init__(self, now: Callable[[], float], timestamp: Callable[[], str]) -> None:
        self._now = now
        self._timestamp = timestamp
        self._managers: dict[tuple[Resource, str], FieldManager] = {}
        self._entries_of_new: dict[Hashable, list[Object]] = {}
        """``managedFields`` of new objects by their shape, without times."""
        self._lock = threading.Lock()
        """Guards both."""

    def forget(self, group: str, plural: str) -> None:
        """Remove the managers of a resource whose definition has changed."""
        with self._lock:
            self._entries_of_new.clear()
            for key in list(self._managers):
                if (key[0].group, key[0].plural) == (group, plural):
                    del self._managers[key]

    def _manager(self, resource: Resource, subresource: str) -> FieldManager:
        with self._lock:
            manager = self._managers.get((resource, subresource))
            if manager is None:
                manager = self._managers[resource, subresource] = FieldManager(
                    api_version=resource.api_version,
                    kind=resource.kind,
                    types=resource.strategy.field_type,
                    subresource=subresource,
                    reset_fields=partial(resource.strategy.reset_fields, subresource),
                    empty=resource.strategy.empty_object(resource),
                    now=self._now,
                )
            return manager

    def update(
        self,
        resource: Resource,
        subresource: str,
        old: Object | None,
        new: Object,
        writer: str,
        convert: Convert = rewritten,
        *,
        is_large: bool,
    ) -> Object:
        """Return ``new`` with the owners of its fields after a create, update or patch.

        If an object can't be converted for an owner at another version, the owners stay.
        """
        if old is None and "managedFields" not in new["metadata"] and not is_large:
            return self._own_new(resource, new, writer)
        live = resource.strategy.empty_object(resource) if old is None else old
        if subresource == "scale" and (fields := resource.strategy.scale_fields):
            path = fields.spec_replicas
            entries = live["metadata"].get("managedFields", [])
            if not any(_owns(entry.get("fieldsV1"), path) for entry in entries):
                return new  # as of an object without owners
            live, shown = _without_zero(live, path), _without_zero(new, path)
            owned = self._update(resource, subresource, live, shown, writer, convert)
            return new | {"metadata": owned["metadata"]}
        return self._update(resource, subresource, live, new, writer, convert)

    def _update(
        self,
        resource: Resource,
        subresource: str,
        live: Object,
        new: Object,
        writer: str,
        convert: Convert = rewritten,
    ) -> Object:
        try:
            return self._manager(resource, subresource).update(live, new, writer, convert)
        except _ConversionFailedError:
            owners = live.get("metadata", {}).get("managedFields")
            kept = {key: value for key, value in new["metadata"].items() if key != "managedFields"}
            return new | {"metadata": kept | ({"managedFields": owners} if owners else {})}
        except TypedValueError:
            # Most of what does not fit its type is refused later. For the rest nothing is known of
            # its owners, and entries that the client has sent were not checked.
            kept = {key: value for key, value in new["metadata"].items() if key != "managedFields"}
            return new | {"metadata": kept}

    def _own_new(self, resource: Resource, new: Object, writer: str) -> Object:
        """Return a new object whose fields are all owned by its writer.

        Objects of one shape have the same entries, and computing these takes longer than the rest
        of a create; so they are cached by shape, except for large objects. The shape by the type is
        slower to find, and does not depend on the items of lists that are one field. What a new
        object has like an empty one, as numbers that are 0, has no owner.
        """
        empty = resource.strategy.empty_object(resource)
        zeros = _zeros(empty, new)
        key = (resource, writer, zeros, _shape(new))
        entries = self._remembered(key)
        if entries is None:
            field_type = resource.strategy.field_type(new["apiVersion"], new["kind"]) or UNTYPED
            typed_key = (resource, writer, zeros, _typed_shape(new, field_type))
            entries = self._remembered(typed_key)
            if entries is None:
                owned = self._update(resource, "", empty, new, writer)
                entries = owned["metadata"].get("managedFields", [])
                self._remember(typed_key, entries)
            self._remember(key, entries)
        if entries:
            time = self._timestamp()
            new["metadata"]["managedFields"] = [entry | {"time": time} for entry in entries]
        return new

    def _remembered(self, key: Hashable) -> list[Object] | None:
        with self._lock:
            return self._entries_of_new.get(key)

    def _remember(self, key: Hashable, entries: list[Object]) -> None:
        with self._lock:
            if len(self._entries_of_new) >= _REMEMBERED_SHAPES:
                self._entries_of_new.clear()
            self._entries_of_new[key] = entries

    def apply(
        self,
        resource: Resource,
        subresource: str,
        old: Object | None,
        config: Object,
        writer: str,
        convert: Convert = rewritten,
        *,
        force: bool,
    ) -> Object:
        """Return the state that an apply of ``config`` makes of ``old``, if there is one.

        Raises:
            FailedRequestError: 409 for fields of other managers, 400 for another type, 500 if the
                configuration does not fit the type or an object can't be converted, as on a real
                API server.
        """
        live = resource.strategy.empty_object(resource) if old is None else old
        manager = self._manager(resource, subresource)
        try:
            return manager.apply(live, config, writer, force=force, convert=convert)
        except ApplyConflictError as error:
            raise _conflict(error) from error
        except BadRequestError as error:
            raise bad_request(str(error)) from error
        except (TypedValueError, ManagedFieldsError, _ConversionFailedError) as error:
            raise internal(str(error)) from error


def _zeros(empty: Any, new: Any) -> Hashable:
    """Return which values of an empty object a new one has."""
    if isinstance(empty, dict) and isinstance(new, dict):
        return tuple(_zeros(value, new.get(name)) for name, value in empty.items())
    same: bool = new == empty
    return same


def _owns(fields: Any, path: tuple[str, ...]) -> bool:
    """Return True if an entry of ``managedFields`` has a field."""
    for name in path:
        fields = fields.get(f"f:{name}") if isinstance(fields, dict) else None
    return fields is not None


def _without_zero(obj: Object, path: tuple[str, ...]) -> Object:
    """Return an object without the replicas at a path if they are 0, which a Scale leaves out."""
    name, *rest = path
    if rest and isinstance(member := obj.get(name), dict):
        return obj | {name: _without_zero(member, tuple(rest))}
    return {key: value for key, value in obj.items() if key != name or value != 0 or rest}


# -- owners at other versions


class _ConversionFailedError(Exception):
    """An object can't be converted; the message says why."""


class _ConversionNeededError(Exception):
    def __init__(self, obj: Object, api_version: str) -> None:
        super().__init__(api_version)
        self.obj = obj
        self.api_version = api_version


async def with_conversions(resource: Resource, work: WorkOn, step: Callable[[Convert], T]) -> T:
    """Return what ``step`` returns; it gets what converts objects for owners at other versions.

    Where it needs an object in another version, it is interrupted, the webhook is asked, and it
    starts again. Each object is converted once.

    Upstream: ``versionConverter`` in k8s.io/apimachinery/pkg/util/managedfields.
    """
    if resource.converter is None:
        return await work.run(step, rewritten)
    conversions = _Conversions(resource.converter)
    while True:
        try:
            return await work.run(step, conversions.converted)
        except _ConversionNeededError as needed:
            await conversions.convert(needed.obj, needed.api_version)


class _Conversions:
    def __init__(self, converter: Converter) -> None:
        self._converter = converter
        self._known: dict[tuple[bytes, str], Object | FailedRequestError] = {}

    def converted(self, obj: Object, api_version: str) -> Object:
        if "metadata" not in obj:  # no object yet
            return rewritten(obj, api_version)
        found = self._known.get((encode(obj), api_version))
        if found is None:
            raise _ConversionNeededError(obj, api_version)
        if isinstance(found, FailedRequestError):
            raise _ConversionFailedError(found.message) from found
        return found

    async def convert(self, obj: Object, api_version: str) -> None:
        key = (encode(obj), api_version)
        try:
            [self._known[key]] = await self._converter.convert([obj], api_version)
        except FailedRequestError as error:
            self._known[key] = error


# -- the shapes of new objects

_REMEMBERED_SHAPES = 512


_LEAVES: Final = frozenset({str, int, float, bool, type(None)})


def _shape(value: Any) -> Hashable:
    """Return what decides on a value's fields: names and types; lists completely."""
    if isinstance(value, dict):
        return tuple(
            [
                (key, type(member) if type(member) in _LEAVES else _shape(member))
                for key, member in value.items()
            ]
        )
    if isinstance(value, list):
        return encode(value)
    return type(value).__name__


def _typed_shape(value: Any, field_type: FieldType) -> Hashable:
    """Return what decides on a value's fields if it is of a type."""
    if isinstance(value, dict) and (map_type := field_type.map):
        return tuple(
            [
                (key, _typed_shape(member, map_type.member(key) or UNTYPED))
                for key, member in value.items()
            ]
        )
    if isinstance(value, list) and (list_type := field_type.list):
        if list_type.atomic:
            return tuple([_typed_shape(item, list_type.element) for item in value])
        if list_type.keys and all(isinstance(item, dict) for item in value):
            return tuple(
                [
                    (
                        encode([item.get(key) for key in list_type.keys]),
                        _typed_shape(item, list_type.element),
                    )
                    for item in value
                ]
            )
    return encode(value) if isinstance(value, dict | list) else type(value).__name__


def _conflict(error: ApplyConflictError) -> FailedRequestError:
    details = error.status.details
    causes = [
        {"reason": cause.reason, "message": cause.message, "field": cause.field_}
        for cause in (details.causes if details else ())
    ]
    return FailedRequestError(409, "Conflict", error.status.message, {"causes": causes})


def without_times(obj: Object) -> Any:
    """Return an object without the times of its field owners, which alone are no change."""
    metadata = obj["metadata"]
    if "managedFields" not in metadata:
        return obj
    entries = [
        {key: value for key, value in entry.items() if key != "time"}
        for entry in metadata["managedFields"]
    ]
    return obj | {"metadata": metadata | {"managedFields": entries}}
