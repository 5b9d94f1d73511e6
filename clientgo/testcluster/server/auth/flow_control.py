"""Flow control: which flow schema a request belongs to.

Promises the headers by which a real API server names the flow schema of a request and its priority
level: of the schemas that match, that with the lowest precedence whose priority level exists. A
request that is classified once costs one look until a schema or a level changes.

Does not promise limits: no request waits or is refused because of its priority level.

Upstream: apiserver ``util/flowcontrol/rule.go`` and ``server/filters/priority-and-fairness.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from clientgo.testcluster.server.auth.authorization.authorizer import Attributes
from clientgo.testcluster.server.auth.users import User, split_service_account
from clientgo.testcluster.server.storage.storage import Change, Collection, Object, Storage

_GROUP: Final = "flowcontrol.apiserver.k8s.io"
SCHEMAS: Final = (_GROUP, "flowschemas")
LEVELS: Final = (_GROUP, "prioritylevelconfigurations")

_HEADERS: Final = ("X-Kubernetes-PF-FlowSchema-UID", "X-Kubernetes-PF-PriorityLevel-UID")

_KEPT: Final = 2048
"""Requests whose flow schema is remembered."""

Headers = tuple[tuple[str, str], ...]


class FlowControl:
    """Finds the flow schemas of requests. On the server's event loop only."""

    def __init__(self, storage: Storage) -> None:
        self._schemas = storage.collection(SCHEMAS)
        self._levels = storage.collection(LEVELS)
        self._ordered: list[tuple[Object, Headers]] | None = None
        self._found: dict[tuple[Any, ...], Headers] = {}
        storage.observe(self._observe, SCHEMAS)
        storage.observe(self._observe, LEVELS)

    def _observe(self, _: Collection, _change: Change) -> None:
        self._ordered = None
        self._found.clear()

    def headers(self, request: Attributes) -> Headers:
        """Return the headers that name the flow schema and the priority level of a request."""
        user = request.user
        what = (request.verb, request.group, request.resource, request.subresource)
        key = (user.name, user.groups, *what, request.namespace, request.path)
        found = self._found.get(key)
        if found is None:
            if len(self._found) >= _KEPT:
                self._found.clear()
            found = self._found[key] = self._find(request)
        return found

    def _find(self, request: Attributes) -> Headers:
        if self._ordered is None:
            self._ordered = list(self._in_order())
        for spec, headers in self._ordered:
            if any(_applies(rule, request) for rule in spec.get("rules") or ()):
                return headers
        return ()

    def _in_order(self) -> Iterable[tuple[Object, Headers]]:
        schemas = [stored.decode() for stored in self._schemas.scan()]
        schemas.sort(key=lambda each: (each["spec"]["matchingPrecedence"], _name(each)))
        for schema in schemas:
            level = self._levels.get(schema["spec"]["priorityLevelConfiguration"]["name"])
            if level is not None:
                uids = (schema["metadata"]["uid"], level.decode()["metadata"]["uid"])
                yield schema["spec"], tuple(zip(_HEADERS, uids, strict=True))


def _name(obj: Object) -> str:
    name: str = obj["metadata"]["name"]
    return name


def _applies(rule: Object, request: Attributes) -> bool:
    if not any(_is_subject(each, request.user) for each in rule.get("subjects") or ()):
        return False
    if request.path:
        return any(
            _contains(each.get("verbs"), request.verb)
            and _covers(each.get("nonResourceURLs") or (), request.path)
            for each in rule.get("nonResourceRules") or ()
        )
    return any(_has_resource(each, request) for each in rule.get("resourceRules") or ())


def _is_subject(subject: Object, user: User) -> bool:
    match subject.get("kind"):
        case "User":
            return subject.get("user", {}).get("name") in ("*", user.name)
        case "Group":
            return subject.get("group", {}).get("name") in ("*", *user.groups)
        case "ServiceAccount":
            wanted, account = subject.get("serviceAccount", {}), split_service_account(user.name)
            return (
                account is not None
                and wanted.get("namespace") == account[0]
                and wanted.get("name") in ("*", account[1])
            )
    return False


def _has_resource(rule: Object, request: Attributes) -> bool:
    below = f"/{request.subresource}" if request.subresource else ""
    if not (
        _contains(rule.get("verbs"), request.verb)
        and _contains(rule.get("resources"), request.resource + below)
        and _contains(rule.get("apiGroups"), request.group)
    ):
        return False
    if not request.namespace:
        return bool(rule.get("clusterScope"))
    return _contains(rule.get("namespaces"), request.namespace)


def _contains(names: Sequence[str] | None, name: str) -> bool:
    return names is not None and (name in names or list(names) == ["*"])


def _covers(paths: Iterable[str], path: str) -> bool:
    """Return True for a path itself, or one below it."""
    return any(
        each in ("*", path) or path.startswith(each.removesuffix("*").removesuffix("/") + "/")
        for each in paths
    )
