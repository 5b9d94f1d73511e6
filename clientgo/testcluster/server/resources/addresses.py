"""IP addresses and CIDR values: what is refused, and what is accepted with a warning.

Functions have no state.

Upstream: apimachinery ``util/validation/ip.go``, with the feature gate StrictIPCIDRValidation on.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_network

from clientgo.util.text.go_format import quote
from clientgo.util.text.ip_addresses import Address, read_address, read_network

_MAPPED_BITS = 96
"""Bits before the IPv4 address in an IPv4-mapped one."""


_NUMBER = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_PLAIN_IPV4 = re.compile(rf"(?:{_NUMBER}\.){{3}}{_NUMBER}")
"""The canonical form, which needs no closer look."""


def ipv4_number(text: str) -> int | None:
    """Return an IPv4 address as a number; None if a text is none in its canonical form."""
    if _PLAIN_IPV4.fullmatch(text) is None:
        return None
    return int.from_bytes(map(int, text.split(".")))


def ipv4_text(number: int) -> str:
    """Return the IPv4 address of a number."""
    return ".".join(map(str, number.to_bytes(4)))


def is_ip(text: str) -> bool:
    """Return True if a text is an address in any form."""
    return read_address(text) is not None


def ip_problems(text: str) -> list[str]:
    """Return why a text is refused as an address."""
    if _PLAIN_IPV4.fullmatch(text):
        return []
    parsed = read_address(text)
    if parsed is None:
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    address, is_strict = parsed
    if not is_strict:
        return ["must not have leading 0s"]
    return ["must not be an IPv4-mapped IPv6 address"] if _mapped(address) else []


def cidr_problems(text: str) -> list[str]:
    """Return why a text is refused as a CIDR value."""
    parsed = read_network(text)
    if parsed is None:
        return ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]
    interface, is_strict = parsed
    address, network = interface.ip, interface.network
    if not is_strict:
        return ["must not have leading 0s in IP or prefix length"]
    if _mapped(address):
        return ["must not have an IPv4-mapped IPv6 address"]
    if address != network.network_address:
        return ["must not have bits set beyond the prefix length"]
    return []


def ip_warnings(text: str, path: str) -> list[str]:
    """Return the warning about the form of an address that is stored; none if it is no address."""
    if _PLAIN_IPV4.fullmatch(text):
        return []
    parsed = read_address(text)
    if parsed is None:
        return []
    address, is_strict = parsed
    canonical = str(_mapped(address) or address)
    if not is_strict or _mapped(address):
        return [_non_standard(path, "IP address", text, canonical)]
    return [] if canonical == text else [_not_canonical(path, "IPv6 address", text, canonical)]


def cidr_warnings(text: str, path: str) -> list[str]:
    """Return the warnings about the form of a CIDR value that is stored; none if it is none."""
    parsed = read_network(text)
    if parsed is None:
        return []
    interface, is_strict = parsed
    address, network = interface.ip, interface.network
    canonical, mapped = str(network), _mapped(address)
    if mapped and network.prefixlen >= _MAPPED_BITS:
        canonical = str(ip_network((mapped, network.prefixlen - _MAPPED_BITS), strict=False))
    warnings = []
    if address != network.network_address:
        single = f"{mapped or address}/{network.max_prefixlen}"
        warnings.append(
            f"{path}: CIDR value {quote(text)} is ambiguous in this context (should be "
            f"{quote(canonical)} or {quote(single)}?)"
        )
    if not is_strict or mapped:
        warnings.append(_non_standard(path, "CIDR value", text, canonical))
    if not warnings and canonical != text:
        warnings.append(_not_canonical(path, "IPv6 CIDR value", text, canonical))
    return warnings


def _non_standard(path: str, what: str, text: str, canonical: str) -> str:
    return (
        f"{path}: non-standard {what} {quote(text)} will be considered invalid in a future "
        f"Kubernetes release: use {quote(canonical)}"
    )


def _not_canonical(path: str, what: str, text: str, canonical: str) -> str:
    return (
        f"{path}: {what} {quote(text)} should be in RFC 5952 canonical format ({quote(canonical)})"
    )


def _mapped(address: Address) -> IPv4Address | None:
    return address.ipv4_mapped if isinstance(address, IPv6Address) else None
