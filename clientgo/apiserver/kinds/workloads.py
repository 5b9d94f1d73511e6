"""Deployments, StatefulSets, DaemonSets, ReplicaSets, Jobs and CronJobs.

Upstream: ``pkg/registry/{apps,batch}``, ``pkg/apis/{apps,batch}/validation`` and ``defaults.go``.
"""

from __future__ import annotations

from collections.abc import Mapping

from clientgo.apiserver.kinds.builtin_strategies import (
    StatusStrategy,
    text_fields,
)
from clientgo.apiserver.kinds.pod_defaults import default_template
from clientgo.apiserver.resources.strategy import ScaleFields
from clientgo.apiserver.storage.storage import Object
from clientgo.meta.selectors import SelectorError, selector_from_object
from clientgo.schema.field_errors import FieldError


class TemplateStrategy(StatusStrategy):
    """Workloads with a pod template and a selector."""

    scale_fields = ScaleFields(
        spec_replicas=("spec", "replicas"),
        status_replicas=("status", "replicas"),
        selector=("spec", "selector"),
    )

    def default(self, obj: Object) -> None:
        """Set the number of replicas and the defaults of the pod template."""
        spec = obj["spec"]
        if self.kind != "DaemonSet":
            spec.setdefault("replicas", 1)
        default_template(spec)

    def validate(self, obj: Object) -> list[FieldError]:
        """Return the errors of replicas, selector and pod template."""
        errors = super().validate(obj)
        spec = obj["spec"]
        replicas = spec.get("replicas", 0)
        if replicas < 0:
            detail = "must be greater than or equal to 0"
            errors.append(FieldError.invalid("spec.replicas", replicas, detail))
        labels = spec["template"].get("metadata", {}).get("labels", {})
        errors += _selector_errors(spec.get("selector"), labels)
        if not spec["template"].get("spec", {}).get("containers"):
            errors.append(FieldError.required("spec.template.spec.containers"))
        return _once(errors)

    def validate_change(self, new: Object, old: Object) -> list[FieldError]:
        """Return a change of the selector."""
        if new["spec"].get("selector") == old["spec"].get("selector"):
            return []
        selector = new["spec"].get("selector")
        return [FieldError.invalid("spec.selector", selector, "field is immutable")]


def _selector_errors(selector: Object | None, labels: Mapping[str, str]) -> list[FieldError]:
    """Return the errors of a selector that does not match the pod template."""
    if selector is None:
        return []
    try:
        selects = selector_from_object(selector).matches(labels)
    except SelectorError as error:
        return [FieldError.invalid("spec.selector", selector, str(error))]
    if selects:
        return []
    detail = "`selector` does not match template `labels`"
    return [FieldError.invalid("spec.template.metadata.labels", labels, detail)]


def _once(errors: list[FieldError]) -> list[FieldError]:
    """Return the errors without repetitions for a field."""
    return list({(error.field, error.reason): error for error in errors}.values())


class DeploymentStrategy(TemplateStrategy):
    """Deployments."""

    def default(self, obj: Object) -> None:
        """Set rolling updates of a quarter of the pods."""
        super().default(obj)
        spec = obj["spec"]
        spec.setdefault("revisionHistoryLimit", 10)
        spec.setdefault("progressDeadlineSeconds", 600)
        _default_strategy(spec, "strategy", {"maxUnavailable": "25%", "maxSurge": "25%"})


class StatefulSetStrategy(TemplateStrategy):
    """Stateful sets."""

    def default(self, obj: Object) -> None:
        """Set ordered pods and rolling updates."""
        super().default(obj)
        spec = obj["spec"]
        spec.setdefault("podManagementPolicy", "OrderedReady")
        spec.setdefault("revisionHistoryLimit", 10)
        _default_strategy(spec, "updateStrategy", {"partition": 0})

    def initial_status(self, obj: Object) -> Object:
        """Return a status without pods."""
        return {**super().initial_status(obj), "availableReplicas": 0}


class DaemonSetStrategy(TemplateStrategy):
    """Daemon sets."""

    def default(self, obj: Object) -> None:
        """Set rolling updates of one pod at a time."""
        super().default(obj)
        spec = obj["spec"]
        spec.setdefault("revisionHistoryLimit", 10)
        _default_strategy(spec, "updateStrategy", {"maxUnavailable": 1, "maxSurge": 0})


class ReplicaSetStrategy(TemplateStrategy):
    """Replica sets and replication controllers."""

    selectable_fields = text_fields("status.replicas")


def _default_strategy(spec: Object, field: str, rolling: Object) -> None:
    strategy = spec.setdefault(field, {})
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        strategy["rollingUpdate"] = {**rolling, **strategy.get("rollingUpdate", {})}


class JobStrategy(StatusStrategy):
    """Jobs. No labels or selectors are generated: no controller runs them."""

    selectable_fields = text_fields("status.successful")
    orphan_warning = (
        "child pods are preserved by default when jobs are deleted; set "
        "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress "
        "this warning"
    )

    def default(self, obj: Object) -> None:
        """Set one pod to completion and six retries."""
        _default_job_spec(obj["spec"])


def _default_job_spec(spec: Object) -> None:
    spec.setdefault("parallelism", 1)
    spec.setdefault("completions", 1)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("backoffLimit", 6)
    spec.setdefault("suspend", False)
    spec.setdefault("podReplacementPolicy", "TerminatingOrFailed")
    default_template(spec)


class CronJobStrategy(StatusStrategy):
    """Cron jobs."""

    def default(self, obj: Object) -> None:
        """Set concurrency and the number of finished jobs to keep."""
        spec = obj["spec"]
        spec.setdefault("concurrencyPolicy", "Allow")
        spec.setdefault("suspend", False)
        spec.setdefault("successfulJobsHistoryLimit", 3)
        spec.setdefault("failedJobsHistoryLimit", 1)
        default_template(spec["jobTemplate"].setdefault("spec", {}))
