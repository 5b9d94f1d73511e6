"""From a request to what authorization is asked: its user, verb, resource and names.

Upstream: apiserver ``endpoints/request.RequestInfo`` and ``filters.GetAuthorizerAttributes``.
"""

from __future__ import annotations

from clientgo.meta.selectors import SelectorError, parse_field_selector
from clientgo.testcluster.server.auth.authorization.authorizer import Attributes
from clientgo.testcluster.server.http.messages import Request
from clientgo.testcluster.server.requests.request_info import parse_path

_VERBS = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_OF_COLLECTIONS = {"get": "list", "delete": "deletecollection"}


def attributes_of(request: Request) -> Attributes:
    """Return what a request does, whether or not its path is served."""
    info = parse_path(request.path)
    if info is None:
        return Attributes(request.user, request.method.lower(), path=request.path)
    verb = "watch" if info.watch else _VERBS.get(request.method, "")
    name = info.name
    if not name:
        verb = _OF_COLLECTIONS.get(verb, verb)
        if verb == "list":
            verb = "watch" if request.flag("watch") else "list"
            name = _selected_name(request.parameter("fieldSelector"))
    return Attributes(
        request.user,
        verb,
        info.group,
        info.version,
        info.resource,
        info.subresource.partition("/")[0],  # the rest is a path within the subresource
        # Upstream reads the path of a namespace object as one within that namespace.
        info.name if info.resource == "namespaces" and info.name else info.namespace,
        name,
    )


def _selected_name(selector: str) -> str:
    """Return the only name that a field selector selects; empty if there is none."""
    if "metadata.name" not in selector:
        return ""
    try:
        parsed = parse_field_selector(selector)
    except SelectorError:
        return ""  # the list refuses it
    return parsed.requires_exact_match("metadata.name") or ""
