"""The built-in resources: every group, version and plural that the server serves from the start.

Promises the table that discovery answers. What is particular to a kind is in its strategy, which
``builtin_kinds`` finds.

Upstream: the ``registry`` packages of kube-apiserver, one per resource.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from clientgo.apiserver.kinds.builtin_kinds import strategy_for
from clientgo.apiserver.kinds.events import from_core, to_core
from clientgo.apiserver.resources.resource import CRUD_VERBS, STATUS_VERBS, Resource, Subresource
from clientgo.apiserver.storage.storage import Object
from clientgo.meta.group_version import GroupVersionKind

_WITHOUT_COLLECTION_DELETE = tuple(verb for verb in CRUD_VERBS if verb != "deletecollection")
_REVIEW_VERBS = ("create",)
_SCALE = GroupVersionKind("autoscaling", "v1", "Scale")


@dataclass(frozen=True, slots=True)
class _Row:
    """A resource in the table; ``subresources`` are names from ``_SUBRESOURCES``."""

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


_CLUSTER = False

_TABLE: dict[str, tuple[_Row, ...]] = {
    "v1": (
        _Row("componentstatuses", "ComponentStatus", _CLUSTER, "cs", verbs=("get", "list")),
        _Row("configmaps", "ConfigMap", short="cm"),
        _Row("endpoints", "Endpoints", short="ep"),
        _Row("events", "Event", short="ev"),
        _Row("limitranges", "LimitRange", short="limits"),
        _Row(
            "namespaces",
            "Namespace",
            _CLUSTER,
            "ns",
            subresources="status finalize",
            verbs=_WITHOUT_COLLECTION_DELETE,
        ),
        _Row("nodes", "Node", _CLUSTER, "no", subresources="status"),
        _Row("persistentvolumeclaims", "PersistentVolumeClaim", True, "pvc", "", "status"),
        _Row("persistentvolumes", "PersistentVolume", _CLUSTER, "pv", "", "status"),
        _Row("pods", "Pod", True, "po", "all", "status log binding eviction ephemeralcontainers"),
        _Row("podtemplates", "PodTemplate"),
        _Row("replicationcontrollers", "ReplicationController", True, "rc", "all", "status scale"),
        _Row("resourcequotas", "ResourceQuota", True, "quota", "", "status"),
        _Row("secrets", "Secret"),
        _Row("serviceaccounts", "ServiceAccount", True, "sa", "", "token"),
        _Row("services", "Service", True, "svc", "all", "status proxy"),
    ),
    "admissionregistration.k8s.io/v1": (
        _Row(
            "mutatingwebhookconfigurations",
            "MutatingWebhookConfiguration",
            _CLUSTER,
            categories="api-extensions",
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
        ),
    ),
    "apiregistration.k8s.io/v1": (
        _Row("apiservices", "APIService", _CLUSTER, "", "api-extensions", "status"),
    ),
    "apps/v1": (
        _Row("controllerrevisions", "ControllerRevision"),
        _Row("daemonsets", "DaemonSet", True, "ds", "all", "status"),
        _Row("deployments", "Deployment", True, "deploy", "all", "status scale"),
        _Row("replicasets", "ReplicaSet", True, "rs", "all", "status scale"),
        _Row("statefulsets", "StatefulSet", True, "sts", "all", "status scale"),
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
        _Row("horizontalpodautoscalers", "HorizontalPodAutoscaler", True, "hpa", "all", "status"),
    ),
    "batch/v1": (
        _Row("cronjobs", "CronJob", True, "cj", "all", "status"),
        _Row("jobs", "Job", True, "", "all", "status"),
    ),
    "coordination.k8s.io/v1": (_Row("leases", "Lease"),),
    "discovery.k8s.io/v1": (_Row("endpointslices", "EndpointSlice"),),
    "events.k8s.io/v1": (
        _Row(
            "events",
            "Event",
            short="ev",
            stored_in=("", "events"),
            read=from_core,
            write=to_core,
        ),
    ),
    "networking.k8s.io/v1": (
        _Row("ingressclasses", "IngressClass", _CLUSTER),
        _Row("ingresses", "Ingress", True, "ing", "", "status"),
        _Row("ipaddresses", "IPAddress", _CLUSTER, "ip"),
        _Row("networkpolicies", "NetworkPolicy", short="netpol"),
        _Row("servicecidrs", "ServiceCIDR", _CLUSTER, "", "", "status"),
    ),
    "policy/v1": (_Row("poddisruptionbudgets", "PodDisruptionBudget", True, "pdb", "", "status"),),
    "rbac.authorization.k8s.io/v1": (
        _Row("clusterrolebindings", "ClusterRoleBinding", _CLUSTER),
        _Row("clusterroles", "ClusterRole", _CLUSTER),
        _Row("rolebindings", "RoleBinding"),
        _Row("roles", "Role"),
    ),
    "scheduling.k8s.io/v1": (_Row("priorityclasses", "PriorityClass", _CLUSTER, "pc"),),
    "storage.k8s.io/v1": (
        _Row("csidrivers", "CSIDriver", _CLUSTER),
        _Row("csinodes", "CSINode", _CLUSTER),
        _Row("csistoragecapacities", "CSIStorageCapacity"),
        _Row("storageclasses", "StorageClass", _CLUSTER, "sc"),
        _Row("volumeattachments", "VolumeAttachment", _CLUSTER, "", "", "status"),
        _Row("volumeattributesclasses", "VolumeAttributesClass", _CLUSTER, "vac"),
    ),
}
"""Resources by apiVersion; groups stand in the order in which discovery answers them."""

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
"""Verbs of a subresource, and the kind that it serves if not the resource's own."""


def builtin_resources() -> Iterator[Resource]:
    """Every built-in resource."""
    for api_version, rows in _TABLE.items():
        group, _, version = api_version.rpartition("/")
        for row in rows:
            own_kind = GroupVersionKind(group, version, row.kind)
            subresources = []
            for name in row.subresources.split():
                verbs, kind = _SUBRESOURCES[name]
                subresources.append(Subresource(name, verbs, kind or own_kind))
            yield Resource(
                group=group,
                version=version,
                kind=row.kind,
                plural=row.plural,
                singular=row.kind.lower(),
                list_kind=f"{row.kind}List",
                namespaced=row.namespaced,
                strategy=strategy_for(api_version, row.plural, row.kind),
                short_names=tuple(row.short.split()),
                categories=tuple(row.categories.split()),
                verbs=row.verbs,
                subresources=tuple(subresources),
                stored_in=row.stored_in,
                read=row.read,
                read_until=sys.maxsize,
                write=row.write,
            )
