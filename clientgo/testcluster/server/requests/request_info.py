"""The parts of a request path: group, version, namespace, resource, name and subresource.

Promises: every path below ``/api`` and ``/apis`` is parsed here. There are no routes, because a CRD
adds paths at any time.

Does not promise that the resource exists; the registry knows that.

Upstream: apiserver ``endpoints/request.RequestInfo``.
"""

from __future__ import annotations

import functools

import msgspec

_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})


class RequestInfo(msgspec.Struct, frozen=True):
    """The parts of a path below ``/api/v1`` or ``/apis/<group>/<version>``."""

    group: str
    version: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    watch: bool = False
    """The path begins with ``watch``, as watches did before they had a parameter."""
    empty_namespace: bool = False
    """The path has ``namespaces`` without a name."""


@functools.lru_cache(maxsize=1024)
def parse_path(path: str) -> RequestInfo | None:
    """Parse a resource path; return None for other paths (discovery, health)."""
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    watch = rest[0] == "watch" and len(rest) > 1
    if watch:
        rest = rest[1:]
    namespace, empty_namespace = "", False
    if rest[0] == "namespaces" and len(rest) > 2 and not _below_a_namespace_object(group, rest):
        namespace, rest = rest[1], rest[2:]
        empty_namespace = not namespace
    if "" in rest:
        rest = [""]  # there is no such resource
    return RequestInfo(
        group,
        version,
        resource=rest[0],
        namespace=namespace,
        name=rest[1] if len(rest) > 1 else "",
        subresource="/".join(rest[2:]),
        watch=watch,
        empty_namespace=empty_namespace,
    )


def _below_a_namespace_object(group: str, rest: list[str]) -> bool:
    """Return True if the path names a subresource of a namespace object."""
    return group == "" and len(rest) == 3 and rest[2] in _NAMESPACE_SUBRESOURCES
