"""HorizontalPodAutoscalers: what the first version lacks is kept in annotations.

Promises: an autoscaler written in one version is read in the other. It is stored as v2.

Upstream: ``pkg/apis/autoscaling/v1/conversion.go``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.kinds.builtin_strategies import StatusStrategy
from clientgo.testcluster.server.storage.deep_values import decode_any, encode
from clientgo.testcluster.server.storage.storage import Object

_PREFIX = "autoscaling.alpha.kubernetes.io/"
_ANNOTATIONS = ("metrics", "current-metrics", "conditions", "behavior")

_FIELDS: dict[str, dict[str, str]] = {
    "ContainerResource": {
        "name": "name",
        "container": "container",
        "{}AverageUtilization": "{}.averageUtilization",
        "{}AverageValue": "{}.averageValue",
    },
    "External": {
        "metricName": "metric.name",
        "metricSelector": "metric.selector",
        "{}Value": "{}.value",
        "{}AverageValue": "{}.averageValue",
    },
    "Object": {
        "target": "describedObject",
        "metricName": "metric.name",
        "selector": "metric.selector",
        "{}Value": "{}.value",
        "averageValue": "{}.averageValue",
    },
    "Pods": {
        "metricName": "metric.name",
        "selector": "metric.selector",
        "{}AverageValue": "{}.averageValue",
    },
    "Resource": {
        "name": "name",
        "{}AverageUtilization": "{}.averageUtilization",
        "{}AverageValue": "{}.averageValue",
    },
}
"""The fields of a metric in v1 and their paths in v2, by its type; {} is target or current."""

_TARGET_TYPES = {
    "averageUtilization": "Utilization",
    "value": "Value",
    "averageValue": "AverageValue",
}


class FirstAutoscalerStrategy(StatusStrategy):
    """Autoscalers of autoscaling/v1, validated as what is stored."""

    def default(self, obj: Object) -> None:
        """Set the defaults of v2, as v1 shows them."""
        shown = from_latest(to_latest(obj))
        obj.clear()
        obj.update(shown)

    def validate(self, obj: Object) -> list[FieldError]:
        """Return the errors of what is stored."""
        return _LATEST.validate(to_latest(obj))


_LATEST = StatusStrategy("autoscaling/v2", "HorizontalPodAutoscaler")


def to_latest(obj: Object) -> Object:
    """Convert an autoscaler of v1 to v2."""
    kept = dict(_kept(obj))
    latest = {**obj, "apiVersion": "autoscaling/v2", "spec": {**obj["spec"]}}
    spec = latest["spec"]
    metrics = [_to_latest_metric(item, "target") for item in kept.get("metrics", ())]
    if (wanted := spec.pop("targetCPUUtilizationPercentage", None)) is not None:
        metrics.append(_processor_metric("target", {"type": "Utilization"}, wanted))
    if metrics:
        spec["metrics"] = metrics
    if "behavior" in kept:
        spec["behavior"] = kept["behavior"]
    if "status" in obj:
        latest["status"] = _to_latest_status(obj["status"], kept)
    _annotate(latest, {})
    _LATEST.set_table_defaults(latest)
    return latest


def _to_latest_status(first: Object, kept: Object) -> Object:
    status = {**first}
    used = status.pop("currentCPUUtilizationPercentage", None)
    if "current-metrics" in kept:
        current = [_to_latest_metric(item, "current") for item in kept["current-metrics"]]
        status["currentMetrics"] = current
    elif used is not None:
        status["currentMetrics"] = [_processor_metric("current", {}, used)]
    if "conditions" in kept:
        status["conditions"] = kept["conditions"]
    return status


def from_latest(obj: Object) -> Object:
    """Convert an autoscaler of v2 to v1."""
    first = {**obj, "apiVersion": "autoscaling/v1", "spec": {**obj["spec"]}}
    spec = first["spec"]
    metrics = spec.pop("metrics", None) or []
    others = [item for item in metrics if _processor_use(item, "target") is None]
    wanted = [item for item in metrics if item not in others]
    if wanted:
        spec["targetCPUUtilizationPercentage"] = _processor_use(wanted[0], "target")
    kept: Object = {
        "metrics": [_from_latest_metric(item, "target") for item in others],
        "behavior": spec.pop("behavior", None),
    }
    if "status" in obj:
        status = first["status"] = {**obj["status"]}
        current = status.pop("currentMetrics", None) or []
        uses = [_processor_use(item, "current") for item in current]
        if used := [use for use in uses if use is not None]:
            status["currentCPUUtilizationPercentage"] = used[-1]
        kept["current-metrics"] = [_from_latest_metric(item, "current") for item in current]
        kept["conditions"] = status.pop("conditions", None)
    _annotate(first, kept)
    return first


# -- annotations


def _kept(obj: Object) -> Iterator[tuple[str, Any]]:
    """Yield what the annotations of an autoscaler of v1 keep of v2."""
    annotations = obj["metadata"].get("annotations", {})
    for name in _ANNOTATIONS:
        try:
            value = decode_any(annotations.get(_PREFIX + name, "null").encode())
        except ValueError:
            continue  # written by a client; upstream ignores it too
        if value:
            yield name, value


def _annotate(obj: Object, kept: Object) -> None:
    """Replace the annotations that keep fields of v2; ``metadata`` is copied."""
    metadata = obj["metadata"] = {**obj["metadata"]}
    annotations = {
        key: value
        for key, value in metadata.pop("annotations", {}).items()
        if not key.startswith(_PREFIX)
    }
    for name in _ANNOTATIONS:
        if value := kept.get(name):
            annotations[_PREFIX + name] = encode(value).decode()
    if annotations:
        metadata["annotations"] = annotations


# -- metrics; ``role`` is "target" in the spec and "current" in the status


def _source(kind: str) -> str:
    """Return the field of a metric that describes it."""
    return kind[:1].lower() + kind[1:]


def _processor_metric(role: str, values: Object, utilization: int) -> Object:
    values = {**values, "averageUtilization": utilization}
    return {"type": "Resource", "resource": {"name": "cpu", role: values}}


def _processor_use(metric: Object, role: str) -> int | None:
    """Return the utilization of the metric that v1 has a field for."""
    source = metric.get("resource") or {}
    if metric.get("type") != "Resource" or source.get("name") != "cpu":
        return None
    use: int | None = source.get(role, {}).get("averageUtilization")
    return use


def _to_latest_metric(metric: Object, role: str) -> Object:
    kind = metric.get("type", "")
    first = metric.get(_source(kind)) or {}
    latest: Object = {}
    for name, path in _FIELDS.get(kind, {}).items():
        value = first.get(name.format(role))
        if value is not None:
            *parents, last = path.format(role).split(".")
            place = latest
            for parent in parents:
                place = place.setdefault(parent, {})
            place[last] = value
    if role == "target":
        target = latest.setdefault(role, {})
        target["type"] = next((kind for name, kind in _TARGET_TYPES.items() if name in target), "")
    return {"type": kind, _source(kind): latest}


def _from_latest_metric(metric: Object, role: str) -> Object:
    kind = metric.get("type", "")
    latest = metric.get(_source(kind)) or {}
    first: Object = {}
    for name, path in _FIELDS.get(kind, {}).items():
        value: Any = latest
        for part in path.format(role).split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value is not None:
            first[name.format(role)] = value
    return {"type": kind, _source(kind): first}
