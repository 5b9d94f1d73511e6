"""Workloads and jobs: what their tables can't say.

Upstream: ``pkg/registry/{apps,batch}``.
"""

from __future__ import annotations

from clientgo.apiserver.kinds.builtin_strategies import StatusStrategy, text_fields
from clientgo.apiserver.kinds.pod_warnings import pod_warnings
from clientgo.apiserver.resources.strategy import ScaleFields
from clientgo.apiserver.storage.storage import Object


class TemplateStrategy(StatusStrategy):
    """Workloads with a template of pods."""

    def warnings(self, new: Object, old: Object | None) -> list[str]:
        """Return what is accepted and probably wrong in the template of the pods."""
        template = new["spec"].get("template")
        if not template or (old is not None and template == old["spec"].get("template")):
            return []
        return pod_warnings(template.get("spec", {}), "spec.template.spec")


class ScaledStrategy(TemplateStrategy):
    """Workloads with a number of replicas."""

    scale_fields = ScaleFields(
        spec_replicas=("spec", "replicas"),
        status_replicas=("status", "replicas"),
        selector=("spec", "selector"),
    )


class StatefulSetStrategy(ScaledStrategy):
    """Stateful sets."""

    def initial_status(self, obj: Object) -> Object:
        """Return a status without pods."""
        return {**super().initial_status(obj), "availableReplicas": 0}


class ReplicaSetStrategy(ScaledStrategy):
    """Replica sets and replication controllers."""

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
