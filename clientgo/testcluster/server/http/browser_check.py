"""Refuses requests that a web page makes behind the user's back.

Promises: a browser on the developer's machine is no way into the server. Three headers that a page
can't set are checked before anything else of a request:

- ``Host`` must name this server. A page of ``evil.example.com`` whose name resolves to 127.0.0.1
  (DNS rebinding) is of the same origin for the browser, but the browser sends the page's host.
- ``Origin`` must be the server's own, or an allowed one. Browsers send it with every request that
  can change something, and with every request whose response the page wants to read.
- ``Sec-Fetch-Site`` must not say that another site is the cause. It is in requests without an
  Origin: for images, scripts and links.

A body without Content-Type is JSON, as on a real API server, unless a browser sends it: pages may
send such a body without a preflight request, and an allowed page can give the type.

Does not promise anything against other programs of the machine: the token does that.

Differs from kube-apiserver, which relies on credentials that browsers don't send by themselves.
Pages of allowed origins are answered as by its ``--cors-allowed-origins``.
"""

from __future__ import annotations

import functools
import ipaddress
import re
import socket
from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from clientgo.testcluster.server.http.messages import Response
from clientgo.testcluster.server.resources.errors import FailedRequestError

_AUTHORITY: Final = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\s:/@?#\[\]]+?)\.?)(?::[0-9]*)?")
"""A host, or an IPv6 address in brackets, and a port."""

_OWN_SITES: Final = frozenset({"same-origin", "none"})
"""Sec-Fetch-Site of pages of this server, and of what the user types."""

_PREFLIGHT_HEADERS: Final = (
    ("access-control-allow-methods", "GET, POST, PUT, PATCH, DELETE, OPTIONS"),
    ("access-control-allow-headers", "Accept, Authorization, Content-Type"),
    ("access-control-max-age", "600"),
)


class Sender(msgspec.Struct, frozen=True):
    """What the headers of a request say about the program that sends it."""

    is_browser: bool = False
    allowed_origin: str = ""
    """The origin of its page, if that may read the response."""

    def check_body(self, body: bytes, content_type: str) -> None:
        """Check that a body has a Content-Type where it needs one.

        Raises:
            FailedRequestError: 415, a browser sends none.
        """
        if body and self.is_browser and not content_type:
            raise FailedRequestError(
                415, "UnsupportedMediaType", "a browser must send a Content-Type with a body"
            )

    def preflight(self, method: str) -> Response | None:
        """Return the response to a browser that asks what a page may do, or None."""
        if not self.allowed_origin or method != "OPTIONS":
            return None
        return Response(200, b"", headers=list(_PREFLIGHT_HEADERS))

    def response_headers(self) -> list[tuple[str, str]]:
        """Return the headers that let the page read a response."""
        if not self.allowed_origin:
            return []
        return [("access-control-allow-origin", self.allowed_origin), ("vary", "Origin")]


PROGRAM: Final = Sender()
"""No browser."""


class BrowserCheck:
    """Finds out if a request is meant for this server, and if a web page may make it."""

    def __init__(
        self, host: str, allow_hosts: Collection[str] = (), allow_origins: Collection[str] = ()
    ) -> None:
        """Admit requests to a server on ``host``, and those that call it one of ``allow_hosts``.

        Pages of ``allow_origins`` may use the server.

        Raises:
            ValueError: one of them is no host (without scheme and port), or no origin.
        """
        for name in allow_hosts:
            if not name or (_host_of(name) != name.lower() and not _is_address(name)):
                raise ValueError(f"{name!r} is not a host to allow: write it without a port")
        for origin in allow_origins:
            scheme, _, authority = origin.partition("://")
            if scheme not in ("http", "https") or not _host_of(authority):
                raise ValueError(f"{origin!r} is not an origin: write http://HOST:PORT")
        self._hosts = {name.lower() for name in (host, socket.gethostname(), *allow_hosts)}
        self._any_address = _is_address(host) and ipaddress.ip_address(host).is_unspecified
        self._origins = {origin.lower() for origin in allow_origins}
        self._is_own = functools.lru_cache(maxsize=64)(self._names_this_server)

    def check(self, headers: Sequence[tuple[bytes, bytes]]) -> Sender:
        """Check the headers of a request, with names in lower case.

        Raises:
            FailedRequestError: 421, it is meant for another host; 403, the page is of another
                origin.
        """
        host = origin = site = b""
        for name, value in headers:
            if name == b"host":
                host = value
            elif name == b"origin":
                origin = value
            elif name == b"sec-fetch-site":
                site = value
        if host and not self._is_own(host):
            raise _misdirected(host.decode("latin-1"))
        if not origin and not site:
            return PROGRAM
        return self._check_page(
            *(value.decode("latin-1").lower() for value in (host, origin, site))
        )

    def _check_page(self, host: str, origin: str, site: str) -> Sender:
        if origin in self._origins:
            return Sender(is_browser=True, allowed_origin=origin)
        if origin and (not host or origin.partition("://")[2] != host):
            raise _of_another_origin(f"Origin: {origin}")
        if not origin and site not in _OWN_SITES:
            raise _of_another_origin(f"Sec-Fetch-Site: {site}")
        return Sender(is_browser=True)

    def _names_this_server(self, authority: bytes) -> bool:
        host = _host_of(authority.decode("latin-1"))
        if host in self._hosts or host == "localhost" or host.endswith(".localhost"):
            return True
        # A page can't change what an address means; so a server on every address takes any.
        return _is_address(host) and (self._any_address or ipaddress.ip_address(host).is_loopback)


def _host_of(authority: str) -> str:
    """Return the host of HOST or HOST:PORT in lower case; empty if it is of another form."""
    found = _AUTHORITY.fullmatch(authority.strip().lower())
    return (found[1] or found[2]) if found else ""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _misdirected(host: str) -> FailedRequestError:
    return FailedRequestError(
        421,
        "",
        f"this server is not {host[:100]!r}: use localhost or its address, or allow the host with "
        "--allow-host (allow_hosts)",
    )


def _of_another_origin(shown: str) -> FailedRequestError:
    return FailedRequestError(
        403,
        "Forbidden",
        f"pages of other origins can't use this server ({shown[:200]}); allow an origin with "
        "--allow-origin (allow_origins)",
    )
