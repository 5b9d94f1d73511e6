"""Workloads and jobs: what their tables can't say.

Upstream: ``pkg/registry/{apps,batch}``.
"""

from __future__ import annotations

from clientgo.apiserver.kinds.builtin_strategies import StatusStrategy, text_fields
from clientgo.apiserver.resources.strategy import ScaleFields
from clientgo.apiserver.storage.storage import Object


class ScaledStrategy(StatusStrategy):
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


class JobStrategy(StatusStrategy):
    """Jobs. No labels or selectors are generated: no controller runs them."""

    selectable_fields = text_fields("status.successful")
    orphan_warning = (
        "child pods are preserved by default when jobs are deleted; set "
        "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress "
        "this warning"
    )
