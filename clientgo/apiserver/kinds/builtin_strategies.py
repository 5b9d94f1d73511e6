"""What built-in kinds demand of a write: the general cases.

Promises: a kind is read by its published type; one with a status has it written through its
subresource only; workloads count generations. Kinds with rules of their own are in ``core_kinds``
and ``other_kinds``.

Does not promise all of upstream's validation, which is written out kind by kind.

Upstream: ``pkg/registry/<group>/<resource>/strategy.go``.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from clientgo.apiserver.kinds.typed_objects import TypeMismatchError, read_typed, validate_typed
from clientgo.apiserver.resources.resource_type import ResourceType
from clientgo.apiserver.resources.status_errors import bad_request
from clientgo.apiserver.resources.strategy import Decoded, FieldReader, Strategy
from clientgo.apiserver.storage.storage import Object
from clientgo.meta.managed_fields import FieldSet, FieldType, field_path
from clientgo.meta.patches.strategic_merge import PatchSchema
from clientgo.schema.field_errors import FieldError
from clientgo.schema.field_types import builtin_field_type
from clientgo.schema.openapi import OpenAPIType, builtin_type

_STATUS = FieldSet.of([field_path("status")])
_SPEC = FieldSet.of([field_path("spec")])
_ZEROS: Mapping[str | None, int | bool] = {"integer": 0, "boolean": False}


class BuiltinStrategy(Strategy):
    """A kind without peculiarities."""

    def __init__(self, api_version: str, kind: str) -> None:
        self.api_version = api_version
        self.kind = kind

    @functools.cached_property
    def openapi_type(self) -> OpenAPIType | None:
        """The published type; loaded when the first object is written."""
        return builtin_type(self.api_version, self.kind)

    @property
    def patch_schema(self) -> PatchSchema | None:
        """The published type tells what merges by which key."""
        return self.openapi_type

    def field_type(self, api_version: str, kind: str) -> FieldType | None:
        """The type for server-side apply."""
        return builtin_field_type(api_version, kind)

    def decode(self, resource: ResourceType, obj: Object) -> Decoded:
        """Read by the published type, then fill in defaults.

        Raises:
            StatusError: 400, a field has the wrong type.
        """
        if self.openapi_type is None:
            return Decoded(obj)
        try:
            read, unknown = read_typed(obj, self.openapi_type)
        except TypeMismatchError as error:
            raise bad_request(
                f'{resource.kind} in version "{resource.version}" cannot be handled as a '
                f"{resource.kind}: {error}"
            ) from error
        self.default(read)
        return Decoded(read, unknown)

    def default(self, obj: Object) -> None:
        """Fill in what the published type does not default, in place."""

    def empty_object(self, resource: ResourceType) -> Object:
        """The object with nothing but what is always there."""
        obj = super().empty_object(resource)
        return read_typed(obj, self.openapi_type)[0] if self.openapi_type else obj

    def validate(self, obj: Object) -> list[FieldError]:
        """Required fields and enumerations."""
        return validate_typed(obj, self.openapi_type) if self.openapi_type else []

    def validate_update(self, new: Object, old: Object) -> list[FieldError]:
        """What is wrong with the new state, and with the change."""
        return self.validate(new) + self.validate_change(new, old)

    def validate_change(self, new: Object, old: Object) -> list[FieldError]:
        """What is wrong with the change as such: fields that can't change."""
        return []


class StatusStrategy(BuiltinStrategy):
    """A kind whose status is written through the status subresource only."""

    def prepare_for_create(self, obj: Object) -> None:
        """Drop the status: nothing has observed the object yet."""
        obj["status"] = self.initial_status(obj)

    def decode(self, resource: ResourceType, obj: Object) -> Decoded:
        """Read by the published type; a status tells what it counts even if that is 0.

        Raises:
            StatusError: 400, a field has the wrong type.
        """
        decoded = super().decode(resource, obj)
        if "status" in decoded.obj:
            decoded.obj["status"] = {**self._zero_status, **decoded.obj["status"]}
        return decoded

    def initial_status(self, obj: Object) -> Object:
        """The status of a new object: nothing has been observed yet."""
        return dict(self._zero_status)

    @functools.cached_property
    def _zero_status(self) -> Mapping[str, int | bool]:
        """The numbers and flags that a status can't be without."""
        status = self.openapi_type and self.openapi_type.field("status")
        if not status:
            return {}
        fields = ((name, status.field(name)) for name in status.node.get("required", ()))
        return {
            name: _ZEROS[field.type] for name, field in fields if field and field.type in _ZEROS
        }

    def prepare_for_update(self, new: Object, old: Object) -> None:
        """Keep the status."""
        take(new, old, "status")

    def reset_fields(self, subresource: str) -> FieldSet:
        """The status belongs to its subresource, the spec to the main resource."""
        return _SPEC if subresource == "status" else _STATUS

    def prepare_for_status_update(self, new: Object, old: Object) -> None:
        """Keep everything but the status and metadata; labels are the main resource's."""
        for key in (new.keys() | old.keys()) - {"apiVersion", "kind", "metadata", "status"}:
            take(new, old, key)
        take(new["metadata"], old["metadata"], "labels")


class WorkloadStrategy(StatusStrategy):
    """A kind with a spec that controllers follow by its generation."""

    counts_generations = True


def take(new: Object, old: Object, key: str) -> None:
    """Make a field of ``new`` what it was in ``old``."""
    if key in old:
        new[key] = old[key]
    else:
        new.pop(key, None)


def text_field(*names: str) -> FieldReader:
    """Reads a field by its names; what is absent counts as empty."""

    def read(obj: Object) -> str:
        value: Any = obj
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, bool):
            return "true" if value else "false"
        return "" if value is None else str(value)

    return read


def text_fields(*paths: str) -> dict[str, FieldReader]:
    """Readers of fields by their dotted paths."""
    return {path: text_field(*path.split(".")) for path in paths}
