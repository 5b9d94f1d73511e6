"""A key that signs tokens. Needs the package ``cryptography``.

Promises: ECDSA on the P-256 curve with SHA-256, which JSON Web Signatures call ES256; the public
key as a JSON Web Key.

Upstream: ``pkg/serviceaccount/jwt.go``; RFC 7515, 7517 and 7518.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from clientgo.util.certificates.private_files import make_private, write_private
from clientgo.util.copies import uncopyable
from clientgo.util.extras import needing_extra

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec

_NUMBER_BYTES: Final = 32
"""Bytes of a coordinate, and of each half of a signature."""


@uncopyable("it holds a private key; store its files instead")
class SigningKey:
    """A private key. Thread-safe."""

    algorithm: Final = "ES256"

    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        self._key = key
        self.id = self._fingerprint()
        """The ``kid`` by which tokens name the key."""

    @classmethod
    @needing_extra("apiserver", "the key that signs tokens")
    def make(cls) -> SigningKey:
        """Return a new key."""
        from cryptography.hazmat.primitives.asymmetric import ec

        return cls(ec.generate_private_key(ec.SECP256R1()))

    @classmethod
    @needing_extra("apiserver", "the key that signs tokens")
    def keep(cls, path: Path) -> SigningKey:
        """Return the key in a file; make it if there is none.

        Raises:
            OSError: the file can't be read or written.
            ValueError: it holds no such key.
        """
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        if path.exists():
            make_private(path)
            key = serialization.load_pem_private_key(path.read_bytes(), None)
            if not isinstance(key, ec.EllipticCurvePrivateKey) or key.curve.name != "secp256r1":
                raise ValueError(f"{path} holds no private key on the P-256 curve")
            return cls(key)
        made = cls.make()
        content = made._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        write_private(path, content)
        return made

    def sign(self, content: bytes) -> bytes:
        """Return the signature of ``content``."""
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

        numbers = decode_dss_signature(self._key.sign(content, ec.ECDSA(hashes.SHA256())))
        return b"".join(number.to_bytes(_NUMBER_BYTES, "big") for number in numbers)

    def has_signed(self, content: bytes, signature: bytes) -> bool:
        """Return True if the key made the signature of ``content``."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

        if len(signature) != 2 * _NUMBER_BYTES:
            return False
        halves = signature[:_NUMBER_BYTES], signature[_NUMBER_BYTES:]
        encoded = encode_dss_signature(*(int.from_bytes(half, "big") for half in halves))
        try:
            self._key.public_key().verify(encoded, content, ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            return False
        return True

    def public_jwk(self) -> dict[str, Any]:
        """Return the public key as a JSON Web Key."""
        numbers = self._key.public_key().public_numbers()
        return {
            "use": "sig",
            "kty": "EC",
            "kid": self.id,
            "crv": "P-256",
            "alg": self.algorithm,
            "x": _base64url(numbers.x.to_bytes(_NUMBER_BYTES, "big")),
            "y": _base64url(numbers.y.to_bytes(_NUMBER_BYTES, "big")),
        }

    def _fingerprint(self) -> str:
        from cryptography.hazmat.primitives import serialization

        encoded = self._key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return _base64url(hashlib.sha256(encoded).digest())


def _base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
