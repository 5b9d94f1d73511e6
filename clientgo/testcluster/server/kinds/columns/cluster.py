"""Cells of nodes, events, quotas, component statuses and devices.

Upstream: ``pkg/printers/internalversion/printers.go``.
"""

from __future__ import annotations

from clientgo.testcluster.server.kinds.columns.readers import (
    NONE,
    UNKNOWN,
    conditions,
    find,
    is_deleted,
)
from clientgo.testcluster.server.kinds.conversions.events import to_core
from clientgo.testcluster.server.resources.columns import CellReader, age_since
from clientgo.testcluster.server.storage.storage import Object

# -- nodes

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"


def node_status(node: Object) -> str:
    """Return Ready, NotReady or Unknown, and whether scheduling is disabled."""
    ready = conditions(node).get("Ready")
    shown = {"True": "Ready", None: "Unknown"}.get(ready, "NotReady")
    return f"{shown},SchedulingDisabled" if node["spec"].get("unschedulable") else shown


def node_roles(node: Object) -> str:
    """Return the roles in the labels of a node."""
    labels = node["metadata"].get("labels", {})
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(labels.get(_ROLE_LABEL, ""))
    return ",".join(sorted(filter(None, roles))) or NONE


def node_address(kind: str) -> CellReader:
    """Read the node address of a type."""

    def read(node: Object) -> str:
        found = find(node, "status.addresses") or ()
        return next((str(item["address"]) for item in found if item["type"] == kind), NONE)

    return read


# -- events, which are stored in the core form and read in both


def event_last_seen(event: Object) -> str:
    """Return the time since the event was last observed."""
    event = to_core(event)
    seen = find(event, "series.lastObservedTime") or event.get("lastTimestamp")
    return age_since(seen or event.get("eventTime") or event.get("firstTimestamp"))


def event_first_seen(event: Object) -> str:
    """Return the time since the event was first observed."""
    event = to_core(event)
    return age_since(event.get("firstTimestamp") or event.get("eventTime"))


def event_object(event: Object) -> str:
    """Return kind and name of the object that the event is about."""
    involved = to_core(event).get("involvedObject") or {}
    return f"{involved.get('kind', '').lower()}/{involved.get('name', '')}"


def event_subobject(event: Object) -> str:
    """Return the field of the object that the event is about."""
    return str(find(to_core(event), "involvedObject.fieldPath") or "")


def event_source(event: Object) -> str:
    """Return the component, and its host, that reported the event."""
    event = to_core(event)
    source = event.get("source") or {}
    shown = [
        source.get("component") or event.get("reportingComponent"),
        source.get("host") or event.get("reportingInstance"),
    ]
    return ", ".join(item for item in shown if item)


def event_count(event: Object) -> int:
    """Return how often the event was observed."""
    event = to_core(event)
    count: int = find(event, "series.count") or event.get("count") or 1
    return count


def event_message(event: Object) -> str:
    """Return the description of the event."""
    return str(to_core(event).get("message") or "").strip()


# -- quotas

_LIMITS = "limits."


def quota_requests(quota: Object) -> str:
    """Return used and hard limit of each resource that is not a limit."""
    return _quota(quota, limits=False)


def quota_limits(quota: Object) -> str:
    """Return used and hard limit of each limit."""
    return _quota(quota, limits=True)


def _quota(quota: Object, *, limits: bool) -> str:
    hard = find(quota, "status.hard") or {}
    used = find(quota, "status.used") or {}
    names = sorted(name for name in hard if name.startswith(_LIMITS) == limits)
    return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)


# -- component statuses


def healthy(field: str) -> CellReader:
    """Read a field of the condition Healthy."""

    def read(component: Object) -> str:
        for condition in component.get("conditions") or ():
            if condition["type"] == "Healthy":
                shown = str(condition.get(field, ""))
                return {"True": "Healthy", "False": "Unhealthy"}.get(shown, shown)
        return UNKNOWN if field == "status" else ""

    return read


# -- devices


def claim_state(claim: Object) -> str:
    """Return the state of a resource claim."""
    states = ["deleted"] if is_deleted(claim) else []
    if find(claim, "status.allocation") is not None:
        states.append("allocated")
        if find(claim, "status.reservedFor"):
            states.append("reserved")
    elif not states:
        states.append("pending")
    return ",".join(states)
