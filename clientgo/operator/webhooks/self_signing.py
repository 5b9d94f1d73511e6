"""Certificates of a webhook server's own making, for the objects that it is deployed with.

Apart from the server, because it needs a client.
"""

from __future__ import annotations

from collections.abc import Callable

from clientgo.client import Client
from clientgo.clock import REAL_CLOCK, Clock
from clientgo.meta import ObjectName
from clientgo.operator.certificates.cert_manager import service_names
from clientgo.operator.certificates.self_signed import SelfSignedCertificates
from clientgo.operator.certificates.trust import Trusting
from clientgo.operator.webhooks.object_names import WebhookObjectNames
from clientgo.operator.webhooks.server import WebhookServer


def self_signed_certificates(
    server: WebhookServer,
    client: Client,
    *,
    operator: str,
    namespace: str,
    is_leader: Callable[[], bool],
    clock: Clock = REAL_CLOCK,
) -> SelfSignedCertificates:
    """What keeps the certificate of ``server``, to be run in a thread from the server's start on.

    ``operator`` and ``namespace`` say which Secret, service and configurations are its own, see
    :class:`~clientgo.operator.webhooks.object_names.WebhookObjectNames`; the CRDs are those of the
    kinds that it converts. Raises ``ConfigError`` without the package ``cryptography``,
    ``DeclarationError`` for versions that cannot be converted.
    """
    names = WebhookObjectNames.of(operator)
    manifests = server.webhooks.manifests
    crds = [kind.resource.group_resource for kind in server.webhooks.conversions()]
    return SelfSignedCertificates(
        client,
        ObjectName(namespace, names.secret),
        names=(*service_names(names.service, namespace), *server.options.local_names),
        trusting=Trusting(
            mutating=[names.mutating] if any(m.mutating for m in manifests) else [],
            validating=[names.validating] if not all(m.mutating for m in manifests) else [],
            crds=crds,
        ),
        is_leader=is_leader,
        install=server.certificate.install,
        # A leader works with filled caches, and these need the conversions.
        may_begin=bool(crds),
        clock=clock,
    )
