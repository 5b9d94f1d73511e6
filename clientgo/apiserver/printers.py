"""The columns of built-in kinds in Tables, as kubectl users know them.

Upstream: ``pkg/printers/internalversion/printers.go``. There each kind has a function that fills a
row; here a kind is a tuple of columns, and a column a function of the object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clientgo.apiserver.events import to_core
from clientgo.apiserver.storage import Object
from clientgo.apiserver.table import (
    AGE,
    CREATED_AT,
    NAME,
    CellReader,
    Column,
    age_since,
    human_duration,
)
from clientgo.meta.label_selector_objects import selector_from_object
from clientgo.meta.labels import format_labels
from clientgo.meta.timestamps import parse_time

_WIDE = 1
_NONE = "<none>"


def _find(obj: Any, path: str) -> Any:
    """A field by its dotted path; None if it is absent."""
    for name in path.split("."):
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj


def _text(path: str, default: str = "") -> CellReader:
    return lambda obj: str(value) if (value := _find(obj, path)) is not None else default


def _number(path: str) -> CellReader:
    return lambda obj: _find(obj, path) or 0


def _count(*paths: str) -> CellReader:
    return lambda obj: sum(len(_find(obj, path) or ()) for path in paths)


def _age(path: str) -> CellReader:
    return lambda obj: age_since(_find(obj, path))


def _joined(path: str) -> CellReader:
    return lambda obj: ",".join(map(str, _find(obj, path) or ())) or _NONE


def _column(name: str, cell: CellReader, kind: str = "string", *, wide: bool = False) -> Column:
    return Column(name, kind, cell, priority=_WIDE if wide else 0)


def _selector(path: str) -> CellReader:
    def read(obj: Object) -> str:
        selector = _find(obj, path)
        if not selector:
            return _NONE
        if selector.keys() & {"matchLabels", "matchExpressions"}:
            return str(selector_from_object(selector)) or _NONE
        return format_labels(selector)

    return read


def _containers(path: str, field: str) -> CellReader:
    return lambda obj: ",".join(item.get(field, "") for item in _find(obj, path) or ())


def _of_containers(template: str) -> tuple[Column, ...]:
    path = f"{template}.containers"
    return (
        _column("Containers", _containers(path, "name"), wide=True),
        _column("Images", _containers(path, "image"), wide=True),
    )


def _fraction(part: str, whole: str) -> CellReader:
    return lambda obj: f"{_find(obj, part) or 0}/{_find(obj, whole) or 0}"


# -- pods


def _statuses(pod: Object) -> list[Object]:
    return _find(pod, "status.containerStatuses") or []


def _pod_ready(pod: Object) -> str:
    ready = sum(bool(item.get("ready")) for item in _statuses(pod))
    return f"{ready}/{len(pod['spec'].get('containers', ()))}"


def _pod_status(pod: Object) -> str:
    """The phase, or what a container says that is more telling."""
    status = pod.get("status", {})
    reason: str = status.get("reason") or status.get("phase", "")
    for item in reversed(_statuses(pod)):
        state = item.get("state", {})
        told = state.get("waiting") or state.get("terminated") or {}
        reason = told.get("reason") or reason
    if "deletionTimestamp" in pod["metadata"]:
        return "Terminating"
    return reason


def _pod_restarts(pod: Object) -> str:
    return str(sum(item.get("restartCount", 0) for item in _statuses(pod)))


# -- services, nodes, bindings, jobs


def _external_ip(service: Object) -> str:
    spec = service["spec"]
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", _NONE))
    addresses = [
        item.get("ip") or item.get("hostname")
        for item in _find(service, "status.loadBalancer.ingress") or ()
    ]
    pending = "<pending>" if spec.get("type") == "LoadBalancer" else _NONE
    return ",".join([*addresses, *spec.get("externalIPs", ())]) or pending


def _ports(service: Object) -> str:
    told = []
    for port in service["spec"].get("ports", ()):
        node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
        told.append(f"{port['port']}{node_port}/{port.get('protocol', 'TCP')}")
    return ",".join(told) or _NONE


def _node_status(node: Object) -> str:
    conditions = _find(node, "status.conditions") or ()
    ready = next((item["status"] for item in conditions if item["type"] == "Ready"), None)
    told = {"True": "Ready", None: "Unknown"}.get(ready, "NotReady")
    return f"{told},SchedulingDisabled" if node["spec"].get("unschedulable") else told


_ROLE_LABEL = "node-role.kubernetes.io/"


def _node_roles(node: Object) -> str:
    labels = node["metadata"].get("labels", {})
    roles = sorted(key.removeprefix(_ROLE_LABEL) for key in labels if key.startswith(_ROLE_LABEL))
    return ",".join(roles) or _NONE


def _role(binding: Object) -> str:
    return f"{binding['roleRef'].get('kind', '')}/{binding['roleRef'].get('name', '')}"


def _subjects(kind: str) -> CellReader:
    def read(binding: Object) -> str:
        names = []
        for subject in binding.get("subjects") or ():
            if subject.get("kind") == kind:
                namespace = subject.get("namespace")
                names.append(f"{namespace}/{subject['name']}" if namespace else subject["name"])
        return ", ".join(names)

    return read


def _job_status(job: Object) -> str:
    conditions = {
        item["type"] for item in _find(job, "status.conditions") or () if item["status"] == "True"
    }
    for kind in ("Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if kind in conditions:
            return kind
    return "Terminating" if "deletionTimestamp" in job["metadata"] else "Running"


def _duration(job: Object) -> str:
    started, ended = _find(job, "status.startTime"), _find(job, "status.completionTime")
    if not started:
        return ""
    if not ended:
        return age_since(started)
    return human_duration(parse_time(ended) - parse_time(started))


def _yes(path: str) -> CellReader:
    return lambda obj: "True" if _find(obj, path) else "False"


# -- events, ingresses, volumes


def _of_core(read: CellReader) -> CellReader:
    """Reads an event of either group in the names of the core one."""
    return lambda event: read(to_core(event))


def _last_seen(event: Object) -> str:
    seen = _find(event, "series.lastObservedTime") or event.get("lastTimestamp")
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


def _event_text(event: Object) -> str:
    return str(event.get("message") or "").strip()


def _hosts(ingress: Object) -> str:
    hosts = [rule["host"] for rule in ingress["spec"].get("rules", ()) if rule.get("host")]
    return ",".join(hosts) or "*"


_ACCESS_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _access_modes(path: str) -> CellReader:
    return lambda obj: ",".join(_ACCESS_MODES.get(mode, mode) for mode in _find(obj, path) or ())


def _claim(volume: Object) -> str:
    claim = volume["spec"].get("claimRef")
    return f"{claim.get('namespace')}/{claim.get('name')}" if claim else ""


# -- the table of tables

_REPLICAS = (
    _column("Desired", _number("spec.replicas"), "integer"),
    _column("Current", _number("status.replicas"), "integer"),
    _column("Ready", _number("status.readyReplicas"), "integer"),
)
_EVENT = (
    _column("Last Seen", _of_core(_last_seen)),
    _column("Type", _text("type")),
    _column("Reason", _text("reason")),
    _column("Object", _of_core(_involved)),
    _column("Subobject", _of_core(_text("involvedObject.fieldPath")), wide=True),
    _column("Source", _of_core(_event_source), wide=True),
    _column("Message", _of_core(_event_text)),
    _column("First Seen", _of_core(_first_seen), wide=True),
    _column("Count", _of_core(_text("count", "1")), wide=True),
    Column("Name", "string", NAME.cell, "name", priority=_WIDE),
)
_BINDING = (
    NAME,
    _column("Role", _role),
    AGE,
    _column("Users", _subjects("User"), wide=True),
    _column("Groups", _subjects("Group"), wide=True),
    _column("ServiceAccounts", _subjects("ServiceAccount"), wide=True),
)
_ROLE = (NAME, CREATED_AT)

_COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "v1/configmaps": (NAME, _column("Data", _count("data", "binaryData"), "integer"), AGE),
    "v1/events": _EVENT,
    "events.k8s.io/v1/events": _EVENT,
    "v1/namespaces": (NAME, _column("Status", _text("status.phase")), AGE),
    "v1/nodes": (
        NAME,
        _column("Status", _node_status),
        _column("Roles", _node_roles),
        AGE,
        _column("Version", _text("status.nodeInfo.kubeletVersion")),
    ),
    "v1/persistentvolumeclaims": (
        NAME,
        _column("Status", _text("status.phase")),
        _column("Volume", _text("spec.volumeName")),
        _column("Capacity", _text("status.capacity.storage")),
        _column("Access Modes", _access_modes("status.accessModes")),
        _column("StorageClass", _text("spec.storageClassName")),
        AGE,
        _column("VolumeMode", _text("spec.volumeMode", "Filesystem"), wide=True),
    ),
    "v1/persistentvolumes": (
        NAME,
        _column("Capacity", _text("spec.capacity.storage")),
        _column("Access Modes", _access_modes("spec.accessModes")),
        _column("Reclaim Policy", _text("spec.persistentVolumeReclaimPolicy")),
        _column("Status", _text("status.phase")),
        _column("Claim", _claim),
        _column("StorageClass", _text("spec.storageClassName")),
        AGE,
    ),
    "v1/pods": (
        NAME,
        _column("Ready", _pod_ready),
        _column("Status", _pod_status),
        _column("Restarts", _pod_restarts),
        AGE,
        _column("IP", _text("status.podIP", _NONE), wide=True),
        _column("Node", _text("spec.nodeName", _NONE), wide=True),
        _column("Nominated Node", _text("status.nominatedNodeName", _NONE), wide=True),
        _column("Readiness Gates", _joined("spec.readinessGates"), wide=True),
    ),
    "v1/podtemplates": (
        NAME,
        _column("Containers", _containers("template.spec.containers", "name")),
        _column("Images", _containers("template.spec.containers", "image")),
        _column("Pod Labels", _selector("template.metadata.labels")),
    ),
    "v1/replicationcontrollers": (
        NAME,
        *_REPLICAS,
        AGE,
        *_of_containers("spec.template.spec"),
        _column("Selector", _selector("spec.selector"), wide=True),
    ),
    "v1/secrets": (
        NAME,
        _column("Type", _text("type")),
        _column("Data", _count("data"), "integer"),
        AGE,
    ),
    "v1/serviceaccounts": (NAME, _column("Secrets", _count("secrets"), "integer"), AGE),
    "v1/services": (
        NAME,
        _column("Type", _text("spec.type")),
        _column("Cluster-IP", _text("spec.clusterIP", _NONE)),
        _column("External-IP", _external_ip),
        _column("Port(s)", _ports),
        AGE,
        _column("Selector", _selector("spec.selector"), wide=True),
    ),
    "apps/v1/controllerrevisions": (NAME, _column("Revision", _number("revision"), "integer"), AGE),
    "apps/v1/daemonsets": (
        NAME,
        _column("Desired", _number("status.desiredNumberScheduled"), "integer"),
        _column("Current", _number("status.currentNumberScheduled"), "integer"),
        _column("Ready", _number("status.numberReady"), "integer"),
        _column("Up-to-date", _number("status.updatedNumberScheduled"), "integer"),
        _column("Available", _number("status.numberAvailable"), "integer"),
        _column("Node Selector", _selector("spec.template.spec.nodeSelector")),
        AGE,
        *_of_containers("spec.template.spec"),
        _column("Selector", _selector("spec.selector"), wide=True),
    ),
    "apps/v1/deployments": (
        NAME,
        _column("Ready", _fraction("status.readyReplicas", "spec.replicas")),
        _column("Up-to-date", _number("status.updatedReplicas")),
        _column("Available", _number("status.availableReplicas")),
        AGE,
        *_of_containers("spec.template.spec"),
        _column("Selector", _selector("spec.selector"), wide=True),
    ),
    "apps/v1/replicasets": (
        NAME,
        *_REPLICAS,
        AGE,
        *_of_containers("spec.template.spec"),
        _column("Selector", _selector("spec.selector"), wide=True),
    ),
    "apps/v1/statefulsets": (
        NAME,
        _column("Ready", _fraction("status.readyReplicas", "spec.replicas")),
        AGE,
        *_of_containers("spec.template.spec"),
    ),
    "batch/v1/cronjobs": (
        NAME,
        _column("Schedule", _text("spec.schedule")),
        _column("Timezone", _text("spec.timeZone", _NONE)),
        _column("Suspend", _yes("spec.suspend")),
        _column("Active", _count("status.active"), "integer"),
        _column("Last Schedule", _age("status.lastScheduleTime")),
        AGE,
        *_of_containers("spec.jobTemplate.spec.template.spec"),
    ),
    "batch/v1/jobs": (
        NAME,
        _column("Status", _job_status),
        _column("Completions", _fraction("status.succeeded", "spec.completions")),
        _column("Duration", _duration),
        AGE,
        *_of_containers("spec.template.spec"),
        _column("Selector", _selector("spec.selector"), wide=True),
    ),
    "coordination.k8s.io/v1/leases": (NAME, _column("Holder", _text("spec.holderIdentity")), AGE),
    "networking.k8s.io/v1/ingresses": (
        NAME,
        _column("Class", _text("spec.ingressClassName", _NONE)),
        _column("Hosts", _hosts),
        AGE,
    ),
    "networking.k8s.io/v1/networkpolicies": (
        NAME,
        _column("Pod-Selector", _selector("spec.podSelector")),
        AGE,
    ),
    "policy/v1/poddisruptionbudgets": (
        NAME,
        _column("Min Available", _text("spec.minAvailable", "N/A")),
        _column("Max Unavailable", _text("spec.maxUnavailable", "N/A")),
        _column("Allowed Disruptions", _number("status.disruptionsAllowed"), "integer"),
        AGE,
    ),
    "rbac.authorization.k8s.io/v1/clusterrolebindings": _BINDING,
    "rbac.authorization.k8s.io/v1/rolebindings": _BINDING,
    "rbac.authorization.k8s.io/v1/clusterroles": _ROLE,
    "rbac.authorization.k8s.io/v1/roles": _ROLE,
    "scheduling.k8s.io/v1/priorityclasses": (
        NAME,
        _column("Value", _number("value"), "integer"),
        _column("Global-Default", lambda obj: bool(obj.get("globalDefault")), "boolean"),
        AGE,
    ),
    "storage.k8s.io/v1/storageclasses": (
        NAME,
        _column("Provisioner", _text("provisioner")),
        _column("ReclaimPolicy", _text("reclaimPolicy", "Delete")),
        _column("VolumeBindingMode", _text("volumeBindingMode", "Immediate")),
        AGE,
    ),
    "admissionregistration.k8s.io/v1/mutatingwebhookconfigurations": (
        NAME,
        _column("Webhooks", _count("webhooks"), "integer"),
        AGE,
    ),
    "admissionregistration.k8s.io/v1/validatingwebhookconfigurations": (
        NAME,
        _column("Webhooks", _count("webhooks"), "integer"),
        AGE,
    ),
}


def columns_for(api_version: str, plural: str) -> tuple[Column, ...]:
    """The columns of a built-in resource; name and creation time if it has none of its own."""
    return _COLUMNS.get(f"{api_version}/{plural}", (NAME, CREATED_AT))
