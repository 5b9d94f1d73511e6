"""The certificates that an operator makes for itself, and the Secret its replicas share them in.

Promises: a client that trusts ``trusted`` trusts the pair, and the one before it while that is
valid, so that replicas may change to a new pair one after the other.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from clientgo.api.core_v1 import Secret
from clientgo.certificates import (
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
from clientgo.client import Client, ResourceClient
from clientgo.meta import NotFoundError, ObjectMeta, ObjectName

_log = logging.getLogger("clientgo.operator.certificates")

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
