"""Cells of jobs, autoscalers and controller revisions.

Upstream: ``pkg/printers/internalversion/printers.go``.
"""

from __future__ import annotations

from clientgo.meta.timestamps import parse_time
from clientgo.testcluster.server.kinds.columns.readers import (
    NONE,
    UNKNOWN,
    conditions,
    find,
    is_deleted,
)
from clientgo.testcluster.server.resources.columns import age_since, human_duration
from clientgo.testcluster.server.storage.storage import Object

_MOST_METRICS = 2


# -- jobs


def job_status(job: Object) -> str:
    """Return the status of a job from its conditions."""
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


def job_completions(job: Object) -> str:
    """Return succeeded pods and wanted completions."""
    succeeded = find(job, "status.succeeded") or 0
    wanted, parallelism = find(job, "spec.completions"), find(job, "spec.parallelism") or 0
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def job_duration(job: Object) -> str:
    """Return the time that a job has run."""
    started, ended = find(job, "status.startTime"), find(job, "status.completionTime")
    if not started:
        return ""
    if not ended:
        return age_since(started)
    return human_duration(parse_time(ended) - parse_time(started))


# -- autoscalers


def scale_target(autoscaler: Object) -> str:
    """Return kind and name of the scaled object."""
    target = "spec.scaleTargetRef"
    return f"{find(autoscaler, f'{target}.kind')}/{find(autoscaler, f'{target}.name')}"


def metric_targets(autoscaler: Object) -> str:
    """Return current and target value of each metric."""
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


def revision_controller(revision: Object) -> str:
    """Return kind and name of the owning controller."""
    for owner in revision["metadata"].get("ownerReferences", ()):
        if owner.get("controller"):
            group = owner["apiVersion"].rpartition("/")[0]
            kind = owner["kind"].lower()
            return f"{kind}.{group}/{owner['name']}" if group else f"{kind}/{owner['name']}"
    return NONE
