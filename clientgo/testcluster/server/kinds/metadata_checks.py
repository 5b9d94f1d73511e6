"""How often an update of each built-in kind checks metadata; see ``MetadataChecks``.

Upstream: the ``Validate...Update`` functions of ``pkg/apis/<group>/validation``, and the update
strategies that call the validation of a new object as well.
"""

from __future__ import annotations

from clientgo.testcluster.server.resources.strategy import MetadataChecks

_USUAL = MetadataChecks(qualified_finalizers=True)
_WHOLE_AND_CHANGE = MetadataChecks(whole=1, qualified_finalizers=True)
_WHOLE = MetadataChecks(whole=1, changes=0, qualified_finalizers=True)

_GROUPS = {
    _WHOLE_AND_CHANGE: (
        "ClusterRole ClusterRoleBinding ConfigMap Ingress IngressClass Job Namespace Node "
        "PersistentVolumeClaim Pod ReplicationController Role RoleBinding Secret "
        "ServiceAccount StorageClass"
    ),
    _WHOLE: "EndpointSlice LimitRange",
    MetadataChecks(whole=2, changes=0, qualified_finalizers=True): "PersistentVolume",
    MetadataChecks(whole=1, changes=0): (
        "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration "
        "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding "
        "ValidatingWebhookConfiguration"
    ),
    MetadataChecks(changes=0): "PodDisruptionBudget v1/Event",
    MetadataChecks(): "APIService CustomResourceDefinition Lease",
}
"""Kinds by their checks; with the version where groups differ."""

_CHECKS = {kind: checks for checks, kinds in _GROUPS.items() for kind in kinds.split()}


def metadata_checks(api_version: str, kind: str) -> MetadataChecks:
    """Return the checks of a built-in kind: one of the change, unless it is listed."""
    return _CHECKS.get(f"{api_version}/{kind}") or _CHECKS.get(kind, _USUAL)
