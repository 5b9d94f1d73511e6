"""Plugins for volumes, ingresses, nodes and certificate requests.

Upstream: ``plugin/pkg/admission/storage``, ``network/defaultingressclass``, ``nodetaint``.
"""

from __future__ import annotations

from typing import ClassVar

from clientgo.testcluster.server.admission.plugins.plugin import Cached, Plugin, default_class
from clientgo.testcluster.server.objects.admission import Operation, Review
from clientgo.testcluster.server.storage.storage import Object, Storage

CLAIM_PROTECTION = "kubernetes.io/pvc-protection"
"""Finalizer of claims; a claim that a pod uses stays."""

_VOLUME_PROTECTION = "kubernetes.io/pv-protection"

_FORMER_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
_FORMER_INGRESS_CLASS = "kubernetes.io/ingress.class"


class VolumeProtection(Plugin):
    """Keeps volumes and claims that are used."""

    resources: ClassVar = (("", "persistentvolumes"), ("", "persistentvolumeclaims"))

    def admit(self, review: Review, obj: Object) -> None:
        """Add the finalizer to a new object."""
        if review.operation is not Operation.CREATE:
            return
        is_volume = review.resource.plural == "persistentvolumes"
        finalizer = _VOLUME_PROTECTION if is_volume else CLAIM_PROTECTION
        finalizers = obj["metadata"].get("finalizers", [])
        if finalizer not in finalizers:
            obj["metadata"]["finalizers"] = [*finalizers, finalizer]


class DefaultStorageClass(Plugin):
    """Gives a claim the default class."""

    resources: ClassVar = (("", "persistentvolumeclaims"),)

    def __init__(self, storage: Storage) -> None:
        find = default_class("storageclass.kubernetes.io/is-default-class")
        self._default = Cached(storage, ("storage.k8s.io", "storageclasses"), find)

    def admit(self, review: Review, obj: Object) -> None:
        """Set the class of a new claim that names none."""
        if review.operation is not Operation.CREATE or "storageClassName" in obj["spec"]:
            return
        if _FORMER_STORAGE_CLASS in obj["metadata"].get("annotations", {}):
            return
        if default := self._default.get():
            obj["spec"]["storageClassName"] = default["metadata"]["name"]


class DefaultIngressClass(Plugin):
    """Gives an ingress the default class."""

    resources: ClassVar = (("networking.k8s.io", "ingresses"),)

    def __init__(self, storage: Storage) -> None:
        find = default_class("ingressclass.kubernetes.io/is-default-class")
        self._default = Cached(storage, ("networking.k8s.io", "ingressclasses"), find)

    def admit(self, review: Review, obj: Object) -> None:
        """Set the class of a new ingress that names none."""
        if review.operation is not Operation.CREATE or "ingressClassName" in obj["spec"]:
            return
        if _FORMER_INGRESS_CLASS in obj["metadata"].get("annotations", {}):
            return
        if default := self._default.get():
            obj["spec"]["ingressClassName"] = default["metadata"]["name"]


_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class NotReadyTaint(Plugin):
    """Keeps pods off a new node until a controller has seen that it is ready."""

    resources: ClassVar = (("", "nodes"),)

    def admit(self, review: Review, obj: Object) -> None:
        """Add the taint to a new node."""
        if review.operation is not Operation.CREATE:
            return
        spec = obj.setdefault("spec", {})
        taints = spec.get("taints", [])
        if not any(_NOT_READY.items() <= taint.items() for taint in taints):
            spec["taints"] = [*taints, dict(_NOT_READY)]


class CertificateRequester(Plugin):
    """Writes who asks for a certificate."""

    resources: ClassVar = (("certificates.k8s.io", "certificatesigningrequests"),)

    def admit(self, review: Review, obj: Object) -> None:
        """Set the user of a new request."""
        if review.operation is not Operation.CREATE:
            return
        for field in ("username", "uid", "groups", "extra"):
            obj["spec"].pop(field, None)
        obj["spec"].update(review.user.info())
