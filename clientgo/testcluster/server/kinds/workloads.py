"""Workloads and jobs: what their tables can't say.

Upstream: ``pkg/registry/{apps,batch}``.
"""

from __future__ import annotations

from collections.abc import Sequence

from clientgo.meta.selectors import SelectorError, selector_from_object
from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.kinds.builtin_strategies import (
    BuiltinStrategy,
    StatusStrategy,
)
from clientgo.testcluster.server.kinds.pod_warnings import name_warnings, pod_warnings
from clientgo.testcluster.server.kinds.warnings import CLAIM_ROWS, row_warnings
from clientgo.testcluster.server.resources.names import DNS_LABEL
from clientgo.testcluster.server.resources.strategy import ScaleFields
from clientgo.testcluster.server.storage.storage import Object


class PodTemplateStrategy(BuiltinStrategy):
    """Kinds with a template of pods."""

    template_path: tuple[str, ...] = ("template",)
    names_hosts = False
    """The names of pods, which are their hostnames, begin with the name of the object."""

    def warnings(self, new: Object, old: Object | None) -> list[str]:
        """Return what is accepted and probably wrong in the name and the template of the pods."""
        names = old is None and self.names_hosts
        warnings = name_warnings(new, "Pod names and hostnames") if names else []
        if old is not None and not self.is_warned_again(new, old):
            return warnings
        *parents, _ = self.template_path
        prefix = "".join(f"{name}." for name in self.template_path)
        warnings += self.own_warnings(_member(new, parents), ".".join(parents))
        return warnings + pod_warnings(_member(new, self.template_path), prefix)

    def is_warned_again(self, new: Object, old: Object) -> bool:
        """Return True if an update is warned of what was in the object before."""
        return bool(new["metadata"].get("generation") != old["metadata"].get("generation"))

    def own_warnings(self, owner: Object, path: str) -> list[str]:
        """Return the warnings about the object that has the template, at a path."""
        return []


def _member(obj: Object, path: Sequence[str]) -> Object:
    for name in path:
        obj = obj.get(name) or {}
    return obj


class TemplateStrategy(StatusStrategy, PodTemplateStrategy):
    """Workloads."""

    template_path: tuple[str, ...] = ("spec", "template")


class JobSpecStrategy(TemplateStrategy):
    """Jobs, and their templates."""

    names_hosts = True

    def own_warnings(self, owner: Object, path: str) -> list[str]:
        """Warn of more indexes than can be kept."""
        are_many = (
            owner.get("completionMode") == "Indexed"
            and owner.get("completions", 0) > _MOST_COMPLETIONS
            and owner.get("parallelism", 0) > _MOST_PARALLELISM
        )
        return [f"{path}: {_TOO_MANY_INDEXES}"] if are_many else []


class CronJobStrategy(JobSpecStrategy):
    """Cron jobs."""

    template_path = ("spec", "jobTemplate", "spec", "template")

    def warnings(self, new: Object, old: Object | None) -> list[str]:
        """Warn of time zones in the schedule of an older cron job too."""
        warnings = super().warnings(new, old)
        if old is not None and "TZ" in new["spec"].get("schedule", ""):
            warnings.append(_ZONE_IN_SCHEDULE)
        return warnings


_MOST_COMPLETIONS, _MOST_PARALLELISM = 100_000, 10_000
"""The most completions of an indexed job with more parallelism than the second number."""

_TOO_MANY_INDEXES = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than "
    "10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
)
_ZONE_IN_SCHEDULE = (
    "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
    "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)


class ScaledStrategy(TemplateStrategy):
    """Workloads with a number of replicas."""

    scale_fields = ScaleFields(
        spec_replicas=("spec", "replicas"),
        status_replicas=("status", "replicas"),
        selector=("spec", "selector"),
    )

    def validate(self, obj: Object) -> list[FieldError]:
        """Return the errors of a new object; those of its template if its selector is readable."""
        return _without_template(obj, super().validate(obj))

    def validate_update(self, new: Object, old: Object) -> list[FieldError]:
        """Return the errors of a change; those of the template if the selector is readable."""
        return _without_template(new, super().validate_update(new, old))


def _without_template(obj: Object, errors: list[FieldError]) -> list[FieldError]:
    selector = obj["spec"].get("selector") or {}
    try:
        if selector.keys() & {"matchLabels", "matchExpressions"}:
            selector_from_object(selector)
    except SelectorError:
        return [error for error in errors if not error.field.startswith("spec.template.")]
    return errors


class DeploymentStrategy(ScaledStrategy):
    """Deployments."""

    names_hosts = True


class StatefulSetStrategy(ScaledStrategy):
    """Stateful sets: their names are those of hosts."""

    name_rule = DNS_LABEL

    def initial_status(self, obj: Object) -> Object:
        """Return a status without pods."""
        return {**super().initial_status(obj), "availableReplicas": 0}

    def validate(self, obj: Object) -> list[FieldError]:
        """Return the errors of a new object, whose pods have the claims as volumes."""
        return super().validate(_with_claims(obj))

    def validate_update(self, new: Object, old: Object) -> list[FieldError]:
        """Return the errors of the new state and of the change; claims can't change."""
        errors = super().validate_update(_with_claims(new), _with_claims(old))
        return [error for error in errors if not error.field.startswith(_CLAIMS)]

    def warnings(self, new: Object, old: Object | None) -> list[str]:
        """Warn of claims, and of a negative number of revisions, which keeps all, too."""
        warnings = super().warnings(new, old)
        for index, claim in enumerate(new["spec"].get("volumeClaimTemplates") or ()):
            path = f"spec.volumeClaimTemplates[{index}]." + ("" if old is None else "Spec.")
            warnings += row_warnings(CLAIM_ROWS, claim.get("spec") or {}, path)
        if new["spec"].get("revisionHistoryLimit", 0) < 0:
            warnings.append(
                "spec.revisionHistoryLimit: a negative value retains all historical revisions; "
                "a value >= 0 is recommended"
            )
        return warnings


_CLAIMS = "spec.volumeClaimTemplates"


def _with_claims(obj: Object) -> Object:
    """Return a stateful set with a volume for each claim before the volumes of its template.

    They take the place of volumes of the same name. Upstream: ``volumesToAddForTemplates``.
    """
    claims = obj["spec"].get("volumeClaimTemplates")
    template = obj["spec"]["template"]
    if not claims or "spec" not in template:
        return obj
    names = dict.fromkeys(claim.get("metadata", {}).get("name", "") for claim in claims)
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names] + [
        volume for volume in template["spec"].get("volumes", ()) if volume["name"] not in names
    ]
    pods = {**template, "spec": {**template["spec"], "volumes": volumes}}
    return {**obj, "spec": {**obj["spec"], "template": pods}}


class ReplicaSetStrategy(ScaledStrategy):
    """Replica sets and replication controllers."""

    names_hosts = True


_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


class DaemonSetStrategy(TemplateStrategy):
    """Daemon sets: they count the changes of their template in an annotation."""

    def is_warned_again(self, new: Object, old: Object) -> bool:
        """Return True if the template has changed."""
        return bool(new["spec"]["template"] != old["spec"]["template"])

    def default(self, obj: Object) -> None:
        """Write the count into the annotation, as the conversion to the served version does."""
        super().default(obj)
        _annotate(obj, _template_generation(obj) or 0)

    def prepare_for_create(self, obj: Object) -> None:
        """Set the status, and begin to count; a client may say where."""
        super().prepare_for_create(obj)
        given = _template_generation(obj)
        _annotate(obj, given if given is not None and given >= 1 else 1)

    def prepare_for_update(self, new: Object, old: Object) -> None:
        """Keep the status; count a change of the template."""
        super().prepare_for_update(new, old)
        count = _template_generation(old) or 0
        _annotate(new, count + (new["spec"]["template"] != old["spec"]["template"]))

    def prepare_for_status_update(self, new: Object, old: Object) -> None:
        """Keep everything except the status and metadata."""
        super().prepare_for_status_update(new, old)
        _annotate(new, _template_generation(old) or 0)


def _template_generation(obj: Object) -> int | None:
    text = obj["metadata"].get("annotations", {}).get(_TEMPLATE_GENERATION, "")
    return int(text) if text.isascii() and text.isdigit() else None


def _annotate(obj: Object, count: int) -> None:
    annotations = obj["metadata"].get("annotations", {})
    obj["metadata"]["annotations"] = {**annotations, _TEMPLATE_GENERATION: str(count)}
