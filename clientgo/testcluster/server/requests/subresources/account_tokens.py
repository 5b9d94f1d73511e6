"""The ``token`` subresource: a service account's token on request.

Upstream: ``pkg/registry/core/serviceaccount/storage/token.go`` and
``pkg/apis/authentication/validation``.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from clientgo.meta.decoding import convert
from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.auth.authentication.service_accounts import ISSUER, Reference
from clientgo.testcluster.server.http.messages import AnyResponse, value_response
from clientgo.testcluster.server.requests.options import write_options
from clientgo.testcluster.server.requests.verbs import VerbCall, existing, read_body_as
from clientgo.testcluster.server.resources.errors import bad_request, conflict, invalid, not_found
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.resources.resource_type import ResourceType
from clientgo.testcluster.server.storage.storage import StoredObject, object_key

_TYPE = ResourceType("authentication.k8s.io", "v1", "TokenRequest", "tokenrequests")

_DEFAULT_SECONDS = 3600
_MIN_SECONDS = 600
_MAX_SECONDS = 2**32

_BOUND = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}
"""Kinds that a token can be bound to, all of the core group."""


class _BoundObject(msgspec.Struct, omit_defaults=True, rename="camel"):
    kind: str = ""
    api_version: str = ""
    name: str = ""
    uid: str = ""


class _Spec(msgspec.Struct, rename="camel"):
    audiences: list[str] | None = None
    expiration_seconds: int | None = None
    bound_object_ref: _BoundObject | None = None


class _Account(msgspec.Struct):
    name: str | None = None
    namespace: str | None = None


class _TokenRequest(msgspec.Struct):
    metadata: _Account | None = None
    spec: _Spec | None = None


async def create_token(call: VerbCall) -> AnyResponse:
    """Answer a token of a service account."""
    options = write_options(call.request, "CreateOptions")
    body = await read_body_as(call, call.state.registry.bodies[_TYPE.kind], options)
    review = convert(body, _TokenRequest)
    spec = review.spec or _Spec()
    _check_names(call, review.metadata or _Account())
    account = await existing(call)
    seconds = _DEFAULT_SECONDS if spec.expiration_seconds is None else spec.expiration_seconds
    _check_seconds(seconds)
    bound = {} if spec.bound_object_ref is None else _bound(call, spec.bound_object_ref)
    audiences = spec.audiences or [ISSUER]
    token = call.state.authenticator.accounts.issue(
        call.namespace, Reference(call.name, account.uid), seconds, audiences, bound
    )
    answer = {
        "kind": _TYPE.kind,
        "apiVersion": _TYPE.api_version,
        "metadata": {
            "name": call.name,
            "namespace": call.namespace,
            "creationTimestamp": call.state.timestamp(),
        },
        "spec": {
            "audiences": audiences,
            "expirationSeconds": seconds,
            "boundObjectRef": msgspec.to_builtins(spec.bound_object_ref),
        },
        "status": {"token": token, "expirationTimestamp": call.state.timestamp(seconds)},
    }
    return value_response(answer, call.representation.media_type, 201)


def _check_names(call: VerbCall, account: _Account) -> None:
    """Refuse a request whose body names another account than its path."""
    for field, wanted, named in (
        ("name", call.name, account.name or call.name),
        ("namespace", call.namespace, account.namespace or call.namespace),
    ):
        if named != wanted:
            raise bad_request(
                f"the {field} in the URL ({wanted}) does not match the {field} of the token "
                f"request ({named})"
            )


def _check_seconds(seconds: int) -> None:
    path = "spec.expirationSeconds"
    if seconds < _MIN_SECONDS:
        why = "may not specify a duration less than 10 minutes"
    elif seconds > _MAX_SECONDS:
        why = "may not specify a duration larger than 2^32 seconds"
    else:
        return
    raise invalid(_TYPE, "", [FieldError.invalid(path, seconds, why)])


def _bound(call: VerbCall, reference: _BoundObject) -> Mapping[str, Reference]:
    """Return the object that a token is bound to, and the node of a pod, by claim."""
    plural = _BOUND.get(reference.kind)
    if plural is None or reference.api_version != "v1":
        kind = f"{reference.api_version}, Kind={reference.kind}"
        raise bad_request(f"cannot bind token to object of type {kind}")
    resource = call.state.registry.find("", "v1", plural)
    if resource is None:
        raise LookupError(f"{plural} are not built in")
    stored = _find(call, resource, reference.name)
    if stored is None:
        raise not_found(resource, reference.name)
    if reference.uid not in ("", stored.uid):
        raise conflict(
            resource,
            reference.name,
            f"the UID in the bound object reference ({reference.uid}) does not match the UID in "
            f"record. The object might have been deleted and then recreated",
            by_kind=True,
        )
    found = {reference.kind.lower(): Reference(reference.name, stored.uid)}
    if reference.kind == "Pod":
        found |= _node_of_pod(call, stored)
    return found


def _node_of_pod(call: VerbCall, stored: StoredObject) -> dict[str, Reference]:
    """Return the node that a pod runs on; none if there is no such object.

    Raises:
        FailedRequestError: 400, the pod runs as another service account.
    """
    spec = stored.decode()["spec"]
    if (runs_as := spec.get("serviceAccountName", "")) != call.name:
        raise bad_request(
            f'cannot bind token for serviceaccount "{call.name}" to pod running with '
            f'different serviceaccount name "{runs_as}"'
        )
    nodes = call.state.registry.find("", "v1", "nodes")
    name = spec.get("nodeName", "")
    node = _find(call, nodes, name) if nodes is not None and name else None
    return {} if node is None else {"node": Reference(name, node.uid)}


def _find(call: VerbCall, resource: Resource, name: str) -> StoredObject | None:
    namespace = call.namespace if resource.namespaced else ""
    collection = call.state.storage.collection(resource.collection_key)
    return collection.get(object_key(namespace, name))
