"""The parameters of a binding: objects that the expressions of its policy see as ``params``.

Upstream: apiserver ``admission/plugin/policy/generic/policy_dispatcher.go`` CollectParams.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clientgo.meta.selectors import selector_from_object
from clientgo.testcluster.server.resources.registry import ResourceRegistry
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.storage import Object, Storage, object_key


class ParamsError(Exception):
    """The parameters of a binding are missing or misconfigured."""


async def params_of(
    storage: Storage,
    registry: ResourceRegistry,
    kind: Mapping[str, str] | None,
    reference: Mapping[str, Any] | None,
    namespace: str,
) -> list[Object | None]:
    """Return the parameters; ``[None]`` for a policy or binding that uses none.

    Raises:
        ParamsError: the kind is unknown, or there must be parameters and are none.
        FailedRequestError: 500, a conversion of theirs failed.
    """
    if not kind or not reference:
        return [None]
    resource = _resource_of(registry, kind)
    where = _namespace_of(resource, reference, namespace)
    collection = storage.collection(resource.collection_key)
    if name := reference.get("name"):
        found = [collection.get(object_key(where, name))]
    else:
        selector = selector_from_object(reference.get("selector") or {})
        found = [item for item in collection.scan(where) if selector.matches(item.labels)]
    served = await resource.served([item for item in found if item is not None])
    if not served and reference.get("parameterNotFoundAction") == "Deny":
        raise ParamsError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return [resource.decode(item) for item in served]


def _resource_of(registry: ResourceRegistry, kind: Mapping[str, str]) -> Resource:
    for resource in registry:
        if (resource.api_version, resource.kind) == (kind["apiVersion"], kind["kind"]):
            return resource
    shown = f"{kind['apiVersion']}, Kind={kind['kind']}"
    raise ParamsError(f"failed to find resource referenced by paramKind: '{shown}'")


def _namespace_of(resource: Resource, reference: Mapping[str, Any], namespace: str) -> str:
    given: str = reference.get("namespace", "")
    if not resource.namespaced:
        if given:
            raise ParamsError(
                "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
            )
        return ""
    if not given and not namespace:
        raise ParamsError(
            "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
        )
    return given or namespace
