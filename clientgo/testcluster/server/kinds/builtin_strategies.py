"""How built-in kinds behave in a write: the general cases.

Promises: an object is read by its published type; a status is written through its subresource only;
`generations` says which kinds have a generation. Kinds with rules of their own are in the modules
beside this one.

Does not promise all of upstream's validation, which is written by hand for each kind.

Upstream: ``pkg/registry/<group>/<resource>/strategy.go``.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.fields.managed_fields import FieldSet, FieldType, field_path
from clientgo.testcluster.fields.strategic_merge import PatchSchema
from clientgo.testcluster.schema.field_types import builtin_field_type
from clientgo.testcluster.schema.openapi import OpenAPIType, builtin_type
from clientgo.testcluster.server.kinds.disabled_fields import drop_disabled_fields
from clientgo.testcluster.server.kinds.generations import (
    COUNTED_FROM_0,
    GENERATION_FIELDS,
    raises_generation,
)
from clientgo.testcluster.server.kinds.metadata_checks import metadata_checks
from clientgo.testcluster.server.kinds.typed_objects import (
    TypeMismatchError,
    read_typed,
    validate_typed,
    zero_value,
)
from clientgo.testcluster.server.kinds.warnings import field_warnings, status_field_warnings
from clientgo.testcluster.server.resources.errors import (
    FailedRequestError,
    bad_request,
    internal,
)
from clientgo.testcluster.server.resources.resource_type import ResourceType
from clientgo.testcluster.server.resources.strategy import Decoded, Strategy
from clientgo.testcluster.server.storage.storage import Object

if TYPE_CHECKING:
    from clientgo.testcluster.server.kinds.tables.builtin_table import BuiltinTable

_STATUS = FieldSet.of([field_path("status")])
_ZEROS: Mapping[str | None, int | bool] = {"integer": 0, "boolean": False}


_LABELS = ("labels",)
_METADATA = ("labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp")
_KEPT_BY_STATUS: Mapping[str, tuple[str, ...]] = {
    "CustomResourceDefinition": _LABELS,
    "Deployment": _LABELS,
    "FlowSchema": _METADATA,
    "Pod": ("ownerReferences", "deletionTimestamp"),
    "PriorityLevelConfiguration": _METADATA,
    "ServiceCIDR": _METADATA,
    "ValidatingAdmissionPolicy": _METADATA,
    "VolumeAttachment": _METADATA,
}
"""Metadata that a write to the status can't change, by kind."""


class BuiltinStrategy(Strategy):
    """A kind without rules of its own."""

    def __init__(self, api_version: str, kind: str) -> None:
        self.api_version = api_version
        self.kind = kind
        self.counts_generations = kind in GENERATION_FIELDS
        self.starts_generation = self.counts_generations and kind not in COUNTED_FROM_0
        self.metadata_checks = metadata_checks(api_version, kind)

    @functools.cached_property
    def table(self) -> BuiltinTable:
        """Return the table of the kind; it is loaded when the first object is written."""
        from clientgo.testcluster.server.kinds.tables.builtin_table import (
            builtin_table,  # slow to import
        )

        return builtin_table(self.api_version, self.kind)

    @functools.cached_property
    def openapi_type(self) -> OpenAPIType | None:
        """Return the published type; it is loaded when the first object is written."""
        return builtin_type(self.api_version, self.kind)

    @property
    def patch_schema(self) -> PatchSchema | None:
        """Return the published type, which has the merge keys."""
        return self.openapi_type

    def field_type(self, api_version: str, kind: str) -> FieldType | None:
        """Return the type for server-side apply."""
        return builtin_field_type(api_version, kind)

    def decode(self, resource: ResourceType, obj: Object) -> Decoded:
        """Read an object by its published type, then set defaults.

        Raises:
            FailedRequestError: 400, a field has the wrong type.
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
        self.set_table_defaults(read)
        self.default(read)
        return Decoded(read, unknown)

    def decode_applied(self, resource: ResourceType, obj: Object) -> Decoded:
        """Read an object that server-side apply has merged.

        Raises:
            FailedRequestError: 500, a field has the wrong type, as on a real API server.
        """
        try:
            return self.decode(resource, obj)
        except FailedRequestError as error:
            metadata = obj["metadata"]
            name = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
            group, _, version = self.api_version.rpartition("/")
            kind = f"{group}/{version}, Kind={self.kind}"
            raise internal(
                f"failed to convert new object ({name}; {kind}) to proper version: unable to "
                f"convert unstructured object to {kind}: {error}"
            ) from error

    def set_table_defaults(self, obj: Object, *, status_only: bool = False) -> None:
        """Set the defaults of the table in an object, or in its status only, in place."""
        if status_only:
            self.table.set_status_defaults(obj)
        else:
            self.table.set_defaults(obj)

    def default(self, obj: Object) -> None:
        """Set the defaults that the table can't say, in place."""

    def drop_disabled(self, obj: Object) -> None:
        """Remove the fields of features that are off by default, in place."""
        drop_disabled_fields(self.kind, obj)

    def empty_object(self, resource: ResourceType) -> Object:
        """Return an object with the fields that are always there."""
        obj = super().empty_object(resource)
        return obj | zero_value(self.openapi_type) if self.openapi_type else obj

    def spec_changed(self, new: Object, old: Object) -> bool:
        """Return True if a field has changed that raises the kind's generation."""
        return raises_generation(self.kind, new, old)

    def validate(self, obj: Object) -> list[FieldError]:
        """Return the errors of a new object: those of the table, and the kind's own."""
        if self.table.exists:
            return self.table.validate(obj) + self.own_errors(obj)
        missing = validate_typed(obj, self.openapi_type) if self.openapi_type else []
        return missing + self.own_errors(obj)

    def own_errors(self, obj: Object) -> list[FieldError]:
        """Return the errors that the table can't say."""
        return []

    def validate_update(self, new: Object, old: Object) -> list[FieldError]:
        """Return the errors of the new state and of the change."""
        if self.table.exists:
            errors = self.table.validate(new, old) + self.own_errors(new)
        else:
            errors = self.validate(new)
        return errors + self.validate_change(new, old)

    def validate_change(self, new: Object, old: Object) -> list[FieldError]:
        """Return the errors of the change that the table can't say."""
        return []

    def validate_status_update(self, new: Object, old: Object) -> list[FieldError]:
        """Return the errors of a status."""
        return self.table.validate_status(new, old)

    def warnings(self, new: Object, old: Object | None) -> list[str]:
        """Return what the table of warnings says of the fields."""
        return field_warnings(self.kind, new)

    def status_warnings(self, new: Object, old: Object) -> list[str]:
        """Return what the table of warnings says of the status."""
        return status_field_warnings(self.kind, new)


class StatusStrategy(BuiltinStrategy):
    """A kind with a status subresource."""

    def validate(self, obj: Object) -> list[FieldError]:
        """Return the errors of a new object; only a table has rules for its status."""
        errors = super().validate(obj)
        if self.table.exists:
            return errors
        return [error for error in errors if not error.field.startswith("status.")]

    def prepare_for_create(self, obj: Object) -> None:
        """Replace the status by the initial one."""
        obj["status"] = self.initial_status(obj)
        self.set_table_defaults(obj, status_only=True)

    def decode(self, resource: ResourceType, obj: Object) -> Decoded:
        """Read an object by its published type; add the zeros that a status always has.

        Raises:
            FailedRequestError: 400, a field has the wrong type.
        """
        decoded = super().decode(resource, obj)
        if "status" in decoded.obj:
            decoded.obj["status"] = {**self._zero_status, **decoded.obj["status"]}
        return decoded

    def initial_status(self, obj: Object) -> Object:
        """Return the status of a new object."""
        return dict(self._zero_status)

    @functools.cached_property
    def _zero_status(self) -> Mapping[str, int | bool]:
        """Return the required numbers and flags of the status, with their zero values."""
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

    def reset_fields(self, subresource: str, api_version: str) -> FieldSet:
        """Return the status for the main resource, the spec for the status."""
        if subresource != "status":
            return _STATUS
        kept = (field_path("metadata", name) for name in _KEPT_BY_STATUS.get(self.kind, ()))
        return FieldSet.of([field_path("spec"), *kept])

    def prepare_for_status_update(self, new: Object, old: Object) -> None:
        """Keep everything except the status and most metadata."""
        for key in (new.keys() | old.keys()) - {"apiVersion", "kind", "metadata", "status"}:
            take(new, old, key)
        for key in _KEPT_BY_STATUS.get(self.kind, ()):
            take(new["metadata"], old["metadata"], key)


def take(new: Object, old: Object, key: str) -> None:
    """Copy a field from ``old``; remove it if ``old`` does not have it."""
    if key in old:
        new[key] = old[key]
    else:
        new.pop(key, None)
