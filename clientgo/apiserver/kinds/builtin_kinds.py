"""Which strategy each built-in resource has."""

from __future__ import annotations

from clientgo.apiserver.kinds import core_kinds, events, other_kinds
from clientgo.apiserver.kinds.builtin_strategies import (
    BuiltinStrategy,
    StatusStrategy,
    WorkloadStrategy,
)
from clientgo.apiserver.kinds.columns.printers import columns_for
from clientgo.apiserver.kinds.definitions import CrdStrategy
from clientgo.apiserver.kinds.webhook_configurations import WebhookConfigurationStrategy

_ADMISSION = "admissionregistration.k8s.io/v1"

_STRATEGIES: dict[tuple[str, str], type[BuiltinStrategy]] = {
    ("v1", "configmaps"): core_kinds.ConfigMapStrategy,
    ("v1", "events"): events.CoreEventStrategy,
    ("v1", "namespaces"): core_kinds.NamespaceStrategy,
    ("v1", "nodes"): StatusStrategy,
    ("v1", "persistentvolumeclaims"): StatusStrategy,
    ("v1", "persistentvolumes"): StatusStrategy,
    ("v1", "pods"): core_kinds.PodStrategy,
    ("v1", "podtemplates"): core_kinds.PodTemplateStrategy,
    ("v1", "replicationcontrollers"): other_kinds.ReplicaSetStrategy,
    ("v1", "resourcequotas"): StatusStrategy,
    ("v1", "secrets"): core_kinds.SecretStrategy,
    ("v1", "serviceaccounts"): core_kinds.ServiceAccountStrategy,
    ("v1", "services"): core_kinds.ServiceStrategy,
    (_ADMISSION, "mutatingwebhookconfigurations"): WebhookConfigurationStrategy,
    (_ADMISSION, "validatingwebhookconfigurations"): WebhookConfigurationStrategy,
    ("apiextensions.k8s.io/v1", "customresourcedefinitions"): CrdStrategy,
    ("apiregistration.k8s.io/v1", "apiservices"): StatusStrategy,
    ("apps/v1", "daemonsets"): other_kinds.DaemonSetStrategy,
    ("apps/v1", "deployments"): other_kinds.DeploymentStrategy,
    ("apps/v1", "replicasets"): other_kinds.ReplicaSetStrategy,
    ("apps/v1", "statefulsets"): other_kinds.StatefulSetStrategy,
    ("autoscaling/v2", "horizontalpodautoscalers"): StatusStrategy,
    ("batch/v1", "cronjobs"): other_kinds.CronJobStrategy,
    ("batch/v1", "jobs"): other_kinds.JobStrategy,
    ("coordination.k8s.io/v1", "leases"): other_kinds.LeaseStrategy,
    ("events.k8s.io/v1", "events"): events.EventStrategy,
    ("networking.k8s.io/v1", "ingresses"): WorkloadStrategy,
    ("networking.k8s.io/v1", "servicecidrs"): StatusStrategy,
    ("policy/v1", "poddisruptionbudgets"): WorkloadStrategy,
    ("rbac.authorization.k8s.io/v1", "clusterrolebindings"): other_kinds.RoleBindingStrategy,
    ("rbac.authorization.k8s.io/v1", "clusterroles"): other_kinds.RoleStrategy,
    ("rbac.authorization.k8s.io/v1", "rolebindings"): other_kinds.RoleBindingStrategy,
    ("rbac.authorization.k8s.io/v1", "roles"): other_kinds.RoleStrategy,
    ("storage.k8s.io/v1", "volumeattachments"): StatusStrategy,
}


def strategy_for(api_version: str, plural: str, kind: str) -> BuiltinStrategy:
    """The strategy of a built-in resource."""
    strategy = _STRATEGIES.get((api_version, plural), BuiltinStrategy)(api_version, kind)
    strategy.columns = columns_for(api_version, plural)
    return strategy
