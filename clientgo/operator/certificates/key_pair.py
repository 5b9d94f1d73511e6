"""A certificate and its private key, as PEM."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class KeyPair:
    """``certificate`` may be followed by those between it and its authority."""

    certificate: bytes
    private_key: bytes = field(repr=False)
