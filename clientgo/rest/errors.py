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

import urllib3.exceptions

from clientgo.copies import CopyableError


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
    """A URL as messages show it: the options of a watch say nothing about what is wrong."""
    return url.partition("?")[0]


def transport_error(method: str, url: str, error: Exception) -> TransportError:
    """The typed error for what urllib3, ``http.client``, ``ssl`` or ``socket`` raised."""
    root = _root_of(error)
    if isinstance(error, urllib3.exceptions.ProxyError):
        return UnreachableError(method, url, f"the proxy failed: {root}; check the proxy's URL")
    if isinstance(root, ssl.SSLError) and not isinstance(root, ssl.SSLEOFError):
        return TLSError(method, url, _tls_problem(root))
    if isinstance(root, FileNotFoundError | PermissionError):
        return TLSError(method, url, f"a certificate file cannot be read: {root}; check its path")
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


def _tls_problem(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"the server's certificate is not trusted: {error.verify_message}; "
            "check certificate-authority and tls-server-name of the cluster in the kubeconfig"
        )
    if error.reason == "WRONG_VERSION_NUMBER":
        return "the server does not speak TLS; write http:// in its URL, or check the port"
    return f"no TLS connection: {error}; check the certificates in the kubeconfig and the port"
