"""The ServiceAccount plugin: a pod runs as an account that exists, and can read its token.

Upstream: ``plugin/pkg/admission/serviceaccount``.
"""

from __future__ import annotations

from typing import Any, ClassVar

from clientgo.testcluster.server.admission.plugins.plugin import Plugin
from clientgo.testcluster.server.admission.plugins.pods import PODS
from clientgo.testcluster.server.objects.admission import Operation, Review
from clientgo.testcluster.server.objects.metadata import generate_name
from clientgo.testcluster.server.resources.errors import forbidden
from clientgo.testcluster.server.storage.storage import Object, Storage

_DEFAULT = "default"
_MIRROR = "kubernetes.io/config.mirror"
_MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_TOKEN_SECONDS = 3607
"""Upstream's number, by which kubelets know tokens that may live longer than asked."""


class ServiceAccounts(Plugin):
    """Sets the account of a pod, and mounts its token."""

    resources: ClassVar = (PODS,)

    def __init__(self, storage: Storage) -> None:
        self._accounts = storage.collection(("", "serviceaccounts"))

    def admit(self, review: Review, obj: Object) -> None:
        """Set account, image pull secrets and token of a new pod.

        Raises:
            FailedRequestError: 403, the account does not exist.
        """
        is_mirror = _MIRROR in obj["metadata"].get("annotations", {})
        if review.operation is not Operation.CREATE or is_mirror:
            return
        spec = obj["spec"]
        name = spec.get("serviceAccountName") or _DEFAULT
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        stored = self._accounts.get(f"{review.namespace}/{name}")
        if stored is None:
            why = (
                f"error looking up service account {review.namespace}/{name}: "
                f'serviceaccount "{name}" not found'
            )
            raise forbidden(review.resource, review.name, why)
        account = stored.decode()
        if account.get("imagePullSecrets") and not spec.get("imagePullSecrets"):
            spec["imagePullSecrets"] = account["imagePullSecrets"]
        automount = account.get("automountServiceAccountToken", True)
        if spec.get("automountServiceAccountToken", automount):
            _mount_token(spec)


def _mount_token(spec: Object) -> None:
    # A pod without containers has null there, until it is refused.
    containers = [*spec.get("initContainers", ()), *(spec.get("containers") or ())]
    without = [item for item in containers if not _has_token(item)]
    if not without:
        return
    name = generate_name("kube-api-access-")
    mount = {"name": name, "readOnly": True, "mountPath": _MOUNT_PATH}
    for container in without:
        container["volumeMounts"] = [*container.get("volumeMounts", ()), dict(mount)]
    spec["volumes"] = [*spec.get("volumes", ()), _token_volume(name)]


def _has_token(container: Object) -> bool:
    return any(mount["mountPath"] == _MOUNT_PATH for mount in container.get("volumeMounts", ()))


def _token_volume(name: str) -> dict[str, Any]:
    namespace = {
        "path": "namespace",
        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
    }
    authority = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    sources: list[dict[str, Any]] = [
        {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
        {"configMap": authority},
        {"downwardAPI": {"items": [namespace]}},
    ]
    return {"name": name, "projected": {"sources": sources, "defaultMode": 0o644}}
