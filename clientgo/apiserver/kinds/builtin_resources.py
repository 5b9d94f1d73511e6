"""The built-in resources: group, version, names, verbs, subresources and strategy of each.

Upstream: the ``registry`` packages of kube-apiserver, one per resource.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from clientgo.apiserver.kinds.builtin_strategies import (
    BuiltinStrategy,
    StatusStrategy,
)
from clientgo.apiserver.kinds.columns.table import columns_for
from clientgo.apiserver.kinds.core import (
    ConfigMapStrategy,
    NamespaceStrategy,
    PodStrategy,
    PodTemplateStrategy,
    SecretStrategy,
    ServiceStrategy,
)
from clientgo.apiserver.kinds.definitions import CrdStrategy
from clientgo.apiserver.kinds.events import CoreEventStrategy, EventStrategy, from_core, to_core
from clientgo.apiserver.kinds.leases import LeaseStrategy
from clientgo.apiserver.kinds.network_policies import NetworkPolicyStrategy
from clientgo.apiserver.kinds.rbac import RoleBindingStrategy, RoleStrategy
from clientgo.apiserver.kinds.webhook_configurations import WebhookConfigurationStrategy
from clientgo.apiserver.kinds.workloads import (
    CronJobStrategy,
    DaemonSetStrategy,
    DeploymentStrategy,
    JobStrategy,
    ReplicaSetStrategy,
    StatefulSetStrategy,
)
from clientgo.apiserver.resources.resource import CRUD_VERBS, STATUS_VERBS, Resource, Subresource
from clientgo.apiserver.storage.storage import Object
from clientgo.meta.group_version import GroupVersionKind

_WITHOUT_COLLECTION_DELETE = tuple(verb for verb in CRUD_VERBS if verb != "deletecollection")
_REVIEW_VERBS = ("create",)
_SCALE = GroupVersionKind("autoscaling", "v1", "Scale")


@dataclass(frozen=True, slots=True)
class _Row:
    """A resource in the table; ``subresources`` are names in ``_SUBRESOURCES``."""

    plural: str
    kind: str
    namespaced: bool = True
    short: str = ""
    categories: str = ""
    subresources: str = ""
    verbs: tuple[str, ...] = CRUD_VERBS
    stored_in: tuple[str, str] | None = None
    read: Callable[[Object], Object] | None = None
    write: Callable[[Object], Object] | None = None
    strategy: type[BuiltinStrategy] = BuiltinStrategy


_CLUSTER = False

_TABLE: dict[str, tuple[_Row, ...]] = {
    "v1": (
        _Row("componentstatuses", "ComponentStatus", _CLUSTER, "cs", verbs=("get", "list")),
        _Row("configmaps", "ConfigMap", short="cm", strategy=ConfigMapStrategy),
        _Row("endpoints", "Endpoints", short="ep"),
        _Row("events", "Event", short="ev", strategy=CoreEventStrategy),
        _Row("limitranges", "LimitRange", short="limits"),
        _Row(
            "namespaces",
            "Namespace",
            _CLUSTER,
            "ns",
            subresources="status finalize",
            verbs=_WITHOUT_COLLECTION_DELETE,
            strategy=NamespaceStrategy,
        ),
        _Row("nodes", "Node", _CLUSTER, "no", subresources="status", strategy=StatusStrategy),
        _Row(
            "persistentvolumeclaims",
            "PersistentVolumeClaim",
            True,
            "pvc",
            "",
            "status",
            strategy=StatusStrategy,
        ),
        _Row(
            "persistentvolumes",
            "PersistentVolume",
            _CLUSTER,
            "pv",
            "",
            "status",
            strategy=StatusStrategy,
        ),
        _Row(
            "pods",
            "Pod",
            True,
            "po",
            "all",
            "status log binding eviction ephemeralcontainers",
            strategy=PodStrategy,
        ),
        _Row("podtemplates", "PodTemplate", strategy=PodTemplateStrategy),
        _Row(
            "replicationcontrollers",
            "ReplicationController",
            True,
            "rc",
            "all",
            "status scale",
            strategy=ReplicaSetStrategy,
        ),
        _Row(
            "resourcequotas", "ResourceQuota", True, "quota", "", "status", strategy=StatusStrategy
        ),
        _Row("secrets", "Secret", strategy=SecretStrategy),
        _Row("serviceaccounts", "ServiceAccount", True, "sa", "", "token"),
        _Row("services", "Service", True, "svc", "all", "status proxy", strategy=ServiceStrategy),
    ),
    "admissionregistration.k8s.io/v1": (
        _Row(
            "mutatingwebhookconfigurations",
            "MutatingWebhookConfiguration",
            _CLUSTER,
            categories="api-extensions",
            strategy=WebhookConfigurationStrategy,
        ),
        _Row(
            "validatingadmissionpolicies",
            "ValidatingAdmissionPolicy",
            _CLUSTER,
            categories="api-extensions",
            subresources="status",
        ),
        _Row(
            "validatingadmissionpolicybindings",
            "ValidatingAdmissionPolicyBinding",
            _CLUSTER,
            categories="api-extensions",
        ),
        _Row(
            "validatingwebhookconfigurations",
            "ValidatingWebhookConfiguration",
            _CLUSTER,
            categories="api-extensions",
            strategy=WebhookConfigurationStrategy,
        ),
    ),
    "apiextensions.k8s.io/v1": (
        _Row(
            "customresourcedefinitions",
            "CustomResourceDefinition",
            _CLUSTER,
            "crd crds",
            "api-extensions",
            "status",
            strategy=CrdStrategy,
        ),
    ),
    "apiregistration.k8s.io/v1": (
        _Row(
            "apiservices",
            "APIService",
            _CLUSTER,
            "",
            "api-extensions",
            "status",
            strategy=StatusStrategy,
        ),
    ),
    "apps/v1": (
        _Row("controllerrevisions", "ControllerRevision"),
        _Row("daemonsets", "DaemonSet", True, "ds", "all", "status", strategy=DaemonSetStrategy),
        _Row(
            "deployments",
            "Deployment",
            True,
            "deploy",
            "all",
            "status scale",
            strategy=DeploymentStrategy,
        ),
        _Row(
            "replicasets",
            "ReplicaSet",
            True,
            "rs",
            "all",
            "status scale",
            strategy=ReplicaSetStrategy,
        ),
        _Row(
            "statefulsets",
            "StatefulSet",
            True,
            "sts",
            "all",
            "status scale",
            strategy=StatefulSetStrategy,
        ),
    ),
    "authentication.k8s.io/v1": (
        _Row("selfsubjectreviews", "SelfSubjectReview", _CLUSTER, verbs=_REVIEW_VERBS),
        _Row("tokenreviews", "TokenReview", _CLUSTER, verbs=_REVIEW_VERBS),
    ),
    "authorization.k8s.io/v1": (
        _Row("localsubjectaccessreviews", "LocalSubjectAccessReview", verbs=_REVIEW_VERBS),
        _Row("selfsubjectaccessreviews", "SelfSubjectAccessReview", _CLUSTER, verbs=_REVIEW_VERBS),
        _Row("selfsubjectrulesreviews", "SelfSubjectRulesReview", _CLUSTER, verbs=_REVIEW_VERBS),
        _Row("subjectaccessreviews", "SubjectAccessReview", _CLUSTER, verbs=_REVIEW_VERBS),
    ),
    "autoscaling/v2": (
        _Row(
            "horizontalpodautoscalers",
            "HorizontalPodAutoscaler",
            True,
            "hpa",
            "all",
            "status",
            strategy=StatusStrategy,
        ),
    ),
    "batch/v1": (
        _Row("cronjobs", "CronJob", True, "cj", "all", "status", strategy=CronJobStrategy),
        _Row("jobs", "Job", True, "", "all", "status", strategy=JobStrategy),
    ),
    "coordination.k8s.io/v1": (_Row("leases", "Lease", strategy=LeaseStrategy),),
    "discovery.k8s.io/v1": (_Row("endpointslices", "EndpointSlice"),),
    "events.k8s.io/v1": (
        _Row(
            "events",
            "Event",
            short="ev",
            stored_in=("", "events"),
            read=from_core,
            write=to_core,
            strategy=EventStrategy,
        ),
    ),
    "networking.k8s.io/v1": (
        _Row("ingressclasses", "IngressClass", _CLUSTER),
        _Row("ingresses", "Ingress", True, "ing", "", "status", strategy=StatusStrategy),
        _Row("ipaddresses", "IPAddress", _CLUSTER, "ip"),
        _Row("networkpolicies", "NetworkPolicy", short="netpol", strategy=NetworkPolicyStrategy),
        _Row("servicecidrs", "ServiceCIDR", _CLUSTER, "", "", "status", strategy=StatusStrategy),
    ),
    "policy/v1": (
        _Row(
            "poddisruptionbudgets",
            "PodDisruptionBudget",
            True,
            "pdb",
            "",
            "status",
            strategy=StatusStrategy,
        ),
    ),
    "rbac.authorization.k8s.io/v1": (
        _Row("clusterrolebindings", "ClusterRoleBinding", _CLUSTER, strategy=RoleBindingStrategy),
        _Row("clusterroles", "ClusterRole", _CLUSTER, strategy=RoleStrategy),
        _Row("rolebindings", "RoleBinding", strategy=RoleBindingStrategy),
        _Row("roles", "Role", strategy=RoleStrategy),
    ),
    "scheduling.k8s.io/v1": (_Row("priorityclasses", "PriorityClass", _CLUSTER, "pc"),),
    "storage.k8s.io/v1": (
        _Row("csidrivers", "CSIDriver", _CLUSTER),
        _Row("csinodes", "CSINode", _CLUSTER),
        _Row("csistoragecapacities", "CSIStorageCapacity"),
        _Row("storageclasses", "StorageClass", _CLUSTER, "sc"),
        _Row(
            "volumeattachments",
            "VolumeAttachment",
            _CLUSTER,
            "",
            "",
            "status",
            strategy=StatusStrategy,
        ),
        _Row("volumeattributesclasses", "VolumeAttributesClass", _CLUSTER, "vac"),
    ),
}
"""Resources by apiVersion, in the order of discovery."""

_RETURNED_WHEN_DELETED = frozenset(
    {
        "csidrivers",
        "csinodes",
        "customresourcedefinitions",
        "namespaces",
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "podtemplates",
        "resourcequotas",
        "serviceaccounts",
        "services",
        "storageclasses",
        "volumeattachments",
        "volumeattributesclasses",
    }
)
"""Resources whose deletion answers the object; that of the others answers a Status."""

_SUBRESOURCES: dict[str, tuple[tuple[str, ...], GroupVersionKind | None]] = {
    "status": (STATUS_VERBS, None),
    "scale": (STATUS_VERBS, _SCALE),
    "finalize": (("update",), None),
    "log": (("get",), None),
    "binding": (("create",), GroupVersionKind("", "v1", "Binding")),
    "eviction": (("create",), GroupVersionKind("policy", "v1", "Eviction")),
    "ephemeralcontainers": (STATUS_VERBS, None),
    "token": (("create",), GroupVersionKind("authentication.k8s.io", "v1", "TokenRequest")),
    "proxy": (
        ("create", "delete", "get", "patch", "update"),
        GroupVersionKind("", "v1", "ServiceProxyOptions"),
    ),
}
"""Verbs of a subresource, and its kind if it is not the resource's own."""


def builtin_resources() -> Iterator[Resource]:
    """Yield every built-in resource."""
    for api_version, rows in _TABLE.items():
        group, _, version = api_version.rpartition("/")
        for row in rows:
            own_kind = GroupVersionKind(group, version, row.kind)
            subresources = []
            for name in row.subresources.split():
                verbs, kind = _SUBRESOURCES[name]
                subresources.append(Subresource(name, verbs, kind or own_kind))
            strategy = row.strategy(api_version, row.kind)
            strategy.columns = columns_for(api_version, row.plural)
            strategy.returns_deleted_object = row.plural in _RETURNED_WHEN_DELETED
            yield Resource(
                group=group,
                version=version,
                kind=row.kind,
                plural=row.plural,
                singular=row.kind.lower(),
                list_kind=f"{row.kind}List",
                namespaced=row.namespaced,
                strategy=strategy,
                short_names=tuple(row.short.split()),
                categories=tuple(row.categories.split()),
                verbs=row.verbs,
                subresources=tuple(subresources),
                stored_in=row.stored_in,
                read=row.read,
                read_until=sys.maxsize,
                write=row.write,
            )
