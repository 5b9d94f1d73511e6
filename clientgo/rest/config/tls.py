"""TLS towards a server: the SSL context for what a configuration and an identity say.

Promises that certificates and keys given as text stay in memory, and that those of files are read
whole before they are used. A bad certificate or key is a :class:`ConfigError`.

What is trusted is decided as Go does, see `clientgo.util.certificates`. Source: client-go
`transport` TLSConfigFor.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import ssl
import tempfile
from collections.abc import Iterator
from typing import Final, NoReturn

from clientgo.rest.config.config_error import ConfigError
from clientgo.rest.config.credentials import NOBODY, Identity
from clientgo.rest.config.rest_config import TLSSettings
from clientgo.util.certificates import CERTIFICATE, NoCertificateError, client_context

_KEY: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]*PRIVATE KEY)-----.*?-----END \1-----", re.DOTALL)
_MISMATCHES: Final = ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "X509_KEY_VALUES_MISMATCH")
_MEMORY_FILES: Final = "/proc/self/fd"


class _EncryptedKeyError(Exception):
    pass


def ssl_context(tls: TLSSettings, identity: Identity = NOBODY) -> ssl.SSLContext:
    """Return the context for connections to a server, with the client certificate of ``identity``.

    Reads the files that are named. Without a CA, the system's are trusted. Raises
    :class:`ConfigError`.
    """
    try:
        context = client_context(_ca_of(tls), strict=tls.strict)
    except NoCertificateError as error:
        raise ConfigError(
            f"the certificate authority cannot be used: {error}",
            path="" if tls.ca_data else tls.ca_file,
            advice="give the CA that issued the server's certificate",
        ) from error
    _complete(context, tls, identity)
    return context


def check_tls(tls: TLSSettings, identity: Identity = NOBODY) -> None:
    """Raise :class:`ConfigError` if :func:`ssl_context` would.

    Does not read the system's CAs, which takes longer than all the rest.
    """
    if _ca_of(tls) is None:
        _complete(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), tls, identity)
    else:
        ssl_context(tls, identity)


def proxy_ssl_context(tls: TLSSettings) -> ssl.SSLContext:
    """Return the context for a proxy: trusts the system's CAs and, as Go, the cluster's."""
    context = ssl_context(tls)
    if not tls.insecure:
        context.load_default_certs()
    return context


def certificate_names(
    sock: socket.socket, tls: TLSSettings, identity: Identity, host: str
) -> tuple[str, ...]:
    """Return the names in the certificate of a server, asked over a connection of its own.

    Its chain is verified, its name is not. Raises ``OSError`` or :class:`ConfigError`.
    """
    context = ssl_context(tls, identity)
    context.check_hostname = False
    with context.wrap_socket(sock, server_hostname=tls.server_name or host) as secured:
        certificate = secured.getpeercert() or {}
    names: tuple[tuple[str, str], ...] = certificate.get("subjectAltName", ())  # type: ignore[assignment]
    return tuple(name for _, name in names)


def _complete(context: ssl.SSLContext, tls: TLSSettings, identity: Identity) -> None:
    if tls.insecure:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if identity.cert_data or identity.cert_file:
        _present(context, identity)
    if tls.server_name:
        _check_name(context, tls.server_name)


def _ca_of(tls: TLSSettings) -> str | None:
    """The certificates to trust; None for the system's."""
    if tls.insecure or not (tls.ca_data or tls.ca_file):
        return None
    return tls.ca_data or _read(tls.ca_file, "the certificate authority")


def _present(context: ssl.SSLContext, identity: Identity) -> None:
    """Load the client certificate; both texts are read before, so a rotation cannot mix them."""
    path = "" if identity.cert_data else identity.cert_file
    text = identity.cert_data or _read(identity.cert_file, "the client certificate")
    certificates = CERTIFICATE.findall(text)
    if identity.key_data or identity.key_file:
        key_path = "" if identity.key_data else identity.key_file
        text = identity.key_data or _read(identity.key_file, "the client key")
    else:
        key_path = path  # the key may be in the certificate's file
    key = _KEY.search(text)
    if not certificates:
        raise ConfigError(
            "the client certificate holds no certificate in PEM form",
            path=path,
            advice="give the certificate that was issued to this client",
        )
    if key is None:
        raise ConfigError(
            "the client key holds no private key in PEM form",
            path=key_path,
            advice="give the key of the client certificate",
        )
    try:
        with _readable("\n".join([*certificates, key[0], ""]).encode()) as file:
            context.load_cert_chain(file, password=_refuse_encrypted_key)
    except _EncryptedKeyError:
        raise ConfigError(
            "the client key is encrypted",
            path=key_path,
            advice="decrypt it, as with 'openssl pkey'; kubectl takes no encrypted keys either",
        ) from None
    except ssl.SSLError as error:
        if error.reason in _MISMATCHES:
            raise ConfigError(
                "the client key does not belong to the client certificate",
                path=key_path,
                advice="give the two that were issued together",
            ) from error
        raise ConfigError(
            f"the client certificate and its key cannot be used: {error.reason or 'no valid PEM'}",
            path=path,
            advice="give valid ones",
        ) from error


def _refuse_encrypted_key() -> NoReturn:
    """Called for the password of a key; without it, OpenSSL asks for it at the terminal."""
    raise _EncryptedKeyError


def _check_name(context: ssl.SSLContext, name: str) -> None:
    try:
        context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname=name)
    except ValueError as error:
        raise ConfigError(
            f"the server name {name!r} is no host name: {error}",
            advice="give the name, or IP address, that is in the server's certificate",
        ) from error


def _read(path: str, what: str) -> str:
    try:
        with open(path, encoding="latin-1") as file:  # PEM is ASCII, comments beside it may not be
            return file.read()
    except OSError as error:
        raise ConfigError(
            f"{what} cannot be read: {error.strerror}",
            path=path,
            advice="check the path and its permissions",
        ) from error


@contextlib.contextmanager
def _readable(content: bytes) -> Iterator[str]:
    """Give a path under which this process can read the content while the block runs.

    Python loads a certificate and its key from files only. Where the system has files in memory, it
    is one of them, so nothing is left behind, whatever happens to the process.
    """
    if hasattr(os, "memfd_create") and os.path.isdir(_MEMORY_FILES):
        with open(os.memfd_create("client-certificate"), "wb", buffering=0) as file:
            file.write(content)
            yield f"{_MEMORY_FILES}/{file.fileno()}"
        return
    descriptor, path = tempfile.mkstemp()  # for the user alone
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        yield path
    finally:
        os.unlink(path)
