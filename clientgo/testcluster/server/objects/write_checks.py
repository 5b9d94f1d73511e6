"""The checks of a write: its version, its type, and the rules of its kind.

Upstream: apiserver ``registry/rest.BeforeCreate`` and ``BeforeUpdate``.
"""

from __future__ import annotations

from typing import Any

from clientgo.meta.validation.field_errors import FieldError, FieldErrorReason
from clientgo.testcluster.server.objects import metadata as object_meta
from clientgo.testcluster.server.resources.errors import (
    internal,
    internal_error,
    invalid,
    invalid_of_resource,
    modified,
)
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.resources.resource_type import ResourceType
from clientgo.testcluster.server.resources.strategy import MetadataChecks
from clientgo.testcluster.server.storage.storage import Object
from clientgo.testcluster.server.storage.versions import parse_version


def take_version_of_new(metadata: dict[str, Any]) -> None:
    """Remove the version that a client sent with a new object.

    Raises:
        FailedRequestError: 500, it is a number other than 0.
    """
    if parse_version(metadata.pop("resourceVersion", "")):
        raise internal("resourceVersion should not be set on objects to be created")


def check_version(resource: Resource, name: str, new: dict[str, Any], old: dict[str, Any]) -> None:
    """Check that the version that the client names is the current one: optimistic locking.

    Raises:
        FailedRequestError: 409 for another version, 422 for a missing and 500 for a malformed one.
    """
    version = new.get("resourceVersion", "")
    if version in ("", "0"):
        if not resource.strategy.allow_unconditional_update:
            cause = FieldError.invalid(
                "metadata.resourceVersion", 0, "must be specified for an update"
            )
            raise invalid_of_resource(resource, name, [cause])
    elif parse_version(version) is None:
        raise internal(f'strconv.ParseUint: parsing "{version}": invalid syntax')
    elif version != old["resourceVersion"]:
        raise modified(resource, name)
    new["resourceVersion"] = old["resourceVersion"]


def check_has_version(obj: Object) -> None:
    """Refuse an object whose apiVersion has no version.

    Raises:
        FailedRequestError: 500.
    """
    if not obj["apiVersion"].rpartition("/")[2]:
        raise internal_error("Object 'apiVersion' is missing in 'object has no apiVersion field'")


def check_new(resource: Resource, name: str, obj: Object) -> list[str]:
    """Check a new object by the rules of its kind; return what its client is warned of.

    Raises:
        FailedRequestError: 422.
    """
    strategy = resource.strategy
    causes = object_meta.create_causes(
        obj["metadata"],
        strategy.name_rule,
        namespaced=resource.namespaced,
        qualified_finalizers=strategy.metadata_checks.qualified_finalizers,
    )
    causes += strategy.validate(obj)
    if causes:
        raise invalid(resource.reported, name, causes)
    return strategy.warnings(obj, None)


def type_causes(resource: Resource, obj: Object) -> list[FieldError]:
    """Return the errors of an object of another kind or version than its resource."""
    kind, api_version = obj["kind"], obj["apiVersion"]
    causes = []
    if kind != resource.kind:
        causes.append(FieldError.invalid("kind", kind, f"must be {resource.kind}"))
    if api_version != resource.api_version:
        detail = f"must be {resource.api_version}"
        causes.append(FieldError.invalid("apiVersion", api_version, detail))
    return causes


def check_new_type(resource: Resource, name: str, obj: Object) -> None:
    """Refuse a new object of another kind.

    Raises:
        FailedRequestError: 422; of the other errors only those of lists are reported.
    """
    if causes := type_causes(resource, obj):
        causes += _list_causes(resource.strategy.validate(obj))
        raise invalid(_given_type(resource, obj), name, causes)


def check_changed_type(resource: Resource, name: str, new: Object, old: Object) -> None:
    """Refuse a change to another kind or version.

    Raises:
        FailedRequestError: 422; of the other errors only those of metadata and lists are reported.
    """
    if causes := type_causes(resource, new):
        checks = MetadataChecks(changes=0)
        rule = resource.strategy.name_rule
        causes += object_meta.update_causes(new["metadata"], old["metadata"], checks, rule)
        causes += _list_causes(resource.strategy.validate(new))
        raise invalid(_given_type(resource, new), name, causes)


def _list_causes(causes: list[FieldError]) -> list[FieldError]:
    """Return the errors of lists that have an item twice."""
    return [cause for cause in causes if cause.reason is FieldErrorReason.DUPLICATE]


def _given_type(resource: Resource, obj: Object) -> ResourceType:
    group = obj["apiVersion"].rpartition("/")[0]
    return resource.as_kind(obj["kind"]).in_group(group)


def check_update(
    resource: Resource, name: str, new: Object, old: Object, subresource: str
) -> list[str]:
    """Check a change by the rules of the kind; return what its client is warned of.

    Raises:
        FailedRequestError: 422.
    """
    strategy = resource.strategy
    checks = strategy.metadata_checks
    if subresource == "status":
        checks = MetadataChecks(qualified_finalizers=checks.qualified_finalizers)
    rule = strategy.name_rule
    causes = object_meta.update_causes(new["metadata"], old["metadata"], checks, rule)
    if subresource == "status":
        causes += strategy.validate_status_update(new, old)
    elif subresource:
        causes += strategy.validate_subresource_update(subresource, new, old)
    else:
        causes += strategy.validate_update(new, old)
    if causes:
        raise invalid(resource.reported, name, causes)
    if subresource == "status":
        return strategy.status_warnings(new, old)
    return strategy.warnings(new, old)
