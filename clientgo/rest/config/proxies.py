"""The proxy of a server: the one that is configured, or that of the environment.

Promises Go's rules: `HTTPS_PROXY` or `HTTP_PROXY` by the server's scheme, each also in lower case,
`NO_PROXY` with networks, domains and ports; no proxy to the own machine; no `ALL_PROXY`.

Differs from Go: a proxy that cannot be used is a :class:`ConfigError`, where Go ignores a malformed
one, and SOCKS proxies are not supported. Source: golang.org/x/net `http/httpproxy`.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from clientgo.rest.config.config_error import ConfigError

_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_ADVICE: Final = "write it like http://user:password@proxy:3128"


def proxy_for(url: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return the URL of the proxy for a server, as the environment says; empty means none.

    Raises :class:`ConfigError`.
    """
    scheme = urlsplit(url).scheme
    found = next(
        (name for name in (f"{scheme.upper()}_PROXY", f"{scheme}_proxy") if environ.get(name)), None
    )
    if found is None or scheme not in _DEFAULT_PORTS:
        return ""
    if scheme == "http" and environ.get("REQUEST_METHOD"):
        # A CGI program gets the Proxy header of any request as HTTP_PROXY.
        raise ConfigError(
            f"{found} is not used where REQUEST_METHOD is set: a client may have chosen it",
            advice="unset one of them, or name the proxy in the configuration",
        )
    if _is_exempt(url, environ.get("NO_PROXY") or environ.get("no_proxy") or ""):
        return ""
    value = environ[found]
    has_scheme = "://" in value and not value.startswith("://")
    return checked_proxy(value if has_scheme else f"http://{value}", source=found)


def checked_proxy(proxy: str, *, source: str = "the proxy") -> str:
    """Return the URL of a proxy that can be used; an empty one means none.

    Raises :class:`ConfigError` in the name of ``source``. Its text does not have the URL, which may
    hold a password.
    """
    if not proxy:
        return ""
    try:
        parts = urlsplit(proxy)
        port = parts.port
    except ValueError:
        raise ConfigError(f"{source} is no URL", advice=_ADVICE) from None
    if parts.scheme in ("socks5", "socks5h", "socks4", "socks4a", "socks"):
        raise ConfigError(
            f"{source} is a SOCKS proxy, which is not supported",
            advice="use an http:// or https:// proxy, or forward a port to the server",
        )
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or port == 0:
        raise ConfigError(f"{source} is no http:// or https:// URL", advice=_ADVICE)
    return proxy


def is_loopback(url: str) -> bool:
    """Return True if a URL names the own machine: ``localhost`` or an address of its loopback."""
    host = urlsplit(url).hostname or ""
    address = _address(host)
    return host == "localhost" if address is None else address.is_loopback


def _is_exempt(url: str, no_proxy: str) -> bool:
    """Return True if no proxy is used for ``url``."""
    parts = urlsplit(url)
    host = _ascii(parts.hostname or "")
    port = str(parts.port) if parts.port else _DEFAULT_PORTS[parts.scheme]
    entries = [entry for raw in no_proxy.split(",") if (entry := raw.strip().lower())]
    return is_loopback(url) or any(_matches(entry, host, port) for entry in entries)


def _matches(entry: str, host: str, port: str) -> bool:
    if entry == "*":
        return True
    address = _address(host)
    network = _network(entry)
    if network is not None:
        return address is not None and address in network
    wanted, wanted_port = _host_and_port(entry)
    if not wanted or (wanted_port and wanted_port != port):
        return False
    wanted_address = _address(wanted)
    if address is not None or wanted_address is not None:
        return address == wanted_address
    domain = _ascii(wanted[1:] if wanted.startswith("*.") else wanted)
    if domain.startswith("."):
        return host.endswith(domain)
    return host == domain or host.endswith(f".{domain}")


def _host_and_port(entry: str) -> tuple[str, str]:
    """Split an entry as Go's `net.SplitHostPort`; what has no port keeps its brackets."""
    if entry.startswith("["):
        host, closed, port = entry[1:].partition("]:")
        return (host, port) if closed else (entry, "")
    if entry.count(":") == 1:
        host, _, port = entry.partition(":")
        return host, port
    return entry, ""


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    _, slash, length = text.partition("/")
    if not slash or not length.isdigit():  # Go takes no mask in place of a length
        return None
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None


def _address(host: str) -> _Address | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _ascii(host: str) -> str:
    try:
        return ".".join(label.encode("idna").decode() for label in host.split("."))
    except UnicodeError:
        return host
