"""The certificates of an operator that makes its own: an authority, and a pair that it vouches for.

Promises: whoever trusts ``trusted`` trusts the pair, and also the one before it as long as that is
valid, so that replicas may change to a new pair one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from clientgo.operator.certificates.authority import (
    belong_together,
    make_authority,
    make_serving_pair,
    split_certificates,
    validity_of,
    vouches_for,
)
from clientgo.operator.certificates.key_pair import KeyPair

_DAY: Final = 86400.0
AUTHORITY_LIFETIME: Final = 3650 * _DAY
SERVING_LIFETIME: Final = 365 * _DAY
"""Seconds; what open-policy-agent's cert-controller and client-go choose."""

_AUTHORITY_NAME: Final = "clientgo-operator-ca"


@dataclass(frozen=True, slots=True)
class OwnCertificates:
    """Immutable. ``trusted`` is a PEM bundle, the newest authority first."""

    authority: KeyPair
    serving: KeyPair
    trusted: bytes

    @classmethod
    def make(cls, names: Sequence[str], now: float, *, trusted: bytes = b"") -> Self:
        """New ones for a server reached by ``names``; what was ``trusted`` stays so if valid."""
        authority = make_authority(_AUTHORITY_NAME, now=now, lifetime=AUTHORITY_LIFETIME)
        serving = make_serving_pair(authority, names, now=now, lifetime=SERVING_LIFETIME)
        older = (
            []
            if not trusted
            else [pem for pem in split_certificates(trusted) if not validity_of(pem).is_over(now)]
        )
        return cls(authority, serving, b"".join([authority.certificate, *older]))

    def renewed(self, names: Sequence[str], now: float) -> Self:
        """The same, or new ones where two thirds of a life are over or a name is missing.

        Raises ``ValueError`` where they cannot be read.
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
