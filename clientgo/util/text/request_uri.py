"""Parse URLs as Go's ``net/url`` does.

Promises: `parse_request_uri` accepts and refuses what the API server does for the format ``uri``
and ``isURL()`` in CEL: an absolute URI or an absolute path, without a fragment. `parse_url` also
accepts relative ones, and finds fragments. Python's ``urllib.parse`` accepts nearly every text.

Upstream: ``ParseRequestURI`` and ``Parse`` of Go 1.26.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv6Address
from urllib.parse import unquote, unquote_plus

from clientgo.util.copies import CopyableError
from clientgo.util.text.percent_encoding import escape, unescape

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_BAD_ESCAPE_IN_HOST = re.compile(r"%(?!25|[89A-Fa-f][0-9A-Fa-f])")
"""Hosts escape characters that are not ASCII, and the percent sign."""
_ESCAPE_IN_ZONE = re.compile(r"%([0-9A-Fa-f]{2})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BAD_IN_HOST = re.compile(r"[ #@\\^`{|}]")
_BAD_IN_ZONE = re.compile(r"[\x00-\x20#%/?@\\^`{|}]")
_USER = re.compile(r"[A-Za-z0-9._:~!$&'()*+,;=%@-]*")
_PORT = re.compile(r"(:[0-9]*)?")
_PLAIN_PATH = re.compile(r"[A-Za-z0-9_.~!$&'()*+,;=:@/\[\]%-]*")


class RequestURIError(CopyableError, ValueError):
    """The text is no URL, or neither an absolute URI nor an absolute path."""


@dataclass(frozen=True, slots=True)
class RequestURI:
    """The parts of a URL. `host` includes the port; `path` is as written."""

    text: str
    scheme: str
    host: str
    path: str
    query: str
    user: str | None = None
    """What is before the host, as written; None if there is nothing."""
    fragment: str = ""

    @property
    def hostname(self) -> str:
        """The host without port and brackets."""
        if self.host.startswith("["):
            return self.host[1:].rpartition("]")[0]
        return self.host.partition(":")[0]

    @property
    def port(self) -> str:
        """The port as written, empty if there is none."""
        return self.host.rpartition("]")[2].partition(":")[2]

    @property
    def escaped_path(self) -> str:
        """The path as written, if all that must be is escaped; else escaped again."""
        if _PLAIN_PATH.fullmatch(self.path):
            return self.path
        return escape(unescape(self.path))

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
    """Parse an absolute URI or an absolute path; a fragment belongs to what is before it.

    Raises:
        RequestURIError: it is empty, relative or malformed.
    """
    return _parse(text, text, "", is_request=True)


def parse_url(text: str) -> RequestURI:
    """Parse a URL, which may be relative.

    Raises:
        RequestURIError: it is malformed.
    """
    rest, _, fragment = text.partition("#")
    uri = _parse(text, rest, fragment, is_request=False)
    if _CONTROL.search(fragment) or _BAD_ESCAPE.search(fragment):
        raise _refused(text, "the fragment is malformed")
    return uri


def _refused(text: str, why: str) -> RequestURIError:
    return RequestURIError(f"{text!r} is not a URI: {why}")


def _parse(text: str, rest: str, fragment: str, *, is_request: bool) -> RequestURI:
    if _CONTROL.search(rest) or (is_request and not rest):
        raise _refused(text, "it is empty or has control characters")
    if rest == "*":
        return RequestURI(text, "", "", "*", "", None, fragment)
    if rest.startswith(":"):
        raise _refused(text, "the scheme is missing")
    match = _SCHEME.match(rest)
    scheme = match[0][:-1].lower() if match else ""
    rest, _, query = (rest[match.end() :] if match else rest).partition("?")
    if not rest.startswith("/"):
        if scheme:
            return RequestURI(text, scheme, "", "", query, None, fragment)
        if is_request:
            raise _refused(text, "neither absolute nor an absolute path")
        if ":" in rest.partition("/")[0]:
            raise _refused(text, "the first segment of the path has a colon")
    user, host, path = None, "", rest
    has_authority = scheme or not (is_request or rest.startswith("///"))
    if has_authority and rest.startswith("//"):
        authority, slash, tail = rest[2:].partition("/")
        before, at, after = authority.rpartition("@")
        host, path = _host_of(after, text), slash + tail
        if at:
            user = before
            if not _USER.fullmatch(user) or _BAD_ESCAPE.search(user):
                raise _refused(text, "the user has a character that users lack")
    if _BAD_ESCAPE.search(path):
        raise _refused(text, "a % without two hexadecimal digits")
    return RequestURI(text, scheme, host, path, query, user, fragment)


def _host_of(host: str, text: str) -> str:
    name, zone, port = host, "", ""
    if "[" in host:
        before, _, address = host.rpartition("[")
        name, bracket, port = address.rpartition("]")
        if before or not bracket:
            raise _refused(text, "malformed IPv6 address")
        name, percent, zone = name.partition("%25")
        zone = percent + zone
    elif ":" in host:
        name, colon, rest = host.partition(":")
        port = colon + rest
    if not _PORT.fullmatch(port):
        raise _refused(text, "the port is not a number")
    if _BAD_IN_HOST.search(name + zone):
        raise _refused(text, "the host has a character that hosts lack")
    if _BAD_ESCAPE_IN_HOST.search(name) or not _is_zone(zone):
        raise _refused(text, "the host has an escape that hosts lack")
    if "[" not in host:
        return unquote(name) + port
    address = unquote(name + zone)
    try:
        IPv6Address(address)
    except ValueError as error:
        raise _refused(text, "malformed IPv6 address") from error
    return f"[{address}]{port}"


def _is_zone(text: str) -> bool:
    """Return True if all escapes of a zone are of characters that it may have, or of spaces."""
    escaped = [chr(int(digits, 16)) for digits in _ESCAPE_IN_ZONE.findall(text)]
    is_plain = all(
        character in " %" or (character < "\x7f" and not _BAD_IN_ZONE.search(character))
        for character in escaped
    )
    return is_plain and not _BAD_ESCAPE.search(text)
