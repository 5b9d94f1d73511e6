"""HorizontalPodAutoscalers in a cluster without metrics: limits and conditions.

Promises: a target is scaled into its limits; what is missing for more stands in the conditions, as
on a real cluster without a metrics server.

Upstream: ``pkg/controller/podautoscaler``.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from clientgo.api.autoscaling_v2 import (
    HorizontalPodAutoscaler,
    HorizontalPodAutoscalerCondition,
    HorizontalPodAutoscalerStatus,
    MetricSpec,
)
from clientgo.meta import ObjectMeta, StatusError, Unstructured
from clientgo.meta.timestamps import format_time
from clientgo.operator import Context, Result, controller
from clientgo.testcluster.workloads.conditions import with_condition

_PERIOD: Final = 15.0
"""Seconds between two looks at a target, as upstream."""

_ABLE, _ACTIVE, _LIMITED = "AbleToScale", "ScalingActive", "ScalingLimited"

_RESOURCE_METRICS = (
    "unable to fetch metrics from resource metrics API: the server could not find the requested "
    "resource (get pods.metrics.k8s.io)"
)
_CUSTOM_METRICS = (
    "unable to fetch metrics from custom metrics API: no custom metrics API "
    "(custom.metrics.k8s.io) registered"
)
_EXTERNAL_METRICS = (
    "unable to fetch metrics from external metrics API: no external metrics API "
    "(external.metrics.k8s.io) registered"
)


@controller(HorizontalPodAutoscaler, name="autoscalers")
class Autoscalers:
    """Writes what autoscalers know of their targets, and keeps these within the limits."""

    def reconcile(self, ctx: Context[HorizontalPodAutoscaler], obj: Any) -> Result:
        status = replace(obj.status, observed_generation=obj.metadata.generation)
        now = format_time(ctx.clock.time())
        target = _target(obj)
        try:
            scale: Any = ctx.client.subresource("scale").get(target)
        except StatusError as error:
            note = f"the HPA controller was unable to get the target's current scale: {error}"
            _set(status, _ABLE, "False", "FailedGetScale", note, now)
            return _written(ctx, obj, status, "FailedGetScale", str(error))
        current = (scale.get("spec") or {}).get("replicas", 0)
        _set(
            status,
            _ABLE,
            "True",
            "SucceededGetScale",
            "the HPA controller was able to get the target's current scale",
            now,
        )
        status.current_replicas = current
        status.desired_replicas = current
        lowest = 1 if obj.spec.min_replicas is None else obj.spec.min_replicas
        wanted = min(max(current, lowest), obj.spec.max_replicas)
        if current == 0 and lowest:
            note = "scaling is disabled since the replica count of the target is zero"
            _set(status, _ACTIVE, "False", "ScalingDisabled", note, now)
            return _written(ctx, obj, status)
        if wanted != current:
            return self._rescale(ctx, obj, status, target, wanted, above=current > wanted)
        reason, message = _missing((obj.spec.metrics or [_CPU])[0])
        note = f"the HPA was unable to compute the replica count: {message}"
        _set(status, _ACTIVE, "False", reason, note, now)
        return _written(ctx, obj, status, reason, message)

    def _rescale(
        self,
        ctx: Context[HorizontalPodAutoscaler],
        obj: HorizontalPodAutoscaler,
        status: HorizontalPodAutoscalerStatus,
        target: Unstructured,
        wanted: int,
        *,
        above: bool,
    ) -> Result:
        """Bring a target into the limits."""
        ctx.client.subresource("scale").patch(target, {"spec": {"replicas": wanted}})
        limit = "above Spec.MaxReplicas" if above else "below Spec.MinReplicas"
        ctx.events.normal(
            "SuccessfulRescale", f"New size: {wanted}; reason: Current number of replicas {limit}"
        )
        now = format_time(ctx.clock.time())
        note = f"the HPA controller was able to update the target scale to {wanted}"
        _set(status, _ABLE, "True", "SucceededRescale", note, now)
        status.desired_replicas, status.last_scale_time = wanted, now
        return _written(ctx, obj, status)


_CPU = MetricSpec(type="Resource")
"""What is measured if an autoscaler does not say."""


def _target(obj: HorizontalPodAutoscaler) -> Unstructured:
    reference = obj.spec.scale_target_ref
    metadata = ObjectMeta(name=reference.name, namespace=obj.metadata.namespace)
    return Unstructured(
        api_version=reference.api_version or "", kind=reference.kind, metadata=metadata
    )


def _missing(metric: MetricSpec) -> tuple[str, str]:
    """Return the reason and the message of a metric that can't be read."""
    match metric.type:
        case "Pods":
            return "FailedGetPodsMetric", f"unable to get metric: {_CUSTOM_METRICS}"
        case "Object":
            return "FailedGetObjectMetric", f"unable to get metric: {_CUSTOM_METRICS}"
        case "External":
            return "FailedGetExternalMetric", f"unable to get metric: {_EXTERNAL_METRICS}"
        case "ContainerResource":
            name = metric.container_resource.name if metric.container_resource else "cpu"
            reason = "FailedGetContainerResourceMetric"
        case _:
            name = metric.resource.name if metric.resource else "cpu"
            reason = "FailedGetResourceMetric"
    return reason, (
        f"failed to get {name} utilization: unable to get metrics for resource {name}: "
        f"{_RESOURCE_METRICS}"
    )


def _set(
    status: HorizontalPodAutoscalerStatus, kind: str, value: str, reason: str, note: str, now: str
) -> None:
    condition = HorizontalPodAutoscalerCondition(
        type=kind, status=value, reason=reason, message=note, last_transition_time=now
    )
    status.conditions = with_condition(status.conditions, condition)


def _written(
    ctx: Context[Any],
    obj: HorizontalPodAutoscaler,
    status: HorizontalPodAutoscalerStatus,
    reason: str = "",
    note: str = "",
) -> Result:
    """Return the status to write; what is new in it is an event."""
    if reason and status.conditions != obj.status.conditions:
        ctx.events.warning(reason, note)
    changed = HorizontalPodAutoscaler(metadata=obj.metadata, spec=obj.spec, status=status)
    return Result.status(changed).after(_PERIOD)
