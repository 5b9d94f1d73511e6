"""What particular built-in kinds demand of a write.

Promises the peculiarities that clients of a real API server meet: the fields that only some
subresource may set, defaults, the rules of a few well-known kinds.

Does not promise all of upstream's validation; that takes a hundred thousand lines of Go.
"""

from __future__ import annotations

from typing import Any

from clientgo.apiserver.crds import CrdStrategy
from clientgo.apiserver.names import DNS_LABEL
from clientgo.apiserver.storage import Object
from clientgo.apiserver.strategy import Strategy


class StatusStrategy(Strategy):
    """Kinds whose status is written through the status subresource only."""

    def prepare_for_create(self, obj: Object) -> None:
        """Drop the status: nothing has observed the object yet."""
        obj.pop("status", None)

    def prepare_for_update(self, new: Object, old: Object) -> None:
        """Keep the status."""
        _take(new, old, "status")

    def prepare_for_status_update(self, new: Object, old: Object) -> None:
        """Keep everything but the status and metadata."""
        for key in (new.keys() | old.keys()) - _STATUS_FIELDS:
            _take(new, old, key)


_STATUS_FIELDS = {"apiVersion", "kind", "metadata", "status"}


def _take(new: Object, old: Object, key: str) -> None:
    if key in old:
        new[key] = old[key]
    else:
        new.pop(key, None)


class WorkloadStrategy(StatusStrategy):
    """Deployments and their like: a spec with generations."""

    counts_generations = True


class NamespaceStrategy(StatusStrategy):
    """Namespaces: content is removed before they go."""

    name_rule = DNS_LABEL
    returns_deleted_object = True

    def prepare_for_create(self, obj: Object) -> None:
        """A new namespace is active, and can be selected by its name."""
        _label_with_name(obj["metadata"])
        spec = obj.setdefault("spec", {})
        if "kubernetes" not in (finalizers := spec.setdefault("finalizers", [])):
            finalizers.append("kubernetes")
        obj["status"] = {"phase": "Active"}

    def prepare_for_update(self, new: Object, old: Object) -> None:
        """Only the finalize subresource changes ``spec.finalizers``."""
        super().prepare_for_update(new, old)
        _label_with_name(new["metadata"])
        _take(new, old, "spec")

    def may_go(self, obj: Object) -> bool:
        """A namespace goes when its own finalizers are gone."""
        return not obj.get("spec", {}).get("finalizers")

    def mark_deleted(self, obj: Object) -> None:
        """Show that content is being removed."""
        obj["status"] = {**obj.get("status", {}), "phase": "Terminating"}


def _label_with_name(metadata: dict[str, Any]) -> None:
    """Selectors of webhooks and policies use this label."""
    if name := metadata.get("name"):
        metadata["labels"] = {
            **metadata.get("labels", {}),
            "kubernetes.io/metadata.name": name,
        }


_PLAIN = Strategy()
_STATUS = StatusStrategy()
_WORKLOAD = WorkloadStrategy()

_STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "namespaces"): NamespaceStrategy(),
    ("", "nodes"): _STATUS,
    ("", "pods"): _STATUS,
    ("", "services"): _STATUS,
    ("", "persistentvolumes"): _STATUS,
    ("", "persistentvolumeclaims"): _STATUS,
    ("", "resourcequotas"): _STATUS,
    ("", "replicationcontrollers"): _WORKLOAD,
    ("apps", "daemonsets"): _WORKLOAD,
    ("apps", "deployments"): _WORKLOAD,
    ("apps", "replicasets"): _WORKLOAD,
    ("apps", "statefulsets"): _WORKLOAD,
    ("batch", "cronjobs"): _WORKLOAD,
    ("batch", "jobs"): _WORKLOAD,
    ("networking.k8s.io", "ingresses"): _WORKLOAD,
    ("policy", "poddisruptionbudgets"): _WORKLOAD,
    ("autoscaling", "horizontalpodautoscalers"): _STATUS,
    ("apiextensions.k8s.io", "customresourcedefinitions"): CrdStrategy(),
}


def strategy_for(group: str, plural: str) -> Strategy:
    """The strategy of a built-in resource."""
    return _STRATEGIES.get((group, plural), _PLAIN)
