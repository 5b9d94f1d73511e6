"""The columns of configuration, nodes, namespaces, events, leases and quotas.

Upstream: ``pkg/printers/internalversion/printers.go``.
"""

from __future__ import annotations

from clientgo.apiserver.kinds.columns.columns import (
    NONE,
    UNKNOWN,
    column,
    conditions,
    count,
    find,
    number,
    text,
    yes_or_no,
)
from clientgo.apiserver.kinds.events import to_core
from clientgo.apiserver.resources.columns import AGE, NAME, CellReader, Column, age_since
from clientgo.apiserver.storage.storage import Object

# -- nodes

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"


def _node_status(node: Object) -> str:
    ready = conditions(node).get("Ready")
    told = {"True": "Ready", None: "Unknown"}.get(ready, "NotReady")
    return f"{told},SchedulingDisabled" if node["spec"].get("unschedulable") else told


def _node_roles(node: Object) -> str:
    labels = node["metadata"].get("labels", {})
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(labels.get(_ROLE_LABEL, ""))
    return ",".join(sorted(filter(None, roles))) or NONE


def _node_address(kind: str) -> CellReader:
    def read(node: Object) -> str:
        found = find(node, "status.addresses") or ()
        return next((str(item["address"]) for item in found if item["type"] == kind), NONE)

    return read


def _node_info(name: str, field: str, description: str) -> Column:
    return column(name, text(f"status.nodeInfo.{field}", UNKNOWN), description, wide=True)


# -- events


def _of_core(read: CellReader) -> CellReader:
    """Reads an event of either group in the names of the core one."""
    return lambda event: read(to_core(event))


def _last_seen(event: Object) -> str:
    seen = find(event, "series.lastObservedTime") or event.get("lastTimestamp")
    return age_since(seen or event.get("eventTime") or event.get("firstTimestamp"))


def _first_seen(event: Object) -> str:
    return age_since(event.get("firstTimestamp") or event.get("eventTime"))


def _involved(event: Object) -> str:
    involved = event.get("involvedObject") or {}
    return f"{involved.get('kind', '').lower()}/{involved.get('name', '')}"


def _event_source(event: Object) -> str:
    source = event.get("source") or {}
    told = [source.get("component") or event.get("reportingComponent"), source.get("host")]
    return ", ".join(item for item in told if item)


def _event_count(event: Object) -> str:
    return str(find(event, "series.count") or event.get("count") or 1)


def _event_text(event: Object) -> str:
    return str(event.get("message") or "").strip()


_EVENT = (
    column("Last Seen", _of_core(_last_seen), "When it happened last."),
    column("Type", text("type"), "Normal or Warning."),
    column("Reason", text("reason"), "What happened, in a word."),
    column("Object", _of_core(_involved), "What it happened to."),
    column("Subobject", _of_core(text("involvedObject.fieldPath")), "To which part.", wide=True),
    column("Source", _of_core(_event_source), "Who tells it.", wide=True),
    column("Message", _of_core(_event_text), "What happened, in a sentence."),
    column("First Seen", _of_core(_first_seen), "When it happened first.", wide=True),
    column("Count", _of_core(_event_count), "How often it happened.", wide=True),
    Column("Name", "string", NAME.cell, "name", NAME.description, priority=1),
)

# -- quotas

_LIMITS = "limits."


def _quota(*, limits: bool) -> CellReader:
    """What is used of what there is, by resource."""

    def read(quota: Object) -> str:
        hard = find(quota, "status.hard") or {}
        used = find(quota, "status.used") or {}
        told = sorted(name for name in hard if name.startswith(_LIMITS) == limits)
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in told)

    return read


# -- the components of old


def _healthy(field: str) -> CellReader:
    def read(component: Object) -> str:
        for condition in component.get("conditions") or ():
            if condition["type"] == "Healthy":
                told = str(condition.get(field, ""))
                return {"True": "Healthy", "False": "Unhealthy"}.get(told, told)
        return UNKNOWN if field == "status" else ""

    return read


CORE_COLUMNS: dict[str, tuple[Column, ...]] = {
    "v1/componentstatuses": (
        NAME,
        column("Status", _healthy("status"), "Whether it is well."),
        column("Message", _healthy("message"), "What it says."),
        column("Error", _healthy("error"), "What is wrong."),
    ),
    "v1/configmaps": (NAME, column("Data", count("data", "binaryData"), "How many keys."), AGE),
    "v1/events": _EVENT,
    "events.k8s.io/v1/events": _EVENT,
    "v1/namespaces": (NAME, column("Status", text("status.phase"), "Active, or ending."), AGE),
    "v1/nodes": (
        NAME,
        column("Status", _node_status, "Whether it takes pods."),
        column("Roles", _node_roles, "What it is for."),
        AGE,
        column("Version", text("status.nodeInfo.kubeletVersion"), "Version of its kubelet."),
        column("Internal-IP", _node_address("InternalIP"), "Its address inside.", wide=True),
        column("External-IP", _node_address("ExternalIP"), "Its address outside.", wide=True),
        _node_info("OS-Image", "osImage", "Its operating system."),
        _node_info("Kernel-Version", "kernelVersion", "Its kernel."),
        _node_info("Container-Runtime", "containerRuntimeVersion", "What runs its containers."),
    ),
    "v1/resourcequotas": (
        NAME,
        column("Request", _quota(limits=False), "What is asked for, of what may be."),
        column("Limit", _quota(limits=True), "What may be used, of what may be allowed."),
        AGE,
    ),
    "v1/secrets": (
        NAME,
        column("Type", text("type"), "What the secret is."),
        column("Data", count("data"), "How many keys."),
        AGE,
    ),
    "v1/serviceaccounts": (NAME, column("Secrets", count("secrets"), "How many secrets."), AGE),
    "coordination.k8s.io/v1/leases": (
        NAME,
        column("Holder", text("spec.holderIdentity"), "Who has it."),
        AGE,
    ),
    "scheduling.k8s.io/v1/priorityclasses": (
        NAME,
        column("Value", number("value"), "The higher, the sooner.", "integer"),
        column(
            "Global-Default",
            yes_or_no("globalDefault"),
            "Whether pods without a class have it.",
            "boolean",
        ),
        AGE,
        column("PreemptionPolicy", text("preemptionPolicy"), "Whether others have to go for it."),
    ),
}
"""By API version and plural."""
