"""The pages about the server itself: its paths, version, health and metrics.

Promises the paths and forms of a real API server; a health check that is served always passes,
because a server that can answer is healthy.

Upstream: apiserver ``server/routes``, ``server/healthz``.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator
from typing import Final, Protocol

from clientgo.testcluster.server.auth.flow_control import LEVELS
from clientgo.testcluster.server.discovery.openid import OPENID_PATHS
from clientgo.testcluster.server.http.messages import (
    Request,
    Response,
    json_response,
    text_response,
)
from clientgo.testcluster.server.http.negotiation import plain_type
from clientgo.testcluster.server.resources.errors import method_not_allowed
from clientgo.testcluster.server.resources.registry import ResourceRegistry
from clientgo.testcluster.server.storage.storage import Storage

HEALTH_PATHS = frozenset({"/healthz", "/livez", "/readyz"})

_AFTER_START: Final = (
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/priority-and-fairness-config-consumer",
    "poststarthook/priority-and-fairness-filter",
    "poststarthook/storage-object-count-tracker-hook",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/peer-endpoint-reconciler-controller",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-kube-apiserver-identity-lease-controller",
    "poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
    "poststarthook/storage-readiness",
    "poststarthook/start-legacy-token-tracking-controller",
    "poststarthook/start-service-ip-repair-controllers",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/priority-and-fairness-config-producer",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kubernetes-service-cidr-controller",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-wait-for-first-sync",
    "poststarthook/apiservice-discovery-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
)
"""What a real server starts with, in its order; here all of it is done before requests are read."""

_CHECKS: Final = ("ping", "log", "loopback-serving-certificate", "etcd", *_AFTER_START)
_CHECKS_OF_READINESS: Final = (
    *("ping", "log", "etcd", "etcd-readiness", "informer-sync"),
    *_AFTER_START,
    "shutdown",
)

_BUILD = {
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": platform.python_implementation(),
    "platform": f"{platform.system().lower()}/{platform.machine()}",
}

_REQUESTS_AT_A_TIME: Final = 600
"""The default of a real server; here only what the metrics share out."""

_PAGES = (*OPENID_PATHS, "/metrics", "/openapi/v2", "/openapi/v3", "/version")

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"


class ServerState(Protocol):
    """What the pages show."""

    @property
    def storage(self) -> Storage:
        """The objects."""

    @property
    def registry(self) -> ResourceRegistry:
        """The resources that are served."""

    @property
    def minor_version(self) -> int:
        """The minor version of Kubernetes."""


def answer_server_page(state: ServerState, request: Request) -> Response | None:
    """Answer a page about the server; return None for other paths.

    Raises:
        FailedRequestError: 405 or 406.
    """
    path = request.path
    root, _, check = path[1:].partition("/")
    if f"/{root}" in HEALTH_PATHS:
        return _health(request, root, check)
    if path == "/":
        plain_type(request.headers.get("accept", ""))
        return json_response({"paths": sorted(_paths(state.registry))})
    if path.removesuffix("/") == "/version":
        if request.method != "GET":
            raise method_not_allowed()
        return json_response(_version(state.minor_version))
    if path == "/metrics":
        return Response(200, _metrics(state).encode(), METRICS_TYPE)
    return None


def _paths(registry: ResourceRegistry) -> Iterator[str]:
    yield from _PAGES
    yield from ("/apis", "/apis/")
    for group in registry.groups():
        root = f"/apis/{group.name}" if group.name else "/api"
        yield from (root, *(f"{root}/{version}" for version in group.versions))
    for path in HEALTH_PATHS:
        yield from (path, *(f"{path}/{check}" for check in _checks(path[1:])))


def _checks(root: str) -> tuple[str, ...]:
    return _CHECKS_OF_READINESS if root == "readyz" else _CHECKS


def _health(request: Request, root: str, check: str) -> Response | None:
    """Answer all checks, or one; None if there is no such check."""
    checks = _checks(root)
    if check:
        return text_response("ok") if check in checks else None
    if "verbose" not in request.query:
        return text_response("ok")
    excluded = request.query.get("exclude", ())
    lines = [f"[+]{name} excluded: ok" if name in excluded else f"[+]{name} ok" for name in checks]
    if unknown := [name for name in excluded if name not in checks]:
        shown = ", ".join(f'"{name}"' for name in sorted(unknown))
        lines.append(f"warn: some health checks cannot be excluded: no matches for {shown}")
    return text_response("\n".join([*lines, f"{root} check passed\n"]))


def _version(minor: int) -> dict[str, str]:
    return {
        "major": "1",
        "minor": str(minor),
        "emulationMajor": "1",
        "emulationMinor": str(minor),
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": str(minor - 1),
        "gitVersion": f"v1.{minor}.0+clientgo",
        **_BUILD,
    }


def _metrics(state: ServerState) -> str:
    """Return the number of objects and watches, by resource, as Prometheus reads them."""
    objects, watches = [], []
    for resource in state.registry.stored():
        collection = state.storage.collection(resource.collection_key)
        labels = f'{{group="{resource.group}",resource="{resource.plural}"}}'
        objects.append(f"apiserver_resource_objects{labels} {len(collection)}")
        watches.append(f"apiserver_longrunning_requests{labels} {len(collection.watchers)}")
    return "\n".join(
        [
            "# HELP apiserver_resource_objects Number of stored objects.",
            "# TYPE apiserver_resource_objects gauge",
            *objects,
            "# HELP apiserver_longrunning_requests Number of open watches.",
            "# TYPE apiserver_longrunning_requests gauge",
            *watches,
            "# HELP apiserver_flowcontrol_nominal_limit_seats Requests of each level.",
            "# TYPE apiserver_flowcontrol_nominal_limit_seats gauge",
            *_seats(state.storage),
            "",
        ]
    )


def _seats(storage: Storage) -> Iterator[str]:
    """Yield how the requests of a real server are shared among the priority levels.

    Upstream: ``--max-requests-inflight`` and ``--max-mutating-requests-inflight``.
    """
    shares = {}
    for stored in storage.collection(LEVELS).scan():
        spec = stored.decode()["spec"]
        limits = spec.get("limited") or spec.get("exempt") or {}
        shares[stored.key] = limits.get("nominalConcurrencyShares", 0)
    total = sum(shares.values())
    for name, share in sorted(shares.items()):
        seats = math.ceil(_REQUESTS_AT_A_TIME * share / total) if total else 0
        yield f'apiserver_flowcontrol_nominal_limit_seats{{priority_level="{name}"}} {seats}'
