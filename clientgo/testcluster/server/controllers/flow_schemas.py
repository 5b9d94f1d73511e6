"""The flow schemas and priority levels of a cluster: those of the start, and their status.

Promises: those that every cluster has are there from the start; what a client has changed stays.
The condition ``Dangling`` of a flow schema says soon after a change whether its priority level
exists.

Does not promise limits: no request waits or is refused because of a priority level.

Upstream: apiserver ``pkg/apis/flowcontrol/bootstrap`` and ``util/flowcontrol/apf_controller.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from clientgo.testcluster.server.auth.flow_control import LEVELS, SCHEMAS
from clientgo.testcluster.server.auth.users import (
    AUTHENTICATED,
    MASTERS,
    NODES,
    UNAUTHENTICATED,
)
from clientgo.testcluster.server.controllers.background import BackgroundWork
from clientgo.testcluster.server.objects.state import State
from clientgo.testcluster.server.objects.writer import ObjectWriter
from clientgo.testcluster.server.storage.storage import Change, Collection, Object

_API_VERSION: Final = "flowcontrol.apiserver.k8s.io/v1"
_UPDATED: Final = {"apf.kubernetes.io/autoupdate-spec": "true"}
_EVERY: Final = ["*"]


def _group(name: str) -> Object:
    return {"kind": "Group", "group": {"name": name}}


def _user(name: str) -> Object:
    return {"kind": "User", "user": {"name": name}}


def _resources(
    groups: Sequence[str], resources: Sequence[str], verbs: Sequence[str], *, cluster: bool = False
) -> Object:
    rule = {"apiGroups": groups, "resources": resources, "verbs": verbs, "namespaces": _EVERY}
    return {**rule, "clusterScope": True} if cluster else rule


def _paths(paths: Sequence[str], verbs: Sequence[str]) -> Object:
    return {"nonResourceURLs": paths, "verbs": verbs}


_EVERYTHING: Final = {
    "nonResourceRules": [_paths(_EVERY, _EVERY)],
    "resourceRules": [_resources(_EVERY, _EVERY, _EVERY, cluster=True)],
}
_PROBES: Final = {"nonResourceRules": [_paths(["/healthz", "/readyz", "/livez"], ["get"])]}
_ELECTION: Final = {
    "resourceRules": [_resources(["coordination.k8s.io"], ["leases"], ["get", "create", "update"])]
}
_OF_NODES: Final = {
    "resourceRules": [
        _resources([""], ["nodes", "nodes/status"], _EVERY, cluster=True),
        _resources(["coordination.k8s.io"], ["leases"], _EVERY),
    ]
}

_SYSTEM_ACCOUNTS: Final = {
    "kind": "ServiceAccount",
    "serviceAccount": {"name": "*", "namespace": "kube-system"},
}
_ANYONE: Final = [_group(UNAUTHENTICATED), _group(AUTHENTICATED)]
_MANAGER, _SCHEDULER = _user("system:kube-controller-manager"), _user("system:kube-scheduler")

_SCHEMAS: Final = (
    ("exempt", 1, "exempt", "", [_group(MASTERS)], _EVERYTHING),
    ("probes", 2, "exempt", "", _ANYONE, _PROBES),
    (
        *("system-leader-election", 100, "leader-election", "ByUser"),
        *([_MANAGER, _SCHEDULER, _SYSTEM_ACCOUNTS], _ELECTION),
    ),
    ("system-node-high", 400, "node-high", "ByUser", [_group(NODES)], _OF_NODES),
    ("system-nodes", 500, "system", "ByUser", [_group(NODES)], _EVERYTHING),
    ("kube-controller-manager", 800, "workload-high", "ByNamespace", [_MANAGER], _EVERYTHING),
    ("kube-scheduler", 800, "workload-high", "ByNamespace", [_SCHEDULER], _EVERYTHING),
    (
        *("kube-system-service-accounts", 900, "workload-high", "ByNamespace"),
        *([_SYSTEM_ACCOUNTS], _EVERYTHING),
    ),
    (
        *("service-accounts", 9000, "workload-low", "ByUser"),
        *([_group("system:serviceaccounts")], _EVERYTHING),
    ),
    ("global-default", 9900, "global-default", "ByUser", _ANYONE, _EVERYTHING),
    ("catch-all", 10000, "catch-all", "ByUser", _ANYONE, _EVERYTHING),
)
"""Name, precedence, priority level, distinguisher, subjects and rules."""

_LEVELS: Final = (
    ("system", 30, 33, (64, 6)),
    ("node-high", 40, 25, (64, 6)),
    ("leader-election", 10, 0, (16, 4)),
    ("workload-high", 40, 50, (128, 6)),
    ("workload-low", 100, 90, (128, 6)),
    ("global-default", 20, 50, (128, 6)),
    ("catch-all", 5, 0, None),
)
"""Name, shares, per cent that others may borrow, and the number of queues with their hand size."""


def _initial_levels() -> Iterator[tuple[str, Object]]:
    exempt = {"lendablePercent": 0, "nominalConcurrencyShares": 0}
    yield "exempt", {"type": "Exempt", "exempt": exempt}
    for name, shares, lendable, queues in _LEVELS:
        response: Object = {"type": "Reject"}
        if queues is not None:
            sizes = {"queues": queues[0], "handSize": queues[1], "queueLengthLimit": 50}
            response = {"type": "Queue", "queuing": sizes}
        limited = {
            "lendablePercent": lendable,
            "limitResponse": response,
            "nominalConcurrencyShares": shares,
        }
        yield name, {"type": "Limited", "limited": limited}


def _initial_schemas() -> Iterator[tuple[str, Object]]:
    for name, precedence, level, distinguisher, subjects, rules in _SCHEMAS:
        spec: Object = {
            "matchingPrecedence": precedence,
            "priorityLevelConfiguration": {"name": level},
            "rules": [{**rules, "subjects": subjects}],
        }
        if distinguisher:
            spec["distinguisherMethod"] = {"type": distinguisher}
        yield name, spec


class FlowSchemaController:
    """Creates the objects of the start, and writes the condition of flow schemas."""

    def __init__(self, state: State, writer: ObjectWriter, work: BackgroundWork) -> None:
        self._state = state
        self._writer = writer
        self._work = work
        self._schemas = state.storage.collection(SCHEMAS)
        self._levels = state.storage.collection(LEVELS)
        state.storage.observe(self._observe_schema, SCHEMAS)
        state.storage.observe(self._observe_level, LEVELS)

    def create_initial(self) -> None:
        """Create what is missing."""
        for plural, objects in (
            (LEVELS[1], _initial_levels()),
            (SCHEMAS[1], _initial_schemas()),
        ):
            for name, spec in objects:
                metadata = {"name": name, "generation": 1, "annotations": _UPDATED}
                status: Object = {}
                if plural == SCHEMAS[1]:
                    level = spec["priorityLevelConfiguration"]["name"]
                    status = {"conditions": [self._condition(level, exists=True)]}
                body = {"metadata": metadata, "spec": spec, "status": status}
                self._writer.put_own(_API_VERSION, plural, body, keep=True)

    def _observe_schema(self, _: Collection, change: Change) -> None:
        if self._is_due(change.current.key):
            self._work.start(self._write(change.current.key))

    def _observe_level(self, _: Collection, _change: Change) -> None:
        for stored in self._schemas.scan():
            if self._is_due(stored.key):
                self._work.start(self._write(stored.key))

    def _is_due(self, name: str) -> bool:
        return self._wanted(name) is not None

    async def _write(self, name: str) -> None:
        wanted = self._wanted(name)
        stored = self._schemas.get(name)
        if wanted is not None and stored is not None:
            self._state.storage.put(self._schemas, name, wanted, stored.fields)

    def _wanted(self, name: str) -> Object | None:
        """Return a flow schema with the right condition; None if it has that, or is gone."""
        stored = self._schemas.get(name)
        if stored is None:
            return None
        obj = stored.decode()
        level = obj["spec"]["priorityLevelConfiguration"]["name"]
        wanted = self._condition(level, exists=self._levels.get(level) is not None)
        status: dict[str, Any] = obj.get("status") or {}
        conditions = list(status.get("conditions") or ())
        for index, known in enumerate(conditions):
            if known.get("type") == wanted["type"]:
                if all(known.get(key) == wanted[key] for key in ("status", "reason", "message")):
                    return None
                conditions[index] = wanted
                break
        else:
            conditions.append(wanted)
        return {**obj, "status": {**status, "conditions": conditions}}

    def _condition(self, level: str, *, exists: bool) -> Object:
        found = "and it exists" if exists else "but there is no such object"
        return {
            "type": "Dangling",
            "status": "False" if exists else "True",
            "lastTransitionTime": self._state.timestamp(),
            "reason": "Found" if exists else "NotFound",
            "message": "This FlowSchema references the PriorityLevelConfiguration object named "
            f'"{level}" {found}',
        }
