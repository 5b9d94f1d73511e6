"""IP addresses and networks as Go reads them, with the errors of Go.

Promises: `parse_address` and `parse_network` follow ``ParseAddr`` and ``ParsePrefix`` of Go's
``net/netip``; `read_address` and `read_network` follow ``ParseIPSloppy`` and ``ParseCIDRSloppy`` of
``k8s.io/utils/net``, which ignore leading zeros as Go did before 1.17.
"""

from __future__ import annotations

import functools
import ipaddress
import re

from clientgo.util.copies import CopyableError
from clientgo.util.text.go_format import quote

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface

_IPV6_BYTES = 16
_HEX = re.compile(r"[0-9a-fA-F]*")
_NUMBER = re.compile(r"0|[1-9][0-9]*", re.ASCII)

_REMEMBERED = 1024
"""Addresses that are remembered: the same ones are written again and again."""

_LONGEST = 64
"""Characters of a text that is remembered; an address has 45, and other texts have no limit."""


class AddressError(CopyableError, ValueError):
    """A text is no address or network, in the words of Go."""


def parse_address(text: str) -> Address:
    """Parse an address.

    Raises:
        AddressError: it is none.
    """
    separator = next((sign for sign in text if sign in ".:%"), None)
    if separator == ".":
        return ipaddress.IPv4Address(_ipv4(text, text))
    if separator == ":":
        return _ipv6(text)
    raise _refused(text, "missing IPv6 address" if separator else "unable to parse IP")


def parse_network(text: str) -> Interface:
    """Parse an address with the length of its prefix, as ``10.0.0.1/8``.

    Raises:
        AddressError: it is none.
    """
    refused = f"netip.ParsePrefix({quote(text)}): "
    start, slash, length = text.rpartition("/")
    if not slash:
        raise AddressError(f"{refused}no '/'")
    try:
        address = parse_address(start)
    except AddressError as error:
        raise AddressError(f"{refused}{error}") from error
    if "%" in start:
        raise AddressError(f"{refused}IPv6 zones cannot be present in a prefix")
    if _NUMBER.fullmatch(length) is None:
        raise AddressError(f"{refused}bad bits after slash: {quote(length)}")
    if int(length) > address.max_prefixlen:
        raise AddressError(f"{refused}prefix length out of range")
    return ipaddress.ip_interface((address, int(length)))


def read_address(text: str) -> tuple[Address, bool] | None:
    """Return an address, and False if it has leading zeros; None if a text is no address."""
    return _known_address(text) if len(text) <= _LONGEST else _read_address(text)


def read_network(text: str) -> tuple[Interface, bool] | None:
    """Return an address with the length of its prefix, and False if it has leading zeros.

    None if a text is no such address.
    """
    start, _, length = text.partition("/")
    read = read_address(start)
    if read is None or not (length.isascii() and length.isdigit()):
        return None
    address, is_strict = read
    size = length.lstrip("0") or "0"
    if len(size) > 3 or int(size) > address.max_prefixlen:
        return None
    return ipaddress.ip_interface((address, int(size))), is_strict and size == length


def _read_address(text: str) -> tuple[Address, bool] | None:
    if "%" in text:
        return None
    for read in (str, _without_zeros):
        try:
            return ipaddress.ip_address(form := read(text)), form == text
        except ValueError:
            continue
    return None


_known_address = functools.lru_cache(_REMEMBERED)(_read_address)


def _without_zeros(text: str) -> str:
    """Return an address without the leading zeros of its numbers."""
    groups = (group.split(".") for group in text.split(":"))
    return ":".join(".".join(part.lstrip("0") or part[:1] for part in group) for group in groups)


def _ipv4(text: str, whole: str) -> bytes:
    """Return the bytes of an IPv4 address, which may be the end of a `whole` IPv6 address."""
    fields: list[int] = []
    digits = ""
    for position, sign in enumerate(text):
        rest = text[position:]
        if "0" <= sign <= "9":
            if digits == "0":
                raise _refused(whole, "IPv4 field has octet with leading zero")
            digits += sign
            if int(digits) > 255:
                raise _refused(whole, "IPv4 field has value >255")
        elif sign != ".":
            raise _refused(whole, "unexpected character", rest)
        elif not digits or len(rest) == 1:
            raise _refused(whole, "IPv4 field must have at least one digit", rest)
        elif len(fields) == 3:
            raise _refused(whole, "IPv4 address too long")
        else:
            fields.append(int(digits))
            digits = ""
    if len(fields) < 3:
        raise _refused(whole, "IPv4 address too short")
    return bytes([*fields, int(digits)])


def _ipv6(whole: str) -> ipaddress.IPv6Address:
    text, percent, zone = whole.partition("%")
    if percent and not zone:
        raise _refused(whole, "zone must be a non-empty string")
    gap = 0 if text.startswith("::") else None
    rest = text[2:] if gap == 0 else text
    content = b""
    while (rest or gap is None) and len(content) < _IPV6_BYTES:
        match = _HEX.match(rest)
        digits = match[0] if match else ""
        if len(digits) > 4:
            raise _refused(whole, "each group must have 4 or less digits", rest)
        if not digits:
            problem = "each colon-separated field must have at least one digit"
            raise _refused(whole, problem, rest)
        after = rest[len(digits) :]
        if after.startswith("."):
            content, rest = content + _embedded_ipv4(whole, rest, len(content), gap), ""
            break
        content += int(digits, 16).to_bytes(2)
        rest = after
        if not rest:
            break
        if rest[0] != ":":
            raise _refused(whole, "unexpected character, want colon", rest)
        if rest == ":":
            raise _refused(whole, "colon must be followed by more characters", rest)
        rest = rest[1:]
        if rest[0] == ":":
            if gap is not None:
                raise _refused(whole, "multiple :: in address", rest)
            gap, rest = len(content), rest[1:]
    if rest:
        raise _refused(whole, "trailing garbage after address", rest)
    missing = _IPV6_BYTES - len(content)
    if missing and gap is None:
        raise _refused(whole, "address string too short")
    if not missing and gap is not None:
        raise _refused(whole, "the :: must expand to at least one field of zeros")
    filled = content if gap is None else content[:gap] + bytes(missing) + content[gap:]
    return ipaddress.IPv6Address(f"{ipaddress.IPv6Address(filled)}{percent}{zone}")


def _embedded_ipv4(whole: str, text: str, position: int, gap: int | None) -> bytes:
    if gap is None and position != 12:
        problem = "embedded IPv4 address must replace the final 2 fields of the address"
        raise _refused(whole, problem, text)
    if position > 12:
        problem = "too many hex fields to fit an embedded IPv4 at the end of the address"
        raise _refused(whole, problem, text)
    return _ipv4(text, whole)


def _refused(text: str, problem: str, rest: str = "") -> AddressError:
    where = f" (at {quote(rest)})" if rest else ""
    return AddressError(f"ParseAddr({quote(text)}): {problem}{where}")
