"""A server with TLS, and authorities for it."""

from __future__ import annotations

import datetime
import ssl
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from clientgo.testing.scripted_server import ScriptedServer, answer_json
from clientgo.util.certificates import KeyPair, make_authority, make_serving_pair
from clientgo.util.clock import REAL_CLOCK

PATH = "/api/v1/foos"
NOW = REAL_CLOCK.time()
DAY = 86400.0
AUTHORITY = make_authority("test", now=NOW, lifetime=DAY)
SERVER = make_serving_pair(AUTHORITY, ["127.0.0.1", "one.example"], now=NOW, lifetime=DAY)


class TLSServer(ScriptedServer):
    """Answers over TLS, and notes the name in each client certificate."""

    def __init__(
        self,
        pair: KeyPair,
        directory: Path,
        maximum: ssl.TLSVersion = ssl.TLSVersion.MAXIMUM_SUPPORTED,
    ) -> None:
        (directory / "server.pem").write_bytes(pair.certificate + pair.private_key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(directory / "server.pem")
        context.load_verify_locations(cadata=AUTHORITY.certificate.decode())
        context.verify_mode = ssl.CERT_OPTIONAL
        context.maximum_version = maximum
        super().__init__(tls=context)
        self.shown: list[str] = []
        self.on(PATH, [self._note, *answer_json({"items": []})])
        self.url = self.url.replace("localhost", "127.0.0.1")

    def _note(self, sock: Any) -> None:
        subject = (sock.getpeercert() or {}).get("subject", ())
        self.shown += [part[0][1] for part in subject]


def authority_without_key_usage(now: float, lifetime: float) -> KeyPair:
    """RFC 5280 wants a keyUsage with keyCertSign in it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "old")])
    begin = datetime.datetime.fromtimestamp(now, datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin - datetime.timedelta(minutes=5))
        .not_valid_after(begin + datetime.timedelta(seconds=lifetime))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private_key = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), private_key)
