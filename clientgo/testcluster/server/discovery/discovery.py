"""Discovery: the groups, versions and resources that are served.

Promises both forms, the documents of each version and the aggregated one that kubectl reads, made
from the registry for each request, so that a CRD appears in all of them at the same time.

Upstream: apiserver ``endpoints/discovery`` and its ``aggregated`` package.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clientgo.testcluster.server.http.messages import (
    JSON,
    Request,
    Response,
    page_not_found,
    value_response,
)
from clientgo.testcluster.server.http.negotiation import (
    accepted_type,
    parse_accept,
    plain_type,
)
from clientgo.testcluster.server.http.protobuf import PROTOBUF_TYPE
from clientgo.testcluster.server.resources.errors import method_not_allowed, resource_not_found
from clientgo.testcluster.server.resources.registry import ApiGroup, ResourceRegistry
from clientgo.testcluster.server.resources.resource import Resource, Subresource
from clientgo.testcluster.server.storage.deep_values import encode

_AGGREGATED_KIND = "APIGroupDiscoveryList"
_AGGREGATED_TYPE = f"{JSON};g=apidiscovery.k8s.io;v=v2;as={_AGGREGATED_KIND}"
_AGGREGATED_PARAMETERS = {"g": "apidiscovery.k8s.io", "v": "v2", "as": _AGGREGATED_KIND}

_WRITES = ("patch", "create", "update")
"""Verbs that discovery leaves out while a definition is being deleted."""


def discover(registry: ResourceRegistry, request: Request) -> Response | None:
    """Answer a discovery path; return None for other paths.

    The documents of groups are those of the aggregator, which does not look at the method.

    Raises:
        FailedRequestError: 406, the client accepts no form of discovery; 405 and 404.
    """
    accept = request.headers.get("accept", "")
    match request.path.removesuffix("/").split("/")[1:]:
        case ["api"]:
            _check_method(request)
            if _wants_aggregated(accept):
                return _aggregated(registry, [g for g in registry.groups() if not g.name])
            return value_response(_core_versions(), plain_type(accept))
        case ["apis"]:
            groups = [group for group in registry.groups() if group.name]
            if _wants_aggregated(accept):
                return _aggregated(registry, groups)
            documents = [_group_document(group) for group in groups]
            document = {"kind": "APIGroupList", "apiVersion": "v1", "groups": documents}
            return value_response(document, plain_type(accept))
        case ["api", version]:
            return _version_response(registry, request, "", version)
        case ["apis", name]:
            group = next((item for item in registry.groups() if item.name == name), None)
            if group is None or not name:
                return page_not_found()
            document = {"kind": "APIGroup", "apiVersion": "v1", **_group_document(group)}
            return value_response(document, plain_type(accept))
        case ["apis", name, version]:
            return _version_response(registry, request, name, version)
    return None


def _check_method(request: Request) -> None:
    if request.method != "GET":
        raise method_not_allowed()


def _wants_aggregated(accept: str) -> bool:
    """Return True if the client accepts the aggregated form, even if it prefers another one.

    Raises:
        FailedRequestError: 406, the client accepts no form of discovery.
    """
    if any(
        accepted_type(wanted) not in ("", PROTOBUF_TYPE)
        and dict(wanted.parameters).items() >= _AGGREGATED_PARAMETERS.items()
        for wanted in parse_accept(accept)
    ):
        return True
    plain_type(accept)
    return False


def _core_versions() -> dict[str, Any]:
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [],
    }


def _group_document(group: ApiGroup) -> dict[str, Any]:
    versions = [
        {"groupVersion": f"{group.name}/{version}", "version": version}
        for version in group.versions
    ]
    return {"name": group.name, "versions": versions, "preferredVersion": versions[0]}


# -- one document per version


def _version_response(
    registry: ResourceRegistry, request: Request, group: str, version: str
) -> Response:
    resources = registry.of_version(group, version)
    builtin = group in registry.builtin_groups
    if resources is None:
        if builtin:
            raise resource_not_found()
        return page_not_found()
    if builtin:
        _check_method(request)
    document: dict[str, Any] = {"kind": "APIResourceList"}
    if group:
        document["apiVersion"] = "v1"
    document["groupVersion"] = f"{group}/{version}" if group else version
    document["resources"] = _resource_entries(registry, resources)
    return value_response(document, plain_type(request.headers.get("accept", "")))


def _verbs(registry: ResourceRegistry, resource: Resource) -> tuple[str, ...]:
    """Return what clients may do: objects of a definition that is being deleted only go."""
    if resource.collection_key not in registry.terminating:
        return resource.verbs
    return tuple(verb for verb in resource.verbs if verb not in _WRITES)


def _resource_entries(
    registry: ResourceRegistry, resources: Mapping[str, Resource]
) -> list[dict[str, Any]]:
    entries = []
    for resource in resources.values():
        entry: dict[str, Any] = {
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": _verbs(registry, resource),
        }
        if resource.short_names:
            entry["shortNames"] = resource.short_names
        if resource.categories:
            entry["categories"] = resource.categories
        if resource.storage_hash:
            entry["storageVersionHash"] = resource.storage_hash
        entries.append(entry)
        entries += [_subresource_entry(resource, item) for item in resource.subresources]
    return entries


def _subresource_entry(resource: Resource, subresource: Subresource) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": f"{resource.plural}/{subresource.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": subresource.kind.kind,
        "verbs": subresource.verbs,
    }
    if (subresource.kind.group, subresource.kind.version) != (resource.group, resource.version):
        entry |= {"group": subresource.kind.group, "version": subresource.kind.version}
    return entry


# -- all versions in one document


def _aggregated(registry: ResourceRegistry, groups: list[ApiGroup]) -> Response:
    document = {
        "kind": _AGGREGATED_KIND,
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": group.name} if group.name else {},
                "versions": [
                    {
                        "version": version,
                        "resources": [
                            _aggregated_resource(registry, resource)
                            for resource in (
                                registry.of_version(group.name, version) or {}
                            ).values()
                        ],
                        "freshness": "Current",
                    }
                    for version in group.versions
                ],
            }
            for group in groups
        ],
    }
    return Response(200, encode(document) + b"\n", _AGGREGATED_TYPE)


def _aggregated_resource(registry: ResourceRegistry, resource: Resource) -> dict[str, Any]:
    # Built-in resources leave group and version out where they are those of the document.
    group, version = (resource.group, resource.version) if resource.is_custom else ("", "")
    entry: dict[str, Any] = {
        "resource": resource.plural,
        "responseKind": {"group": group, "version": version, "kind": resource.kind},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": _verbs(registry, resource),
    }
    if resource.short_names:
        entry["shortNames"] = resource.short_names
    if resource.categories:
        entry["categories"] = resource.categories
    if resource.subresources:
        entry["subresources"] = [
            _aggregated_subresource(resource, item) for item in resource.subresources
        ]
    return entry


def _aggregated_subresource(resource: Resource, subresource: Subresource) -> dict[str, Any]:
    kind = subresource.kind
    own = (kind.group, kind.version) == (resource.group, resource.version)
    same = own and not resource.is_custom
    return {
        "subresource": subresource.name,
        "responseKind": {
            "group": "" if same else kind.group,
            "version": "" if same else kind.version,
            "kind": kind.kind,
        },
        "verbs": subresource.verbs,
    }
