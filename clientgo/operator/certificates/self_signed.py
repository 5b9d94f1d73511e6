"""Certificates without cert-manager: the operator makes, shares and renews its own.

::

    leader ──► caBundle of its configurations ──► Secret ──► every replica's server

Promises: only the leader writes, and it writes a new authority before any replica uses its
certificates. A certificate is renewed after two thirds of its life, without a restart; other
replicas read the Secret every 10 s. If a leader cannot be elected without the webhooks, any replica
makes the first certificates: the Secret is created only once, so all use the same.

Upstream: open-policy-agent ``cert-controller`` rotator; controller-runtime has none.
"""

from __future__ import annotations

import importlib.util
import logging
import threading
from collections.abc import Callable
from typing import Final

from clientgo.api.core_v1 import Secret
from clientgo.certificates import CertificateError, KeyPair
from clientgo.client import Client
from clientgo.clock import REAL_CLOCK, Clock
from clientgo.meta import AlreadyExistsError, ConflictError, ObjectName, StatusError
from clientgo.operator.certificates.cert_manager import service_names
from clientgo.operator.certificates.certificate_secret import CertificateSecret, OwnCertificates
from clientgo.operator.certificates.trust import Trusting, trust
from clientgo.operator.errors import ConfigError
from clientgo.operator.webhooks import WebhookObjectNames, WebhookServer
from clientgo.rest import TransportError
from clientgo.wait import call_when_set

_log = logging.getLogger("clientgo.operator.certificates")

LOOK_PERIOD: Final = 10.0
"""Seconds between reads of the Secret."""


class SelfSignedCertificates:
    """Keeps the certificate of a webhook server. Thread-safe.

    ``names`` are the host names and addresses that API servers call, usually
    ``<service>.<namespace>.svc``; ``install`` uses a pair. ``is_leader`` returns True if this
    replica may write; call :meth:`wake` when it has been elected. ``trusting`` names the objects
    that have to trust the certificate. With ``may_begin`` the first certificates are made without
    a leader. Raises ``ConfigError`` without the package ``cryptography``.
    """

    def __init__(
        self,
        client: Client,
        secret: ObjectName,
        *,
        names: tuple[str, ...],
        trusting: Trusting,
        is_leader: Callable[[], bool],
        install: Callable[[KeyPair], None],
        may_begin: bool = False,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        if importlib.util.find_spec("cryptography") is None:
            raise ConfigError(
                "certs='self' needs the package cryptography: pip install 'clientgo[operator]', "
                "or put tls.crt and tls.key into cert_dir and pass certs='dir'"
            )
        self._client = client
        self._secret = CertificateSecret(client, secret)
        self._names = names
        self._trusting = trusting
        self._is_leader = is_leader
        self._install = install
        self._may_begin = may_begin
        self._clock = clock
        self._changed = threading.Condition()
        self._is_woken = False

    def ensure(self) -> bool:
        """Make, renew or read certificates as needed; return True if one is in use.

        Blocks on the API server; raises what a client raises.
        """
        secret, kept = self._secret.read()
        certificates = kept
        if self._is_leader():
            certificates = self._current(kept)
            trust(self._client, self._trusting, certificates.trusted)
            if certificates is not kept:
                self._secret.write(secret, certificates)
                _log.info("Secret %s has new certificates", self._secret.name)
        elif self._may_begin:
            certificates = kept or self._begin(secret)
            trust(self._client, self._trusting, certificates.trusted, only_first=True)
        if certificates is None:
            return False
        self._install(certificates.serving)
        return True

    def run(self, stop: threading.Event) -> None:
        """Call :meth:`ensure` immediately, when woken and every 10 s, until ``stop`` is set."""
        registration = call_when_set(stop, self.wake)
        try:
            while not stop.is_set():
                self._ensure_or_say_why_not()
                with self._changed:
                    if not self._is_woken:
                        self._clock.wait(self._changed, LOOK_PERIOD)
                    self._is_woken = False
        finally:
            registration.cancel()

    def wake(self) -> None:
        """Let :meth:`run` call :meth:`ensure` now, as after an election."""
        with self._changed:
            self._is_woken = True
            self._changed.notify_all()

    def _ensure_or_say_why_not(self) -> None:
        try:
            if not self.ensure():
                _log.info("Waiting for Secret %s, which the leader makes", self._secret.name)
        except (StatusError, TransportError, CertificateError, OSError) as error:
            _log.warning(
                "The webhook certificate in Secret %s cannot be kept: %s; tried again in %d s",
                self._secret.name,
                error,
                LOOK_PERIOD,
            )

    def _begin(self, secret: Secret | None) -> OwnCertificates:
        """Return the first certificates; those of another replica if that was faster."""
        made = OwnCertificates.make(self._names, self._clock.time())
        try:
            self._secret.write(secret, made)
        except (AlreadyExistsError, ConflictError):
            _, theirs = self._secret.read()
            return theirs or made
        _log.info("Secret %s has the first certificates", self._secret.name)
        return made

    def _current(self, kept: OwnCertificates | None) -> OwnCertificates:
        now = self._clock.time()
        if kept is None:
            return OwnCertificates.make(self._names, now)
        try:
            return kept.renewed(self._names, now)
        except ValueError as error:
            _log.warning(
                "Secret %s cannot be read (%s); it gets new certificates", self._secret.name, error
            )
            return OwnCertificates.make(self._names, now)


def self_signed_certificates(
    server: WebhookServer,
    client: Client,
    *,
    operator: str,
    namespace: str,
    is_leader: Callable[[], bool],
    clock: Clock = REAL_CLOCK,
) -> SelfSignedCertificates:
    """Return what keeps the certificate of ``server``; run it from the server's start.

    ``operator`` and ``namespace`` name its Secret, service and configurations, see
    :class:`~clientgo.operator.webhooks.manifest.WebhookObjectNames`; the CRDs are those of the
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
        # A leader needs filled caches, and these need the conversions.
        may_begin=bool(crds),
        clock=clock,
    )
