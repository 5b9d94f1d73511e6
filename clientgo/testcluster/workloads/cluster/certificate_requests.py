"""Certificate signing requests: signed once they are approved, for the signers of Kubernetes.

Does not approve requests: a user or another controller does.

Upstream: ``pkg/controller/certificates/signer``, ``pkg/apis/certificates``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from clientgo.api.certificates_v1 import (
    CertificateSigningRequest,
    CertificateSigningRequestCondition,
    CertificateSigningRequestSpec,
    CertificateSigningRequestStatus,
)
from clientgo.meta.timestamps import format_time
from clientgo.operator import Context, Result, controller
from clientgo.testcluster.workloads.conditions import is_true
from clientgo.util.certificates import KeyPair, make_authority
from clientgo.util.certificates.signing_request import (
    RequestedCertificate,
    read_request,
    sign_request,
)

_LIFETIME: Final = 365 * 86400.0
_SHORTEST: Final = 600.0
"""Seconds, as upstream."""

_NODES, _NODE = ("system:nodes",), "system:node:"
_OPTIONAL: Final = frozenset({"digital signature", "key encipherment"})


@controller(CertificateSigningRequest, name="certificaterequests", default_filter=False)
class CertificateRequests:
    """Signs with an authority; with one of its own if it gets none."""

    def __init__(self, authority: KeyPair | None = None) -> None:
        self._authority = authority

    def reconcile(
        self, ctx: Context[CertificateSigningRequest], obj: CertificateSigningRequest
    ) -> Result:
        status, spec = obj.status, obj.spec
        check = _CHECKS.get(spec.signer_name)
        is_decided = is_true(status.conditions, "Approved") and not is_true(
            status.conditions, "Failed"
        )
        if check is None or not is_decided or status.certificate:
            return Result.done()
        now = ctx.clock.time()
        try:
            requested = read_request(spec.request)
            problem = check(requested, spec.usages or ())
        except ValueError as error:
            problem = f"unable to parse csr {obj.metadata.name!r}: {error}"
        if problem:
            return _answered(obj, _failed(status, problem, now))
        if self._authority is None:
            self._authority = make_authority("clientgo-workloads", now=now, lifetime=_LIFETIME)
        certificate = sign_request(
            self._authority, spec.request, spec.usages or (), now=now, lifetime=_lifetime(spec)
        )
        return _answered(obj, replace(status, certificate=certificate))


def _lifetime(spec: CertificateSigningRequestSpec) -> float:
    if spec.expiration_seconds is None:
        return _LIFETIME
    return min(max(float(spec.expiration_seconds), _SHORTEST), _LIFETIME)


def _answered(obj: CertificateSigningRequest, status: CertificateSigningRequestStatus) -> Result:
    changed = CertificateSigningRequest(metadata=obj.metadata, spec=obj.spec, status=status)
    return Result.status(changed)


def _failed(
    status: CertificateSigningRequestStatus, problem: str, now: float
) -> CertificateSigningRequestStatus:
    condition = CertificateSigningRequestCondition(
        type="Failed",
        status="True",
        reason="SignerValidationFailure",
        message=problem,
        last_update_time=format_time(now),
    )
    return replace(status, conditions=[*(status.conditions or ()), condition])


# -- what a signer takes: each returns the problem, empty if there is none


def _check_client(_: RequestedCertificate, usages: Sequence[str]) -> str:
    for usage in usages:
        if usage not in _OPTIONAL and usage != "client auth":
            return f"invalid usage for client certificate: {usage}"
    if "client auth" not in usages:
        return "missing required usage for client certificate: client auth"
    return ""


def _check_kubelet_client(requested: RequestedCertificate, usages: Sequence[str]) -> str:
    names = requested.names
    for kind, shown in (("DNS", "DNS"), ("email", "Email"), ("IP", "IP"), ("URI", "URI")):
        if requested.organizations == _NODES and kind in names:
            return f"{shown} subjectAltNames are not allowed"
    return _check_node(requested, usages, "client auth")


def _check_kubelet_serving(requested: RequestedCertificate, usages: Sequence[str]) -> str:
    names = requested.names
    if requested.organizations == _NODES:
        if not names & {"DNS", "IP"}:
            return "DNS or IP subjectAltName is required"
        if "email" in names:
            return "Email subjectAltNames are not allowed"
        if "URI" in names:
            return "URI subjectAltNames are not allowed"
    return _check_node(requested, usages, "server auth")


def _check_node(requested: RequestedCertificate, usages: Sequence[str], required: str) -> str:
    if requested.organizations != _NODES:
        return "subject organization is not system:nodes"
    if not requested.common_name.startswith(_NODE):
        return "subject common name does not begin with system:node: "
    without = {"digital signature", required}
    if set(usages) not in (without, without | {"key encipherment"}):
        return f"usages did not match [{' '.join(sorted(without | {'key encipherment'}))}]"
    return ""


def _check_nothing(_: RequestedCertificate, __: Sequence[str]) -> str:
    return ""


_CHECKS: Final[dict[str, Callable[[RequestedCertificate, Sequence[str]], str]]] = {
    "kubernetes.io/kube-apiserver-client": _check_client,
    "kubernetes.io/kube-apiserver-client-kubelet": _check_kubelet_client,
    "kubernetes.io/kubelet-serving": _check_kubelet_serving,
    "kubernetes.io/legacy-unknown": _check_nothing,
}
