"""Workloads and jobs: what their tables can't say.

Upstream: ``pkg/registry/{apps,batch}``.
"""

from __future__ import annotations

from typing import Any

from clientgo.apiserver.kinds.builtin_strategies import StatusStrategy, text_fields
from clientgo.apiserver.kinds.pod_warnings import name_warnings, pod_warnings
from clientgo.apiserver.resources.names import DNS_LABEL
from clientgo.apiserver.resources.strategy import ScaleFields
from clientgo.apiserver.storage.storage import Object


class TemplateStrategy(StatusStrategy):
    """Workloads with a template of pods."""

    template_path: tuple[str, ...] = ("spec", "template")
    names_hosts = False
    """The names of pods, which are their hostnames, begin with the name of the object."""

    def warnings(self, new: Object, old: Object | None) -> list[str]:
        """Return what is accepted and probably wrong in the name and the template of the pods."""
        names = old is None and self.names_hosts
        warnings = name_warnings(new, "Pod names and hostnames") if names else []
        template = self._template(new)
        if not template or (old is not None and template == self._template(old)):
            return warnings
        path = ".".join((*self.template_path, "spec"))
        return warnings + pod_warnings(template.get("spec", {}), path)

    def _template(self, obj: Object) -> Any:
        template: Any = obj
        for name in self.template_path:
            template = template.get(name) or {}
        return template


class CronJobStrategy(TemplateStrategy):
    """Cron jobs."""

    template_path = ("spec", "jobTemplate", "spec", "template")
    names_hosts = True


class ScaledStrategy(TemplateStrategy):
    """Workloads with a number of replicas."""

    scale_fields = ScaleFields(
        spec_replicas=("spec", "replicas"),
        status_replicas=("status", "replicas"),
        selector=("spec", "selector"),
    )


class DeploymentStrategy(ScaledStrategy):
    """Deployments."""

    names_hosts = True


class StatefulSetStrategy(ScaledStrategy):
    """Stateful sets: their names are those of hosts."""

    name_rule = DNS_LABEL

    def initial_status(self, obj: Object) -> Object:
        """Return a status without pods."""
        return {**super().initial_status(obj), "availableReplicas": 0}

    def warnings(self, new: Object, old: Object | None) -> list[str]:
        """Warn of a negative number of revisions too, which keeps all."""
        warnings = super().warnings(new, old)
        if new["spec"].get("revisionHistoryLimit", 0) < 0:
            warnings.append(
                "spec.revisionHistoryLimit: a negative value retains all historical revisions; "
                "a value >= 0 is recommended"
            )
        return warnings


class ReplicaSetStrategy(ScaledStrategy):
    """Replica sets and replication controllers."""

    names_hosts = True
    selectable_fields = text_fields("status.replicas")


_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


class DaemonSetStrategy(TemplateStrategy):
    """Daemon sets: they count the changes of their template in an annotation."""

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
