"""How one kind of object behaves in a write.

Promises: the writer and the verbs know no kinds. Defaults, the fields that only the server may set,
validation, and when a write raises the generation are decided by the resource's ``Strategy``; this
class has the behaviour of a kind without rules of its own.

Methods that prepare an object change it in place: it belongs to the request.

Upstream: apiserver ``registry/rest`` ``RESTCreateStrategy``, ``RESTUpdateStrategy``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from clientgo.meta.json_values import json_equal
from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.fields.managed_fields import DEDUCED, FieldSet, FieldType
from clientgo.testcluster.fields.strategic_merge import PatchSchema
from clientgo.testcluster.server.resources.columns import AGE, NAME, Column
from clientgo.testcluster.server.resources.errors import bad_request
from clientgo.testcluster.server.resources.names import DNS_SUBDOMAIN, NameRule
from clientgo.testcluster.server.resources.resource_type import ResourceType
from clientgo.testcluster.server.storage.storage import Object

FieldReader = Callable[[Object], str]
"""Returns the value of a selectable field as text."""


class Decoded(msgspec.Struct, frozen=True):
    """An object as its kind reads it, and the fields that the kind does not know."""

    obj: Object
    unknown_fields: tuple[str, ...] = ()


class ScaleFields(msgspec.Struct, frozen=True):
    """Paths of the fields that the ``scale`` subresource shows."""

    spec_replicas: tuple[str, ...]
    status_replicas: tuple[str, ...]
    selector: tuple[str, ...] = ()


class MetadataChecks(msgspec.Struct, frozen=True):
    """How a kind checks metadata in an update, beyond what every kind does.

    A real API server checks some of metadata several times and reports an error each time.
    """

    whole: int = 0
    """How often metadata is checked as that of a new object."""
    changes: int = 1
    """How often the change of metadata is checked."""
    qualified_finalizers: bool = False
    """A finalizer without a domain is an error, unless it is a standard one."""


class Strategy:
    """A kind without rules of its own."""

    allow_unconditional_update = True
    """An update may leave the resourceVersion out."""

    creates_on_update = False
    """An update of an object that does not exist creates it."""

    returns_deleted_object = False
    """A deletion answers the object instead of a Status."""

    counts_generations = False
    """``metadata.generation`` is raised when the spec changes."""

    starts_generation = False
    """``metadata.generation`` of a new object is 1."""

    name_rule: NameRule = DNS_SUBDOMAIN

    metadata_checks = MetadataChecks()

    reported_group: str | None = None
    """Group in messages about invalid objects, if it is not the resource's own."""

    orphans_dependents = False
    """A deletion leaves dependents, unless the client says something else."""

    orphan_warning = ""
    """Of deletions that leave dependents because the client did not say what happens to them."""

    has_dependents = True
    """Objects of the kind can own others; a deletion has a propagation policy."""

    deletion_finalizers: tuple[str, ...] = ()
    """Finalizers that are added when the deletion of an object begins."""

    published_schema: Mapping[str, Any] = {}
    """The schema that OpenAPI shows, if the kind is defined by a CRD."""

    selectable_fields: Mapping[str, FieldReader] = {}
    """Fields that a field selector may name, beyond name and namespace."""

    scale_fields: ScaleFields | None = None
    """Where the ``scale`` subresource finds its numbers, if the kind has it."""

    columns: tuple[Column, ...] = (NAME, AGE)
    """Columns of a Table."""

    @property
    def selects_absent_namespace(self) -> bool:
        """Return True if a field selector may name the namespace of objects that have none."""
        return not self.selectable_fields

    @property
    def patch_schema(self) -> PatchSchema | None:
        """Return the schema of strategic merge patches; None if the kind takes none."""
        return None

    def check_type(self, resource: ResourceType, obj: Object) -> None:
        """Refuse an object of another type; apiVersion and kind may be missing.

        Raises:
            FailedRequestError: 400 or 422.
        """
        api_version, kind = obj.get("apiVersion"), obj.get("kind")
        for value in (api_version, kind):
            if not isinstance(value, str | None):
                raise bad_request("couldn't get version/kind; apiVersion and kind must be strings")
        if (api_version or resource.api_version, kind or resource.kind) != (
            resource.api_version,
            resource.kind,
        ):
            raise bad_request(
                f'{kind} in version "{api_version}" cannot be handled as a {resource.kind}'
            )

    def check_version(self, resource: ResourceType, api_version: str) -> None:
        """Refuse a version of the kind, after the fields of the object have been checked.

        Raises:
            FailedRequestError: 400, it is not the version of the request.
        """

    def decode(self, resource: ResourceType, obj: Object) -> Decoded:
        """Check types, drop unknown fields, set defaults.

        Raises:
            FailedRequestError: 400, a field has the wrong type.
        """
        return Decoded(obj)

    def decode_applied(self, resource: ResourceType, obj: Object) -> Decoded:
        """Read an object that server-side apply has merged.

        Raises:
            FailedRequestError: 400, a field has the wrong type.
        """
        return self.decode(resource, obj)

    def empty_object(self, resource: ResourceType) -> Object:
        """Return an object without content, for bookmarks."""
        return {"apiVersion": resource.api_version, "kind": resource.kind}

    def row_conditions(self, obj: Object) -> list[dict[str, str]]:
        """Return the conditions of an object's row in a Table: whether it is completed."""
        return []

    def prepare_for_create(self, obj: Object) -> None:
        """Set and remove what only the server may set."""

    def prepare_for_update(self, new: Object, old: Object) -> None:
        """Copy from ``old`` what a write to the main resource may not change."""

    def drop_disabled(self, obj: Object) -> None:
        """Remove the fields of features that the server has off, in place."""

    def field_type(self, api_version: str, kind: str) -> FieldType | None:
        """Return the type by which server-side apply merges a version of the kind."""
        return DEDUCED

    def reset_fields(self, subresource: str, api_version: str) -> FieldSet:
        """Return what a write to a subresource ("" for the main one) can't own at a version."""
        return FieldSet()

    def prepare_for_subresource(self, subresource: str, new: Object, old: Object) -> None:
        """Copy from ``old`` what a write to a subresource other than the status may not change."""
        self.prepare_for_update(new, old)

    def prepare_for_status_update(self, new: Object, old: Object) -> None:
        """Copy from ``old`` what a write to the status may not change."""

    def grace_period(self, obj: Object, requested: int | None) -> int | None:
        """Return the grace period in seconds of a deletion that begins; None if the kind has none.

        An object with a grace period is marked as deleted before it goes, even if that is 0.
        """
        return None

    def may_go(self, obj: Object) -> bool:
        """Return True if an object without finalizers can be removed immediately."""
        return True

    def mark_deleted(self, obj: Object) -> None:
        """Show the begin of the deletion in the object; values below its fields stay as they are.

        They are shared with the object before.
        """

    def spec_changed(self, new: Object, old: Object) -> bool:
        """Return True if an update raises the generation."""
        return not json_equal(new.get("spec"), old.get("spec"))

    def validate(self, obj: Object) -> list[FieldError]:
        """Return the errors of a new object."""
        return []

    def validate_update(self, new: Object, old: Object) -> list[FieldError]:
        """Return the errors of an update."""
        return []

    def validate_subresource_update(
        self, subresource: str, new: Object, old: Object
    ) -> list[FieldError]:
        """Return the errors of a write to another subresource than the status."""
        return self.validate_update(new, old)

    def validate_status_update(self, new: Object, old: Object) -> list[FieldError]:
        """Return the errors of a write to the status."""
        return []

    def warnings(self, new: Object, old: Object | None) -> list[str]:
        """Return what the client is warned of when a valid object is stored; ``old`` if updated."""
        return []

    def status_warnings(self, new: Object, old: Object) -> list[str]:
        """Return what the client is warned of when a valid status is stored."""
        return []
