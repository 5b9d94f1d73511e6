"""From a request to the verb that answers it.

There are no routes: resources are dynamic, so each path is looked up in the registry.

Upstream: apiserver ``endpoints/installer.go`` and apiextensions ``customresource_handler.go``.
"""

from __future__ import annotations

from msgspec.structs import replace

from clientgo.testcluster.server.http.messages import (
    AnyResponse,
    Request,
    page_not_found,
    warning_headers,
)
from clientgo.testcluster.server.http.negotiation import Form, negotiate, parse_included
from clientgo.testcluster.server.objects.state import State
from clientgo.testcluster.server.objects.writer import ObjectWriter
from clientgo.testcluster.server.requests.patching import check_patch_type
from clientgo.testcluster.server.requests.request_info import RequestInfo, parse_path
from clientgo.testcluster.server.requests.reviews import ANSWERED
from clientgo.testcluster.server.requests.subresources.handlers import (
    CREATED_BELOW,
    subresource_verb,
)
from clientgo.testcluster.server.requests.verbs import (
    COLLECTION_VERBS,
    OBJECT_VERBS,
    Verb,
    VerbCall,
    watch,
)
from clientgo.testcluster.server.resources.errors import (
    FailedRequestError,
    bad_request,
    method_not_allowed,
    method_not_supported,
    not_in_protobuf,
    resource_not_found,
)
from clientgo.testcluster.server.resources.resource import Resource


async def answer_resource_request(
    state: State, writer: ObjectWriter, request: Request
) -> AnyResponse | None:
    """Answer a request for a resource; return None for other paths (discovery, health).

    Raises:
        FailedRequestError: the resource or verb does not exist, or the verb fails.
    """
    info = parse_path(request.path)
    if info is None:
        return None
    resources = state.registry.of_version(info.group, info.version)
    resource = resources.get(info.resource) if resources else None
    if resource is None:
        if info.group in state.registry.builtin_groups:
            raise resource_not_found()
        return page_not_found()
    if not _scope_fits(resource, info, request.method):
        if resource.is_custom:
            return page_not_found()
        raise resource_not_found()
    verb = _choose_verb(request, resource, info)
    representation = negotiate(
        request.headers.get("accept", ""),
        streaming=verb is watch,
        builtin=not resource.is_custom,
        has_table=verb not in _WITHOUT_TABLE,
    )
    if resource.is_custom and representation.is_protobuf and representation.form is Form.OBJECT:
        raise not_in_protobuf(resource.kind)
    if representation.form is Form.TABLE:
        included = parse_included(request.parameter("includeObject"))
        representation = replace(representation, included=included)
    call = VerbCall(
        state,
        writer,
        request,
        resource,
        info.namespace,
        info.name,
        info.subresource,
        representation,
    )
    try:
        answer = await verb(call)
    except FailedRequestError as error:
        call.warnings.extend(error.warnings)
        error.headers += _warning_headers(call)
        raise
    answer.headers += _warning_headers(call)
    return answer


_WITHOUT_TABLE = frozenset({*ANSWERED.values(), *CREATED_BELOW})
"""Handlers of what is answered and not stored."""


def _warning_headers(call: VerbCall) -> tuple[tuple[str, str], ...]:
    deprecation = call.resource.deprecation
    return warning_headers([deprecation, *call.warnings] if deprecation else call.warnings)


def _scope_fits(resource: Resource, info: RequestInfo, method: str) -> bool:
    """Return True if the path has a namespace exactly if the resource has one.

    Lists and watches may be of all namespaces. The router of built-in resources knows the path of
    such a list, so that other methods are refused later.
    """
    if info.namespace:
        return resource.namespaced
    if not resource.namespaced:
        return True
    return not info.name and (not resource.is_custom or method in ("GET", "HEAD"))


def _choose_verb(request: Request, resource: Resource, info: RequestInfo) -> Verb:
    """Return the handler for a method on a path.

    Raises:
        FailedRequestError: 404 for an unknown subresource, 405 for an unsupported verb.
    """
    method = request.method
    if info.watch:
        if method != "GET" or info.subresource or "watch" not in resource.verbs:
            raise method_not_allowed()
        return watch
    if info.subresource:
        return subresource_verb(resource, info, method)
    if resource.is_custom:
        return _custom_verb(request, resource, info)
    name, verb = (OBJECT_VERBS if info.name else COLLECTION_VERBS).get(method, ("", None))
    if verb is None or name not in resource.verbs:
        raise method_not_allowed()
    if name == "create" and (answered := ANSWERED.get((resource.group, resource.plural))):
        return answered
    if resource.namespaced and not info.namespace and name in ("create", "deletecollection"):
        if not info.empty_namespace:
            raise method_not_allowed()
        if name == "deletecollection":
            raise bad_request("Namespace parameter required.")
    return watch if name == "list" and request.flag("watch") else verb


def _custom_verb(request: Request, resource: Resource, info: RequestInfo) -> Verb:
    """Return the handler for a method on custom resources, which have no routes.

    Raises:
        FailedRequestError: 405 for an unknown method; 400, the path needs a name.
    """
    method = "GET" if request.method == "HEAD" else request.method
    if not info.name and method in ("PUT", "PATCH"):
        if method == "PATCH":
            check_patch_type(request, resource)
        raise bad_request("name must be provided")
    verbs = OBJECT_VERBS if info.name and method != "POST" else COLLECTION_VERBS
    name, verb = verbs.get(method, ("", None))
    if verb is None:
        raise method_not_supported(resource, "")
    return watch if name == "list" and request.flag("watch") else verb
