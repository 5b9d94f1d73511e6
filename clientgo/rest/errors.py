"""What can go wrong before the API server has answered.

Each failure of the network, of TLS or of a deadline is a :class:`TransportError`; its text names
the method, the URL and what to do. Each is also the built-in exception of its kind
(`ConnectionRefusedError`, `ConnectionResetError`, `TimeoutError`), so code without HTTP, such as a
reflector, can tell them apart. A response with an error is a :class:`clientgo.meta.StatusError`.
"""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Sequence
from typing import Final

import urllib3.exceptions

from clientgo.util.copies import CopyableError

_NOT_NOW: Final = (9, 10)
_UNKNOWN_AUTHORITY: Final = (2, 18, 19, 20, 21)
_WRONG_NAME: Final = (62, 64)
"""Codes of OpenSSL's verification (`X509_V_ERR_*`)."""

_REFUSALS: Final = ("CERTIFICATE", "UNKNOWN_CA", "ACCESS_DENIED")
_MOST_NAMES: Final = 10


class TransportError(CopyableError):
    """A request got no answer. ``method`` and ``url`` say which one."""

    def __init__(self, method: str, url: str, problem: str) -> None:
        super().__init__(f"{method} {without_query(url)}: {problem}")
        self.method = method
        self.url = url


class ServerRefusedError(TransportError, ConnectionRefusedError):
    """No process listens at the server's address."""


class UnreachableError(TransportError, ConnectionError):
    """The server's address does not resolve, or no network leads there."""


class ConnectionLostError(TransportError, ConnectionResetError):
    """The connection was reset or closed in the middle of an exchange."""


class TransportTimeoutError(TransportError, TimeoutError):
    """Connecting, sending or the answer took longer than allowed."""


class TLSError(TransportError):
    """No trust: the server's certificate, or ours, was not accepted."""


class CredentialsError(TransportError):
    """There are no credentials to send: a plugin failed, or a token cannot be renewed."""


class UnreadableAnswerError(TransportError):
    """The answer came in a content coding that was not asked for."""


class RequestStoppedError(TransportError):
    """The caller's stop event was set before or while the request was under way."""


class ThrottledError(TransportError):
    """The client's own rate limiter did not let the request out in time."""


def without_query(url: str) -> str:
    """A URL as messages show it: the options of a watch say nothing about what is wrong.

    A user name and password in it are left out too.
    """
    shown = url.partition("?")[0]
    scheme, separator, rest = shown.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}" if "@" in host else shown


def transport_error(
    method: str, url: str, error: Exception, names: Sequence[str] = ()
) -> TransportError:
    """The typed error for what urllib3, ``http.client``, ``ssl`` or ``socket`` raised.

    ``names`` are those in the server's certificate, where its name is what was wrong.
    """
    root = _root_of(error)
    if isinstance(error, urllib3.exceptions.ProxyError) and not isinstance(
        # Such a raw error comes from a connection that there was: it is lost like any other.
        error.original_error,
        ConnectionError,
    ):
        return UnreachableError(method, url, proxy_problem(str(root)))
    if isinstance(root, ssl.SSLError) and not isinstance(root, ssl.SSLEOFError):
        return TLSError(method, url, _tls_problem(root, names))
    if isinstance(root, ConnectionRefusedError):
        return ServerRefusedError(
            method, url, "connection refused; is the API server up, and is this its address?"
        )
    if isinstance(root, socket.gaierror):
        return UnreachableError(
            method, url, f"the host name does not resolve ({root.strerror}); check the server's URL"
        )
    if isinstance(error, urllib3.exceptions.NewConnectionError):
        return UnreachableError(method, url, f"no connection: {root}; check the server's address")
    if isinstance(error, urllib3.exceptions.ConnectTimeoutError):
        return TransportTimeoutError(
            method, url, "no connection within the time allowed; is the server's address right?"
        )
    if isinstance(root, TimeoutError | urllib3.exceptions.TimeoutError):
        return TransportTimeoutError(method, url, "the server fell silent; it may be overloaded")
    if isinstance(root, OSError | EOFError | http.client.IncompleteRead):
        return ConnectionLostError(method, url, f"the connection was lost: {root}; try again")
    if isinstance(root, http.client.HTTPException):
        return TransportError(
            method, url, f"the answer is not HTTP ({root}); is this an API server's address?"
        )
    return TransportError(method, url, f"{root!r}; check the server's address")


def _root_of(error: BaseException) -> BaseException:
    """The exception that the wrapping ones stand for."""
    while True:
        inner = error.__cause__ or next(
            (arg for arg in reversed(error.args) if isinstance(arg, BaseException)), None
        )
        if inner is None:
            return error
        error = inner


def proxy_problem(reason: str) -> str:
    """What to say of a proxy that did not do what it was asked."""
    if "407" in reason:
        advice = "write the user name and password that it asks for into the proxy's URL"
    else:
        advice = "check the proxy's URL, and whether the proxy may reach the server"
    return f"the proxy failed: {reason}; {advice}"


def is_wrong_name(error: BaseException) -> bool:
    """Return True if a server's certificate is good, but for another name or address."""
    root = _root_of(error)
    return isinstance(root, ssl.SSLCertVerificationError) and root.verify_code in _WRONG_NAME


def _tls_problem(error: ssl.SSLError, names: Sequence[str]) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return _certificate_problem(error, names)
    reason = error.reason or ""
    if reason == "WRONG_VERSION_NUMBER":
        return "the server does not speak TLS; write http:// in its URL, or check the port"
    if "ALERT_CERTIFICATE_REQUIRED" in reason:
        return "the server wants a client certificate; configure one"
    if "ALERT" in reason and any(word in reason for word in _REFUSALS):
        return (
            f"the server refused the client certificate: {reason}; give one that an authority of "
            "the server has issued and that has not expired"
        )
    return f"no TLS connection: {error}; check the port, and which versions of TLS the server takes"


def _certificate_problem(error: ssl.SSLCertVerificationError, names: Sequence[str]) -> str:
    said = error.verify_message.rstrip(".")
    if error.verify_code in _WRONG_NAME:
        known = f"it is for {', '.join(names[:_MOST_NAMES])}" if names else "see what it is for"
        return (
            f"the server's certificate is for another name: {said}; {known}: use that in the "
            "server's URL, or as the TLS server name"
        )
    if error.verify_code in _NOT_NOW:
        return (
            f"the server's certificate is not valid now: {said}; renew it, or set this machine's "
            "clock"
        )
    if error.verify_code in _UNKNOWN_AUTHORITY:
        return (
            f"the server's certificate is not trusted: {said}; configure the CA that issued it "
            "(certificate-authority)"
        )
    return f"the server's certificate is not accepted: {said}; give the server another one"
