"""Parse URIs as Go's ``url.ParseRequestURI`` does: an absolute URI or an absolute path.

Promises: `parse_request_uri` accepts and refuses what the API server does, for the format ``uri``
and for ``url()`` in CEL. Python's ``urllib.parse`` accepts nearly every text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, unquote_plus

from clientgo.util.copies import CopyableError

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_BAD_ESCAPE_IN_HOST = re.compile(r"%(?!25|[89A-Fa-f][0-9A-Fa-f])")
"""Hosts escape characters that are not ASCII, and the percent sign."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BAD_IN_HOST = re.compile(r"[\s\"<>\\^`{|}]")
_PORT = re.compile(r":[0-9]*")


class RequestURIError(CopyableError, ValueError):
    """The text is neither an absolute URI nor an absolute path."""


@dataclass(frozen=True, slots=True)
class RequestURI:
    """The parts of a URI. `host` includes the port; `path` is as written."""

    text: str
    scheme: str
    host: str
    path: str
    query: str

    @property
    def hostname(self) -> str:
        """The host without port and brackets."""
        if self.host.startswith("["):
            return self.host[1:].partition("]")[0]
        return self.host.partition(":")[0]

    @property
    def port(self) -> str:
        """The port as written, empty if there is none."""
        return self.host.rpartition("]")[2].partition(":")[2]

    @property
    def parameters(self) -> dict[str, list[str]]:
        """The values of every query parameter that is well-formed, as Go: no semicolons."""
        found: dict[str, list[str]] = {}
        for part in self.query.split("&"):
            if part and ";" not in part and not _BAD_ESCAPE.search(part):
                name, _, value = part.partition("=")
                found.setdefault(unquote_plus(name), []).append(unquote_plus(value))
        return found


def parse_request_uri(text: str) -> RequestURI:
    """Parse a URI.

    Raises:
        RequestURIError: it is empty, relative or malformed.
    """
    if not text or _CONTROL.search(text):
        raise RequestURIError(f"{text!r} is not a URI: it is empty or has control characters")
    match = _SCHEME.match(text)
    scheme = match[0][:-1].lower() if match else ""
    rest = text[match.end() :] if match else text
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme or text == "*":
            return RequestURI(text, scheme, "", "", query)
        raise RequestURIError(f"{text!r} is not a URI: neither absolute nor an absolute path")
    host, path = "", rest
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, tail = rest[2:].partition("/")
        host, path = _host_of(authority, text), slash + tail
    if _BAD_ESCAPE.search(path):
        raise RequestURIError(f"{text!r} is not a URI: a % without two hexadecimal digits")
    return RequestURI(text, scheme, host, path, query)


def _host_of(authority: str, text: str) -> str:
    host = authority.rpartition("@")[2]
    if _BAD_IN_HOST.search(host):
        raise RequestURIError(f"{text!r} is not a URI: the host has a character that hosts lack")
    if _BAD_ESCAPE_IN_HOST.search(host.partition("%25")[0] if host.startswith("[") else host):
        raise RequestURIError(f"{text!r} is not a URI: the host has an escape that hosts lack")
    if host.startswith("["):
        address, bracket, port = host.partition("]")
        if not bracket or ":" not in address:
            raise RequestURIError(f"{text!r} is not a URI: malformed IPv6 address")
    else:
        port = "".join(host.partition(":")[1:])
    if port and not _PORT.fullmatch(port):
        raise RequestURIError(f"{text!r} is not a URI: the port is not a number")
    return unquote(host)
