"""Who wrote which field: ``managedFields`` kept with every write, and server-side apply.

Promises: each write through any verb updates the owners of the fields it changed; an apply merges
by the kind's type and refuses to take fields from others.

Upstream: apiserver ``endpoints/handlers/fieldmanager``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from clientgo.apiserver.resources.resource import Resource
from clientgo.apiserver.resources.status_errors import StatusError, bad_request, internal
from clientgo.apiserver.storage.storage import Object, encode
from clientgo.meta.errors import BadRequestError
from clientgo.meta.managed_fields import (
    ApplyConflictError,
    FieldManager,
    ManagedFieldsError,
    TypedValueError,
)


class Ownership:
    """The field managers of all resources, made when first needed."""

    def __init__(self, now: Callable[[], float], timestamp: Callable[[], str]) -> None:
        self._now = now
        self._timestamp = timestamp
        self._managers: dict[tuple[Resource, str], FieldManager] = {}
        self._entries_of_new: dict[Hashable, list[Object]] = {}
        """``managedFields`` of new objects by their shape, without times."""
        self._created: dict[Hashable, list[Object]] = {}

    def forget(self, group: str, plural: str) -> None:
        """Drop the managers of a resource whose definition has changed."""
        self._entries_of_new.clear()
        for key in list(self._managers):
            if (key[0].group, key[0].plural) == (group, plural):
                del self._managers[key]

    def _manager(self, resource: Resource, subresource: str) -> FieldManager:
        manager = self._managers.get((resource, subresource))
        if manager is None:
            manager = self._managers[resource, subresource] = FieldManager(
                api_version=resource.api_version,
                kind=resource.kind,
                types=resource.strategy.field_type,
                subresource=subresource,
                reset_fields=resource.strategy.reset_fields(subresource),
                now=self._now,
            )
        return manager

    def update(
        self, resource: Resource, subresource: str, old: Object | None, new: Object, writer: str
    ) -> Object:
        """``new`` with the owners of its fields after a create, update or patch."""
        if old is None and "managedFields" not in new["metadata"]:
            return self._own_new(resource, new, writer)
        live = _empty(resource) if old is None else old
        return self._update(resource, subresource, live, new, writer)

    def _update(
        self, resource: Resource, subresource: str, live: Object, new: Object, writer: str
    ) -> Object:
        try:
            return self._manager(resource, subresource).update(live, new, writer)
        except TypedValueError:
            return new  # what doesn't fit its type is refused by validation, not here

    def _own_new(self, resource: Resource, new: Object, writer: str) -> Object:
        """Give all fields of a new object to its writer.

        Objects of one shape have the same entries, and most new objects have the shape of one
        before; working the entries out takes longer than all else that a create does. Large objects
        are few, and not worth the memory.
        """
        if len(encode(new)) > _LARGE_OBJECT:
            return self._update(resource, "", _empty(resource), new, writer)
        key = (resource, writer, _shape(new))
        entries = self._entries_of_new.get(key)
        if entries is None:
            owned = self._update(resource, "", _empty(resource), new, writer)
            entries = owned["metadata"].get("managedFields", [])
            if len(self._entries_of_new) >= _REMEMBERED_SHAPES:
                self._entries_of_new.clear()
            self._entries_of_new[key] = entries
        if entries:
            time = self._timestamp()
            new["metadata"]["managedFields"] = [entry | {"time": time} for entry in entries]
        return new

    def apply(
        self,
        resource: Resource,
        subresource: str,
        old: Object | None,
        config: Object,
        writer: str,
        *,
        force: bool,
    ) -> Object:
        """The state that an apply of ``config`` leads to; ``old`` is None if it creates.

        Raises:
            StatusError: 409 for fields of others, 400 for another type, 500 for a misfit, as a
                real API server answers.
        """
        live = _empty(resource) if old is None else old
        manager = self._manager(resource, subresource)
        try:
            return manager.apply(live, config, writer, force=force)
        except ApplyConflictError as error:
            raise _conflict(error) from error
        except BadRequestError as error:
            raise bad_request(str(error)) from error
        except (TypedValueError, ManagedFieldsError) as error:
            raise internal(str(error)) from error


_REMEMBERED_SHAPES = 512
_LARGE_OBJECT = 32 * 1024
"""Bytes, of which an object has more whose shape is not remembered."""


def _shape(value: Any) -> Hashable:
    """What of a value decides on its fields: names and types; of lists everything."""
    if isinstance(value, dict):
        return tuple((key, _shape(member)) for key, member in value.items())
    if isinstance(value, list):
        return encode(value)
    return type(value).__name__


def _empty(resource: Resource) -> Object:
    return {"apiVersion": resource.api_version, "kind": resource.kind}


def _conflict(error: ApplyConflictError) -> StatusError:
    details = error.status.details
    causes = [
        {"reason": cause.reason, "message": cause.message, "field": cause.field_}
        for cause in (details.causes if details else ())
    ]
    return StatusError(409, "Conflict", error.status.message, {"causes": causes})


def without_times(obj: Object) -> Any:
    """An object without the times of its field owners: these alone are no change."""
    metadata = obj["metadata"]
    if "managedFields" not in metadata:
        return obj
    entries = [
        {key: value for key, value in entry.items() if key != "time"}
        for entry in metadata["managedFields"]
    ]
    return obj | {"metadata": metadata | {"managedFields": entries}}
