"""The columns of what runs pods: apps, batch, autoscaling, disruption budgets.

Upstream: ``pkg/printers/internalversion/printers.go``.
"""

from __future__ import annotations

from typing import Any

from clientgo.apiserver.kinds.columns.columns import (
    NONE,
    UNKNOWN,
    UNSET,
    age,
    column,
    conditions,
    containers,
    count,
    find,
    fraction,
    is_deleted,
    number,
    selector,
    text,
)
from clientgo.apiserver.resources.columns import AGE, NAME, Column, age_since, human_duration
from clientgo.apiserver.storage.storage import Object
from clientgo.meta.timestamps import parse_time

_MOST_METRICS = 2


# -- jobs


def _job_status(job: Object) -> str:
    met = {kind for kind, status in conditions(job).items() if status == "True"}
    for kind in ("Complete", "Failed"):
        if kind in met:
            return kind
    if is_deleted(job):
        return "Terminating"
    for kind in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if kind in met:
            return kind
    return "Running"


def _completions(job: Object) -> str:
    succeeded = find(job, "status.succeeded") or 0
    wanted, parallelism = find(job, "spec.completions"), find(job, "spec.parallelism") or 0
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(job: Object) -> str:
    started, ended = find(job, "status.startTime"), find(job, "status.completionTime")
    if not started:
        return ""
    if not ended:
        return age_since(started)
    return human_duration(parse_time(ended) - parse_time(started))


# -- autoscalers


def _reference(path: str) -> Any:
    return lambda obj: f"{find(obj, f'{path}.kind')}/{find(obj, f'{path}.name')}"


def _targets(autoscaler: Object) -> str:
    """Each metric as it is, and as it should be."""
    current = find(autoscaler, "status.currentMetrics") or []
    shown = []
    for place, metric in enumerate(find(autoscaler, "spec.metrics") or ()):
        now = current[place] if place < len(current) else {}
        shown.append(_target(metric, now))
    more = len(shown) - _MOST_METRICS
    rest = f" + {more} more..." if more > 0 else ""
    return (", ".join(shown[:_MOST_METRICS]) or NONE) + rest


_SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}


def _target(metric: Object, now: Object) -> str:
    kind = metric.get("type", "")
    source = metric.get(_SOURCES.get(kind, "")) or {}
    is_now = find(now, f"{_SOURCES.get(kind, '')}.current") or {}
    target = source.get("target", {})
    prefix = f"{source.get('name', '')}: " if "esource" in kind else ""
    if (wanted := target.get("averageValue")) is not None:
        suffix = " (avg)" if kind in ("External", "Object") else ""
        return f"{prefix}{is_now.get('averageValue', UNKNOWN)}/{wanted}{suffix}"
    if prefix:
        used, wanted = is_now.get("averageUtilization"), target.get("averageUtilization")
        return f"{prefix}{_percent(used, UNKNOWN)}/{_percent(wanted, '<auto>')}"
    return f"{is_now.get('value', UNKNOWN)}/{target.get('value', UNKNOWN)}"


def _percent(value: int | None, unknown: str) -> str:
    return unknown if value is None else f"{value}%"


# -- the rest


def _controller(revision: Object) -> str:
    for owner in revision["metadata"].get("ownerReferences", ()):
        if owner.get("controller"):
            group = owner["apiVersion"].rpartition("/")[0]
            kind = owner["kind"].lower()
            return f"{kind}.{group}/{owner['name']}" if group else f"{kind}/{owner['name']}"
    return NONE


_REPLICAS = (
    column("Desired", number("spec.replicas"), "Pods that there should be.", "integer"),
    column("Current", number("status.replicas"), "Pods that there are.", "integer"),
    column("Ready", number("status.readyReplicas"), "Pods that are ready.", "integer"),
)
_READY = column(
    "Ready", fraction("status.readyReplicas", "spec.replicas"), "Pods that are ready, of all."
)
_SELECTOR = column("Selector", selector("spec.selector"), "Labels of the pods.", wide=True)
_TEMPLATE = containers("spec.template.spec")

WORKLOAD_COLUMNS: dict[str, tuple[Column, ...]] = {
    "v1/replicationcontrollers": (NAME, *_REPLICAS, AGE, *_TEMPLATE, _SELECTOR),
    "apps/v1/controllerrevisions": (
        NAME,
        column("Controller", _controller, "Whose revision it is."),
        column("Revision", number("revision"), "Number of the revision."),
        AGE,
    ),
    "apps/v1/daemonsets": (
        NAME,
        column(
            "Desired",
            number("status.desiredNumberScheduled"),
            "Nodes that should run a pod.",
            "integer",
        ),
        column(
            "Current", number("status.currentNumberScheduled"), "Nodes that run a pod.", "integer"
        ),
        column("Ready", number("status.numberReady"), "Pods that are ready.", "integer"),
        column(
            "Up-to-date",
            number("status.updatedNumberScheduled"),
            "Pods of the latest template.",
            "integer",
        ),
        column("Available", number("status.numberAvailable"), "Pods in service.", "integer"),
        column(
            "Node Selector",
            selector("spec.template.spec.nodeSelector"),
            "Labels of the nodes that are meant.",
        ),
        AGE,
        *_TEMPLATE,
        _SELECTOR,
    ),
    "apps/v1/deployments": (
        NAME,
        _READY,
        column("Up-to-date", number("status.updatedReplicas"), "Pods of the latest template."),
        column("Available", number("status.availableReplicas"), "Pods in service."),
        AGE,
        *_TEMPLATE,
        _SELECTOR,
    ),
    "apps/v1/replicasets": (NAME, *_REPLICAS, AGE, *_TEMPLATE, _SELECTOR),
    "apps/v1/statefulsets": (NAME, _READY, AGE, *_TEMPLATE),
    "autoscaling/v2/horizontalpodautoscalers": (
        NAME,
        column("Reference", _reference("spec.scaleTargetRef"), "What is scaled."),
        column("Targets", _targets, "Metrics: as they are, and as they should be."),
        column("MinPods", text("spec.minReplicas", UNSET), "Fewest pods."),
        column("MaxPods", number("spec.maxReplicas"), "Most pods."),
        column("Replicas", number("status.currentReplicas"), "Pods that there are."),
        AGE,
    ),
    "batch/v1/cronjobs": (
        NAME,
        column("Schedule", text("spec.schedule"), "When jobs start, as cron has it."),
        column("Timezone", text("spec.timeZone", NONE), "Where the clock of the schedule hangs."),
        column(
            "Suspend",
            lambda obj: str(bool(find(obj, "spec.suspend"))),
            "Whether no job starts for now.",
            "boolean",
        ),
        column("Active", count("status.active"), "Jobs that run now.", "integer"),
        column("Last Schedule", age("status.lastScheduleTime", NONE), "When a job started last."),
        AGE,
        *containers("spec.jobTemplate.spec.template.spec"),
        column(
            "Selector", selector("spec.jobTemplate.spec.selector"), "Labels of the pods.", wide=True
        ),
    ),
    "batch/v1/jobs": (
        NAME,
        column("Status", _job_status, "How far the job is."),
        column("Completions", _completions, "Pods that have succeeded, of all."),
        column("Duration", _duration, "How long it took, or takes already."),
        AGE,
        *_TEMPLATE,
        _SELECTOR,
    ),
    "policy/v1/poddisruptionbudgets": (
        NAME,
        column("Min Available", text("spec.minAvailable", "N/A"), "Fewest pods in service."),
        column("Max Unavailable", text("spec.maxUnavailable", "N/A"), "Most pods out of service."),
        column(
            "Allowed Disruptions",
            number("status.disruptionsAllowed"),
            "Pods that may be evicted now.",
            "integer",
        ),
        AGE,
    ),
}
"""By API version and plural."""
