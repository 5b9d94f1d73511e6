"""Certificates without cert-manager: the operator makes, shares and renews its own.

    leader ──► caBundle of its configurations ──► Secret ──► every replica's server

Promises that the leader alone writes, and writes a new authority before any replica uses its
certificates; those of the authority before stay trusted while it is valid. A certificate is renewed
after two thirds of its life, without a restart; other replicas read the Secret every 10 s. If a
leader cannot be elected without the webhooks, any replica makes the first certificates.

Upstream: open-policy-agent ``cert-controller`` rotator; controller-runtime has none.
"""

from __future__ import annotations

import importlib.util
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

from clientgo.api.admissionregistration_v1 import (
    MutatingWebhookConfiguration,
    ValidatingWebhookConfiguration,
)
from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.api.core_v1 import Secret
from clientgo.client import Client, ResourceClient
from clientgo.meta import (
    AlreadyExistsError,
    ConflictError,
    DecodeError,
    NotFoundError,
    ObjectMeta,
    ObjectName,
    Resource,
    StatusError,
)
from clientgo.observe.serving import CertificateError
from clientgo.operator.certificates.cert_manager import service_names
from clientgo.operator.errors import ConfigError
from clientgo.operator.webhooks import WebhookObjectNames, WebhookServer
from clientgo.rest import TransportError
from clientgo.util.certificates import (
    CERTIFICATE_FILE,
    KEY_FILE,
    KeyPair,
    belong_together,
    make_authority,
    make_serving_pair,
    split_certificates,
    validity_of,
    vouches_for,
)
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.wait import call_when_set, retry_on_conflict

_log = logging.getLogger("clientgo.operator.certificates")

LOOK_PERIOD: Final = 10.0
"""Seconds between reads of the Secret."""


@dataclass(eq=False)
class SelfSignedCertificates:
    """Keeps the certificate of a webhook server. Thread-safe.

    ``names`` are the host names and addresses that API servers call; ``install`` uses a pair.
    ``is_leader()`` says if this replica may write; call :meth:`wake` after an election.
    ``trusting`` names the objects that must trust the certificate. With ``may_begin`` the first
    certificates are made without a leader. Raises ``ConfigError`` without the package
    ``cryptography``.
    """

    client: Client
    secret: ObjectName
    names: tuple[str, ...]
    trusting: Trusting
    is_leader: Callable[[], bool]
    install: Callable[[KeyPair], None]
    may_begin: bool = False
    clock: Clock = REAL_CLOCK
    _changed: threading.Condition = field(default_factory=threading.Condition, init=False)
    _is_woken: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if importlib.util.find_spec("cryptography") is None:
            raise ConfigError(
                "certs='self' needs the package cryptography: pip install 'clientgo[operator]', "
                "or put tls.crt and tls.key into cert_dir and pass certs='dir'"
            )
        self._secret = CertificateSecret(self.client, self.secret)

    def ensure(self) -> bool:
        """Make, renew or read certificates as needed; return True if one is in use.

        Blocks on the API server; raises what a client raises.
        """
        secret, kept = self._secret.read()
        certificates = kept
        if self.is_leader():
            certificates = self._current(kept)
            trust(self.client, self.trusting, certificates.trusted)
            if certificates is not kept:
                self._secret.write(secret, certificates)
                _log.info("Secret %s has new certificates", self._secret.name)
        elif self.may_begin:
            certificates = kept or self._begin(secret)
            trust(self.client, self.trusting, certificates.trusted, only_first=True)
        if certificates is None:
            return False
        self.install(certificates.serving)
        return True

    def run(self, stop: threading.Event) -> None:
        """Call :meth:`ensure` immediately, when woken and every 10 s, until ``stop`` is set."""
        registration = call_when_set(stop, self.wake)
        try:
            while not stop.is_set():
                self._ensure_or_say_why_not()
                with self._changed:
                    if not self._is_woken:
                        self.clock.wait(self._changed, LOOK_PERIOD)
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
        except (DecodeError, StatusError, TransportError, CertificateError, OSError) as error:
            _log.warning(
                "The webhook certificate in Secret %s cannot be kept: %s; tried again in %d s",
                self._secret.name,
                error,
                LOOK_PERIOD,
            )

    def _begin(self, secret: Secret | None) -> OwnCertificates:
        """Return the first certificates; those of another replica if that was faster."""
        made = OwnCertificates.make(self.names, self.clock.time())
        try:
            self._secret.write(secret, made)
        except (AlreadyExistsError, ConflictError):
            _, theirs = self._secret.read()
            return theirs or made
        _log.info("Secret %s has the first certificates", self._secret.name)
        return made

    def _current(self, kept: OwnCertificates | None) -> OwnCertificates:
        now = self.clock.time()
        if kept is None:
            return OwnCertificates.make(self.names, now)
        try:
            return kept.renewed(self.names, now)
        except ValueError as error:
            _log.warning(
                "Secret %s cannot be read (%s); it gets new certificates", self._secret.name, error
            )
            return OwnCertificates.make(self.names, now)


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
    ``WebhookObjectNames``. Raises ``ConfigError`` without the package ``cryptography``,
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


_TRUSTED: Final = "ca.crt"
_AUTHORITY_KEY: Final = "ca.key"
_TYPE: Final = "kubernetes.io/tls"

_DAY: Final = 86400.0
AUTHORITY_LIFETIME: Final = 3650 * _DAY
SERVING_LIFETIME: Final = 365 * _DAY
"""Seconds, as in open-policy-agent's cert-controller and client-go."""

_AUTHORITY_NAME: Final = "clientgo-operator-ca"


@dataclass(frozen=True, slots=True)
class OwnCertificates:
    """An authority and a pair it has signed. ``trusted`` is PEM, the newest authority first."""

    authority: KeyPair
    serving: KeyPair
    trusted: bytes

    @classmethod
    def make(cls, names: Sequence[str], now: float, *, trusted: bytes = b"") -> Self:
        """Make certificates for ``names``; those of ``trusted`` that are valid stay trusted."""
        authority = make_authority(_AUTHORITY_NAME, now=now, lifetime=AUTHORITY_LIFETIME)
        serving = make_serving_pair(authority, names, now=now, lifetime=SERVING_LIFETIME)
        older = (
            []
            if not trusted
            else [pem for pem in split_certificates(trusted) if not validity_of(pem).is_over(now)]
        )
        return cls(authority, serving, b"".join([authority.certificate, *older]))

    def renewed(self, names: Sequence[str], now: float) -> Self:
        """Return the same, or new ones if two thirds of a life are over or a name is missing.

        Raises ``ValueError`` if they cannot be read.
        """
        authority = self.authority
        if validity_of(authority.certificate).is_due(now) or not belong_together(authority):
            return type(self).make(names, now, trusted=self.trusted)
        if self._can_serve(names) and not validity_of(self.serving.certificate).is_due(now):
            return self
        serving = make_serving_pair(authority, names, now=now, lifetime=SERVING_LIFETIME)
        return type(self)(authority, serving, self.trusted)

    def _can_serve(self, names: Sequence[str]) -> bool:
        try:
            fits = vouches_for(self.authority.certificate, self.serving.certificate, names)
            return fits and belong_together(self.serving)
        except ValueError:
            return False


class CertificateSecret:
    """Reads and writes one Secret. Methods block and raise what a client raises."""

    def __init__(self, client: Client, name: ObjectName) -> None:
        self._secrets: ResourceClient[Secret] = client.resource(Secret).namespace(name.namespace)
        self.name = name

    def read(self) -> tuple[Secret | None, OwnCertificates | None]:
        """Return the Secret and its certificates; None for what is missing or not complete."""
        try:
            secret = self._secrets.get(self.name.name)
        except NotFoundError:
            return None, None
        data = secret.data or {}
        wanted = (CERTIFICATE_FILE, KEY_FILE, _TRUSTED, _AUTHORITY_KEY)
        if missing := [name for name in wanted if not data.get(name)]:
            _log.warning("Secret %s lacks %s", self.name, ", ".join(missing))
            return secret, None
        trusted = data[_TRUSTED]
        return secret, OwnCertificates(
            authority=KeyPair(trusted, data[_AUTHORITY_KEY]),
            serving=KeyPair(data[CERTIFICATE_FILE], data[KEY_FILE]),
            trusted=trusted,
        )

    def write(self, secret: Secret | None, certificates: OwnCertificates) -> None:
        """Store the certificates in the Secret that was read, or in a new one.

        Raises ``ConflictError`` or ``AlreadyExistsError`` if another replica has written since.
        """
        data = {
            CERTIFICATE_FILE: certificates.serving.certificate,
            KEY_FILE: certificates.serving.private_key,
            _TRUSTED: certificates.trusted,
            _AUTHORITY_KEY: certificates.authority.private_key,
        }
        if secret is None:
            metadata = ObjectMeta(name=self.name.name, namespace=self.name.namespace)
            self._secrets.create(Secret(metadata=metadata, type=_TYPE, data=data))
        else:
            secret.data = (secret.data or {}) | data
            self._secrets.update(secret)


@dataclass(frozen=True, slots=True)
class Trusting:
    """The names of the objects whose ``caBundle`` an operator writes."""

    mutating: Sequence[str] = ()
    validating: Sequence[str] = ()
    crds: Sequence[str] = ()


def trust(client: Client, objects: Trusting, bundle: bytes, *, only_first: bool = False) -> None:
    """Write the PEM ``bundle`` into these objects; with ``only_first`` where there is none yet.

    Blocks; raises what a client raises.
    """
    named: list[tuple[type[Resource], Sequence[str]]] = [
        (MutatingWebhookConfiguration, objects.mutating),
        (ValidatingWebhookConfiguration, objects.validating),
        (CustomResourceDefinition, objects.crds),
    ]
    for kind, names in named:
        for name in names:
            _trust_one(client.resource(kind), name, bundle, only_first)


def _trust_one(resources: ResourceClient[Any], name: str, bundle: bytes, only_first: bool) -> None:
    def write() -> None:
        obj = resources.get(name)
        configs = [
            config
            for config in _client_configs(obj)
            if config.ca_bundle != bundle and not (only_first and config.ca_bundle)
        ]
        for config in configs:
            config.ca_bundle = bundle
        if configs:
            resources.update(obj)
            _log.info("%s %s trusts the webhooks of this operator", resources.resource.kind, name)

    try:
        retry_on_conflict(write)
    except NotFoundError:
        _log.debug("%s %s is not there yet", resources.resource.kind, name)


def _client_configs(obj: Any) -> list[Any]:
    """Return the parts of an object that say how to call a webhook."""
    if not isinstance(obj, CustomResourceDefinition):
        return [webhook.client_config for webhook in obj.webhooks or ()]
    conversion = obj.spec.conversion
    webhook = conversion.webhook if conversion is not None else None
    config = webhook.client_config if webhook is not None else None
    return [config] if config is not None else []
