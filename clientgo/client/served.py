"""Whether a server serves a resource, and if not, why.

A 404 for a path says neither: a server sends it for a resource that it does not have, and so does
a proxy for everything. What a server serves is in the documents of discovery, which every client
may read. Whether the objects of a custom resource are deleted depends on its definition alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from clientgo.cache import NotServedError
from clientgo.client.discovery_documents import (
    ServedResource,
    core_group,
    named_groups,
    resources_of,
)
from clientgo.meta import (
    APIResource,
    DecodeError,
    GroupVersion,
    GroupVersionResource,
    NotFoundError,
    StatusError,
)
from clientgo.meta.decoding import decode
from clientgo.meta.wire.answers import shown
from clientgo.rest import RestClient, Result, TransportError, api_path

T = TypeVar("T")

TIMEOUT: Final = 32.0
"""Seconds for a request without a timeout of its own, as in client-go."""

_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def resources_in(
    rest: RestClient, version: GroupVersion, stop: threading.Event | None = None
) -> tuple[ServedResource, ...]:
    """Return what one version serves, subresources included. Raises as requests do."""
    return document(
        _get(rest, api_path(version), stop), "discovery", lambda raw: resources_of(version, raw)
    )


def find_served(
    rest: RestClient, wanted: GroupVersionResource, stop: threading.Event | None = None
) -> ServedResource | None:
    """Return a resource as the server serves it; None if it is not among what the server lists.

    Raises as requests do if that is unknown, also for a 404 that the list of versions contradicts.
    """
    version = GroupVersion(wanted.group, wanted.version)
    try:
        served = resources_in(rest, version, stop)
    except NotFoundError:
        versions = _versions_beside(rest, version, stop)
        if version in versions or not versions:  # a server that starts may list nothing yet
            raise
        return None
    return next((found for found in served if found.plural == wanted.resource), None)


def why_not_served(
    rest: RestClient, resource: APIResource, namespace: str, stop: threading.Event
) -> NotServedError | None:
    """Return why a list of a resource, in a namespace or with ``""`` in all, is answered with 404.

    None if the server serves it. Raises as requests do if that is unknown.
    """
    what = f"{resource.group_resource} in version {resource.version}"
    served = find_served(rest, resource.gvr, stop)
    if served is None:
        reason, objects_deleted = _state_of_definition(rest, resource, stop)
        return NotServedError(what, reason, objects_deleted=objects_deleted)
    if namespace and not served.namespaced:
        # A definition cannot change its scope: the one of before was deleted, with its objects.
        return NotServedError(
            f"{what}, namespace {namespace},",
            "it has no namespaces on this server; list and watch it without one",
            objects_deleted=True,
        )
    return None


class _Version(Struct):
    name: str
    served: bool


class _Spec(Struct):
    versions: list[_Version]


class _Definition(Struct):
    spec: _Spec


def _state_of_definition(
    rest: RestClient, resource: APIResource, stop: threading.Event
) -> tuple[str, bool]:
    """Return what the definition of a resource that is not served says, and if it is deleted.

    Its deletion ends when its objects are deleted. A client may not be allowed to read it.
    """
    name = resource.group_resource
    if "." not in resource.group:
        return "this server does not have it", False  # no definition can be in such a group
    try:
        answer = _get(rest, f"{_DEFINITIONS}/{name}", stop)
        definition = document(answer, "definition", lambda raw: decode(raw, _Definition))
    except (StatusError, TransportError, DecodeError) as error:
        if isinstance(error, NotFoundError) and error.status.details.name == name:
            return f"there is no definition {name}", True
        return f"this server does not have it; its definition cannot be read: {error}", False
    versions = [version.name for version in definition.spec.versions if version.served]
    if resource.version in versions:
        return f"its definition {name} is not established yet", False
    return f"its definition {name} serves {' and '.join(versions) or 'no version'}", False


def _versions_beside(
    rest: RestClient, version: GroupVersion, stop: threading.Event | None
) -> tuple[GroupVersion, ...]:
    """Return the versions of the core group, or of all other groups."""
    if not version.group:
        return document(_get(rest, "/api", stop), "discovery", core_group).versions
    groups = document(_get(rest, "/apis", stop), "discovery", named_groups)
    return tuple(version for group in groups for version in group.versions)


def _get(rest: RestClient, path: str, stop: threading.Event | None) -> Result:
    request = rest.get().absolute_path(path)
    return request.timeout(rest.config.timeout or TIMEOUT).do(stop)


def document(answer: Result, what: str, decode: Callable[[bytes], T]) -> T:
    """Return an answer as ``decode`` reads it. Raises DecodeError for what it cannot read."""

    def checked(raw: bytes) -> T:
        try:
            return decode(raw)
        except DecodeError:
            raise
        except (msgspec.MsgspecError, ValueError) as error:
            raise DecodeError(f"not a {what} document: {error}; got {shown(raw)}") from error

    return answer.decoded(checked)
