"""What one kind of object demands of a write.

Promises: the verb handlers know no kinds. Whatever is particular to one (defaults, the fields
that only the server may set, validation, when a write raises the generation) is asked of the
resource's ``Strategy``; this class is the behaviour of a kind with no peculiarities.

Hooks that prepare an object change it in place: it is the request's own copy.

Upstream: apiserver ``registry/rest`` ``RESTCreateStrategy``, ``RESTUpdateStrategy``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from clientgo.apiserver.resources.columns import AGE, NAME, Column
from clientgo.apiserver.resources.names import DNS_SUBDOMAIN, NameRule
from clientgo.apiserver.resources.resource_type import ResourceType
from clientgo.apiserver.resources.status_errors import bad_request
from clientgo.apiserver.storage.storage import Object
from clientgo.meta.managed_fields import DEDUCED, FieldSet, FieldType
from clientgo.meta.patches.strategic_merge import PatchSchema
from clientgo.schema.field_errors import FieldError

FieldReader = Callable[[Object], str]
"""The value of a selectable field of an object, as text."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """An object as the kind understands it, and what the client should be warned about."""

    obj: Object
    unknown_fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScaleFields:
    """Where an object keeps what its ``scale`` subresource shows, as names from the top."""

    spec_replicas: tuple[str, ...]
    status_replicas: tuple[str, ...]
    selector: tuple[str, ...] = ()


class Strategy:
    """A kind without peculiarities."""

    allow_unconditional_update = True
    """Whether an update may leave the resourceVersion out."""

    returns_deleted_object = False
    """Whether a deletion answers the object instead of a Status."""

    counts_generations = False
    """Whether ``metadata.generation`` is kept: 1 at first, raised when the spec changes."""

    name_rule: NameRule = DNS_SUBDOMAIN

    metadata_checks = 3
    """How often an update tells a mistake in metadata; see `object_meta.update_causes`."""

    reported_group: str | None = None
    """The group in messages about invalid objects, if it is not the resource's own."""

    deletion_finalizers: tuple[str, ...] = ()
    """Finalizers that every object is given when its deletion begins."""

    published_schema: Mapping[str, Any] = {}
    """The schema that OpenAPI shows, if the kind is defined by a CRD."""

    selectable_fields: Mapping[str, FieldReader] = {}
    """Fields that a field selector may name, beyond name and namespace."""

    scale_fields: ScaleFields | None = None
    """Where the ``scale`` subresource finds its numbers, if the kind has it."""

    columns: tuple[Column, ...] = (NAME, AGE)
    """What a Table shows of an object."""

    @property
    def patch_schema(self) -> PatchSchema | None:
        """What a strategic merge patch merges by; None if the kind does not take any."""
        return None

    def check_type(self, resource: ResourceType, obj: Object) -> None:
        """Refuse an object that says it is of another type; saying nothing is fine.

        Raises:
            StatusError: 400 or 422.
        """
        api_version, kind = obj.get("apiVersion"), obj.get("kind")
        if (api_version or resource.api_version, kind or resource.kind) != (
            resource.api_version,
            resource.kind,
        ):
            raise bad_request(
                f'{kind} in version "{api_version}" cannot be handled as a {resource.kind}'
            )

    def decode(self, resource: ResourceType, obj: Object) -> Decoded:
        """Check types, drop what the kind does not know, fill in what may be left out.

        Raises:
            StatusError: 400, a field has the wrong type.
        """
        return Decoded(obj)

    def empty_object(self, resource: ResourceType) -> Object:
        """What an object with nothing in it looks like; bookmarks carry one."""
        return {"apiVersion": resource.api_version, "kind": resource.kind}

    def prepare_for_create(self, obj: Object) -> None:
        """Set what only the server may set; drop what a create may not bring."""

    def prepare_for_update(self, new: Object, old: Object) -> None:
        """Take over from ``old`` what a write to the main resource may not change."""

    def field_type(self, api_version: str, kind: str) -> FieldType | None:
        """The type that server-side apply merges by, at a version of the kind."""
        return DEDUCED

    def reset_fields(self, subresource: str) -> FieldSet:
        """Fields that a write to the main resource (or a subresource) can't change, nor own."""
        return FieldSet()

    def prepare_for_finalize(self, new: Object, old: Object) -> None:
        """Take over from ``old`` what a write to the finalize subresource may not change."""

    def prepare_for_status_update(self, new: Object, old: Object) -> None:
        """Take over from ``old`` what a write to the status may not change."""

    def grace_period(self, obj: Object, requested: int | None) -> int:
        """Seconds that a deletion gives the object to end."""
        return 0

    def may_go(self, obj: Object) -> bool:
        """Whether an object without finalizers can be deleted at once."""
        return True

    def mark_deleted(self, obj: Object) -> None:
        """Show in the object itself that its deletion has begun."""

    def spec_changed(self, new: Object, old: Object) -> bool:
        """Whether an update raises the generation."""
        return new.get("spec") != old.get("spec")

    def validate(self, obj: Object) -> list[FieldError]:
        """What is wrong with a new object."""
        return []

    def validate_update(self, new: Object, old: Object) -> list[FieldError]:
        """What is wrong with an update."""
        return []

    def validate_status_update(self, new: Object, old: Object) -> list[FieldError]:
        """What is wrong with a write to the status."""
        return []
