"""The built-in resources: names, verbs and subresources from ``resources.txt``, and strategies.

Upstream: the ``registry`` packages of kube-apiserver, one per resource.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files

import msgspec

from clientgo.meta.group_version import APIResource, GroupVersionKind
from clientgo.meta.selectors import field_reader
from clientgo.testcluster.server.kinds.admission.policies import (
    MutatingPolicyStrategy,
    PolicyBindingStrategy,
    ValidatingPolicyStrategy,
)
from clientgo.testcluster.server.kinds.admission.webhook_configurations import (
    WebhookConfigurationStrategy,
)
from clientgo.testcluster.server.kinds.builtin_strategies import BuiltinStrategy, StatusStrategy
from clientgo.testcluster.server.kinds.cluster.certificates import CertificateRequestStrategy
from clientgo.testcluster.server.kinds.cluster.limits import (
    DisruptionBudgetStrategy,
    EvictionStrategy,
    LimitRangeStrategy,
)
from clientgo.testcluster.server.kinds.cluster.nodes import NodeStrategy
from clientgo.testcluster.server.kinds.columns.table import columns_for
from clientgo.testcluster.server.kinds.conversions.autoscalers import (
    FirstAutoscalerStrategy,
    from_latest,
    to_latest,
)
from clientgo.testcluster.server.kinds.conversions.events import (
    CoreEventStrategy,
    EventStrategy,
    from_core,
    to_core,
)
from clientgo.testcluster.server.kinds.core import (
    ConfigMapStrategy,
    NamespaceStrategy,
    SecretStrategy,
    ServiceAccountStrategy,
)
from clientgo.testcluster.server.kinds.definitions import CrdStrategy
from clientgo.testcluster.server.kinds.jobs import JobStrategy
from clientgo.testcluster.server.kinds.network.ip_addresses import IPAddressStrategy
from clientgo.testcluster.server.kinds.network.network_policies import (
    EndpointSliceStrategy,
    IngressStrategy,
    NetworkPolicyStrategy,
)
from clientgo.testcluster.server.kinds.network.services import ServiceStrategy
from clientgo.testcluster.server.kinds.pods import PodStrategy
from clientgo.testcluster.server.kinds.rbac import RoleBindingStrategy, RoleStrategy
from clientgo.testcluster.server.kinds.storage.volumes import ClaimStrategy, VolumeStrategy
from clientgo.testcluster.server.kinds.workloads import (
    CronJobStrategy,
    DaemonSetStrategy,
    DeploymentStrategy,
    PodTemplateStrategy,
    ReplicaSetStrategy,
    StatefulSetStrategy,
)
from clientgo.testcluster.server.resources.resource import (
    CRUD_VERBS,
    STATUS_VERBS,
    ReadAgain,
    Resource,
    Subresource,
    storage_hash,
)
from clientgo.testcluster.server.storage.storage import Object

_ADMISSION = "admissionregistration.k8s.io"
_RBAC = "rbac.authorization.k8s.io"

_STRATEGIES: Mapping[tuple[str, str], type[BuiltinStrategy]] = {
    ("", "ConfigMap"): ConfigMapStrategy,
    ("", "Event"): CoreEventStrategy,
    ("", "LimitRange"): LimitRangeStrategy,
    ("", "Namespace"): NamespaceStrategy,
    ("", "Node"): NodeStrategy,
    ("", "PersistentVolume"): VolumeStrategy,
    ("", "PersistentVolumeClaim"): ClaimStrategy,
    ("", "PodTemplate"): PodTemplateStrategy,
    ("", "Pod"): PodStrategy,
    ("", "ReplicationController"): ReplicaSetStrategy,
    ("", "Secret"): SecretStrategy,
    ("", "Service"): ServiceStrategy,
    ("", "ServiceAccount"): ServiceAccountStrategy,
    (_ADMISSION, "MutatingWebhookConfiguration"): WebhookConfigurationStrategy,
    (_ADMISSION, "MutatingAdmissionPolicy"): MutatingPolicyStrategy,
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): PolicyBindingStrategy,
    (_ADMISSION, "ValidatingAdmissionPolicy"): ValidatingPolicyStrategy,
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): PolicyBindingStrategy,
    (_ADMISSION, "ValidatingWebhookConfiguration"): WebhookConfigurationStrategy,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): CrdStrategy,
    ("apps", "DaemonSet"): DaemonSetStrategy,
    ("apps", "Deployment"): DeploymentStrategy,
    ("apps", "ReplicaSet"): ReplicaSetStrategy,
    ("apps", "StatefulSet"): StatefulSetStrategy,
    ("batch", "CronJob"): CronJobStrategy,
    ("batch", "Job"): JobStrategy,
    ("certificates.k8s.io", "CertificateSigningRequest"): CertificateRequestStrategy,
    ("discovery.k8s.io", "EndpointSlice"): EndpointSliceStrategy,
    ("events.k8s.io", "Event"): EventStrategy,
    ("networking.k8s.io", "IPAddress"): IPAddressStrategy,
    ("networking.k8s.io", "Ingress"): IngressStrategy,
    ("networking.k8s.io", "NetworkPolicy"): NetworkPolicyStrategy,
    ("policy", "Eviction"): EvictionStrategy,
    ("policy", "PodDisruptionBudget"): DisruptionBudgetStrategy,
    (_RBAC, "ClusterRole"): RoleStrategy,
    (_RBAC, "ClusterRoleBinding"): RoleBindingStrategy,
    (_RBAC, "Role"): RoleStrategy,
    (_RBAC, "RoleBinding"): RoleBindingStrategy,
}
"""Strategies of kinds with rules of their own, by group and kind."""


class _Conversion(msgspec.Struct, frozen=True):
    """How a version differs from the one that is stored."""

    read: Callable[[Object], Object]
    write: Callable[[Object], Object]
    stored_in: tuple[str, str] | None = None
    strategy: type[BuiltinStrategy] | None = None


_CONVERSIONS: Mapping[tuple[str, str], _Conversion] = {
    ("autoscaling/v1", "HorizontalPodAutoscaler"): _Conversion(
        from_latest, to_latest, strategy=FirstAutoscalerStrategy
    ),
    ("events.k8s.io/v1", "Event"): _Conversion(from_core, to_core, stored_in=("", "events")),
}
"""Kinds that are stored in another version or group."""

_STORED_AS: Mapping[tuple[str, str], str] = {
    (f"{_ADMISSION}/v1", "MutatingAdmissionPolicy"): f"{_ADMISSION}/v1beta1",
    (f"{_ADMISSION}/v1", "MutatingAdmissionPolicyBinding"): f"{_ADMISSION}/v1beta1",
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): "apiextensions.k8s.io/v1beta1",
    ("autoscaling/v1", "HorizontalPodAutoscaler"): "autoscaling/v2",
    ("events.k8s.io/v1", "Event"): "v1",
}
"""The version in etcd, of which discovery shows a hash, if it is not the one that is served."""

_RETURNED_WHEN_DELETED = frozenset(
    {
        "csidrivers",
        "csinodes",
        "customresourcedefinitions",
        "deviceclasses",
        "namespaces",
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "podtemplates",
        "resourceclaims",
        "resourceclaimtemplates",
        "resourcequotas",
        "resourceslices",
        "serviceaccounts",
        "services",
        "storageclasses",
        "volumeattachments",
        "volumeattributesclasses",
    }
)
"""Resources whose deletion answers the object; that of the others answers a Status."""

_CREATED_BY_UPDATE = frozenset(
    {
        "clusterrolebindings",
        "clusterroles",
        "endpoints",
        "events",
        "leases",
        "limitranges",
        "rolebindings",
        "roles",
        "services",
    }
)
"""Resources whose update creates an object that does not exist."""

_UPDATED_WITH_VERSION = frozenset(
    {
        "apiservices",
        "clustertrustbundles",
        "csidrivers",
        "csinodes",
        "csistoragecapacities",
        "customresourcedefinitions",
        "leasecandidates",
        "leases",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "mutatingwebhookconfigurations",
        "poddisruptionbudgets",
        "runtimeclasses",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
        "volumeattachments",
    }
)
"""Resources whose update must name the version that it replaces.

Upstream: ``AllowUnconditionalUpdate`` of each kind's strategy.
"""

_ORPHANING = frozenset({"jobs", "replicationcontrollers"})
"""Resources whose deletion leaves dependents by default."""

_DEPRECATIONS: Mapping[str, str] = {
    "componentstatuses": "v1 ComponentStatus is deprecated in v1.19+",
    "endpoints": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}
"""Warnings for the clients of deprecated resources."""

_CONNECT = ("create", "get")
_PROXY = ("create", "delete", "get", "patch", "update")

_SUBRESOURCES: Mapping[str, tuple[tuple[str, ...], GroupVersionKind | None]] = {
    "approval": (STATUS_VERBS, None),
    "attach": (_CONNECT, GroupVersionKind("", "v1", "PodAttachOptions")),
    "binding": (("create",), GroupVersionKind("", "v1", "Binding")),
    "ephemeralcontainers": (STATUS_VERBS, None),
    "eviction": (("create",), GroupVersionKind("policy", "v1", "Eviction")),
    "exec": (_CONNECT, GroupVersionKind("", "v1", "PodExecOptions")),
    "finalize": (("update",), None),
    "log": (("get",), None),
    "portforward": (_CONNECT, GroupVersionKind("", "v1", "PodPortForwardOptions")),
    "resize": (STATUS_VERBS, None),
    "scale": (STATUS_VERBS, GroupVersionKind("autoscaling", "v1", "Scale")),
    "status": (STATUS_VERBS, None),
    "token": (("create",), GroupVersionKind("authentication.k8s.io", "v1", "TokenRequest")),
}
"""Verbs of a subresource, and its kind if it is not the resource's own."""


class ApiVersion(msgspec.Struct):
    """A built-in version of a group, with the priorities of its APIService and its resources."""

    name: str
    priorities: tuple[int, ...]
    """Of the group and of the version; none if it has no APIService."""
    rows: list[Row]


class Row(msgspec.Struct):
    """A resource as ``resources.txt`` describes it."""

    plural: str
    kind: str
    is_namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = CRUD_VERBS
    fields: tuple[str, ...] = ()
    """Fields that can be selected."""


@functools.cache
def builtin_versions() -> tuple[ApiVersion, ...]:
    """Return the built-in versions in the order of discovery."""
    versions: list[ApiVersion] = []
    for line in files(__package__).joinpath("resources.txt").read_text("utf-8").splitlines():
        if line.startswith(" "):
            versions[-1].rows.append(_row(*line.split()))
        elif line and not line.startswith("#"):
            name, *priorities = line.split()
            versions.append(ApiVersion(name, tuple(map(int, priorities)), []))
    return tuple(versions)


def _row(plural: str, kind: str, *words: str) -> Row:
    row = Row(plural, kind)
    for word in words:
        if word == "*cluster":
            row.is_namespaced = False
        elif word.startswith("+"):
            row.categories += (word[1:],)
        elif word.startswith("/"):
            row.subresources += (word[1:],)
        elif word.startswith("verbs="):
            row.verbs = tuple(word.removeprefix("verbs=").split(","))
        elif word.startswith("fields="):
            row.fields = tuple(word.removeprefix("fields=").split(","))
        else:
            row.short_names += (word,)
    return row


def builtin_resources() -> Iterator[Resource]:
    """Yield every built-in resource."""
    for version in builtin_versions():
        for row in version.rows:
            yield _resource(version.name, row)


def body_kinds() -> Iterator[Resource]:
    """Yield the kinds that clients send to subresources, and that no resource has."""
    for api_version, kind in (
        ("authentication.k8s.io/v1", "TokenRequest"),
        ("autoscaling/v1", "Scale"),
        ("policy/v1", "Eviction"),
    ):
        yield _resource(api_version, Row(f"{kind.lower()}s", kind))


def _resource(api_version: str, row: Row) -> Resource:
    group, _, version = api_version.rpartition("/")
    conversion = _CONVERSIONS.get((api_version, row.kind))
    strategy = _strategy(api_version, row, conversion)
    own_kind = GroupVersionKind(group, version, row.kind)
    return Resource(
        group=group,
        version=version,
        kind=row.kind,
        plural=row.plural,
        singular=row.kind.lower(),
        list_kind=f"{row.kind}List",
        namespaced=row.is_namespaced,
        strategy=strategy,
        short_names=row.short_names,
        categories=row.categories,
        verbs=row.verbs,
        subresources=tuple(_subresource(name, own_kind) for name in row.subresources),
        stored_in=conversion.stored_in if conversion else None,
        storage_hash=_storage_hash(api_version, row),
        read=conversion.read if conversion else None,
        read_again=ReadAgain(sys.maxsize),
        write=conversion.write if conversion else None,
        deprecation=_DEPRECATIONS.get(row.plural, ""),
    )


def _storage_hash(api_version: str, row: Row) -> str:
    if "watch" not in row.verbs:
        return ""  # nothing is stored
    return storage_hash(_STORED_AS.get((api_version, row.kind), api_version), row.kind)


def _strategy(api_version: str, row: Row, conversion: _Conversion | None) -> BuiltinStrategy:
    group = api_version.rpartition("/")[0]
    usual = StatusStrategy if "status" in row.subresources else BuiltinStrategy
    chosen = _STRATEGIES.get((group, row.kind), usual)
    if conversion and conversion.strategy:
        chosen = conversion.strategy
    strategy = chosen(api_version, row.kind)
    if row.fields:
        kind = APIResource(group=group, version="", kind=row.kind, plural=row.plural)
        strategy.selectable_fields = {name: field_reader(kind, name) for name in row.fields}
    strategy.columns = columns_for(api_version, row.plural)
    strategy.returns_deleted_object = row.plural in _RETURNED_WHEN_DELETED
    strategy.creates_on_update = row.plural in _CREATED_BY_UPDATE
    strategy.orphans_dependents = row.plural in _ORPHANING
    strategy.allow_unconditional_update = row.plural not in _UPDATED_WITH_VERSION
    return strategy


def _subresource(name: str, own_kind: GroupVersionKind) -> Subresource:
    if name == "proxy":
        return Subresource(name, _PROXY, GroupVersionKind("", "v1", f"{own_kind.kind}ProxyOptions"))
    verbs, kind = _SUBRESOURCES[name]
    return Subresource(name, verbs, kind or own_kind)
