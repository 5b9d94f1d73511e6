"""Requests in the terms by which faults select them.

Promises: verbs and resources are named as in RBAC: ``watch`` apart from ``list``, ``foos/status``
apart from ``foos``. The name of a created object is read from the body.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from clientgo.testcluster.server.faults.declarations import Requests
from clientgo.testcluster.server.http.messages import Request
from clientgo.testcluster.server.requests.request_info import parse_path
from clientgo.testcluster.server.storage.deep_values import decode_any

_OBJECT_VERBS = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_COLLECTION_VERBS = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}


class ObservedRequest(NamedTuple):
    """A request for a resource that the server has answered.

    ``name`` is empty if the server generates it, and for requests to collections.
    """

    verb: str
    resource: str
    namespace: str
    name: str
    user_agent: str
    code: int

    @classmethod
    def of(cls, target: ResourceRequest, code: int) -> ObservedRequest:
        """Return what is known of a request when it is answered."""
        return cls(
            target.verb,
            target.resource,
            target.namespace,
            target.name or target.name_in_body(),
            target.request.headers.get("user-agent", ""),
            code,
        )


RequestObserver = Callable[[ObservedRequest], object]


class ResourceRequest(msgspec.Struct, frozen=True):
    """A request for a resource."""

    verb: str
    resource: str
    namespace: str
    name: str
    request: Request

    @classmethod
    def of(cls, request: Request) -> ResourceRequest | None:
        """Return the parts of a request; None if it is for no resource (discovery, health)."""
        info = parse_path(request.path)
        if info is None:
            return None
        if info.subresource and request.method == "POST":
            verb = "create"
        else:
            verbs = _OBJECT_VERBS if info.name else _COLLECTION_VERBS
            verb = verbs.get(request.method, "")
        if verb == "list" and request.flag("watch"):
            verb = "watch"
        resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        return cls(verb, resource, info.namespace, info.name, request)

    def is_one_of(self, wanted: Requests) -> bool:
        """Return True if a fault selects this request."""
        return (
            (not wanted.verbs or self.verb in wanted.verbs)
            and wanted.resource in ("", self.resource)
            and (not wanted.other_than or wanted.other_than != self.resource)
            and wanted.namespace in ("", self.namespace)
            and (not wanted.name or wanted.name == (self.name or self.name_in_body()))
            and self.request.headers.get("user-agent", "").startswith(wanted.user_agent)
        )

    def name_in_body(self) -> str:
        """Return the name of the object that is created, which the path does not have."""
        if self.verb != "create":
            return ""
        try:
            return str(decode_any(self.request.body)["metadata"]["name"])
        except (ValueError, KeyError, TypeError):
            return ""  # generated, or an invalid body
