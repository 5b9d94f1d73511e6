"""The Secret that an operator's own certificates are kept in, shared by its replicas."""

from __future__ import annotations

import logging
from typing import Final

from clientgo.api.core_v1 import Secret
from clientgo.client import Client, ResourceClient
from clientgo.meta import NotFoundError, ObjectMeta, ObjectName
from clientgo.operator.certificates.key_pair import KeyPair
from clientgo.operator.certificates.own_certificates import OwnCertificates
from clientgo.operator.certificates.serving_certificate import CERTIFICATE_FILE, KEY_FILE

_log = logging.getLogger("clientgo.operator.certificates")

_TRUSTED: Final = "ca.crt"
_AUTHORITY_KEY: Final = "ca.key"
_TYPE: Final = "kubernetes.io/tls"


class CertificateSecret:
    """Reads and writes one Secret. Methods block and raise what a client raises."""

    def __init__(self, client: Client, name: ObjectName) -> None:
        self._secrets: ResourceClient[Secret] = client.resource(Secret).namespace(name.namespace)
        self.name = name

    def read(self) -> tuple[Secret | None, OwnCertificates | None]:
        """The Secret and what is in it; None for what is not there or not complete."""
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

        Raises ``ConflictError`` or ``AlreadyExistsError`` where somebody else has written since.
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
