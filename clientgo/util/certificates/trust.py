"""What a client trusts: the one place that makes the SSL context for it.

Promises Go's checks: a certificate that is trusted ends the chain, self-signed or not; names are
those of the subjectAltName. Python 3.13's check of each certificate against RFC 5280 is off unless
asked for: the CAs of some clusters do not pass, and Go has no such check.

Source: Go `crypto/x509` Verify, AppendCertsFromPEM.
"""

from __future__ import annotations

import contextlib
import re
import ssl
from typing import Final

from clientgo.util.copies import CopyableError

CERTIFICATE: Final = re.compile(
    r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL
)


class NoCertificateError(CopyableError, ValueError):
    """There is no certificate in PEM form."""


def client_context(ca: str | None = None, *, strict: bool = False) -> ssl.SSLContext:
    """Return a context that trusts the certificates in ``ca``, or else the system's.

    Raises :class:`NoCertificateError`.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    if strict:
        context.verify_flags |= ssl.VERIFY_X509_STRICT
    if ca is None:
        _end_chains_at_trusted(context)
        context.load_default_certs()
    else:
        trust(context, ca)
    return context


def _end_chains_at_trusted(context: ssl.SSLContext) -> None:
    """Let each trusted certificate end a chain, self-signed or not, as Go does."""
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN


def trust(context: ssl.SSLContext, ca: str) -> None:
    """Trust the certificates in a text; those that cannot be read are left out, as by Go.

    Each ends the chain of what it has issued. Raises :class:`NoCertificateError` if no certificate
    is left.
    """
    _end_chains_at_trusted(context)
    trusted = 0
    for certificate in CERTIFICATE.findall(ca):
        with contextlib.suppress(ssl.SSLError, ValueError):
            context.load_verify_locations(cadata=certificate)
            trusted += 1
    if not trusted:
        raise NoCertificateError("it holds no certificate in PEM form")
