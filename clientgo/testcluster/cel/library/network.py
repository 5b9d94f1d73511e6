"""IP addresses and networks."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import ClassVar

from clientgo.testcluster.cel.errors import CelEvaluationError
from clientgo.testcluster.cel.functions import Overload, function, method
from clientgo.testcluster.cel.types import BOOL, INT, STRING, CelType
from clientgo.util.text.go_format import quote
from clientgo.util.text.ip_addresses import Address, AddressError, parse_address, parse_network

IP = CelType("net.IP")
CIDR = CelType("net.CIDR")


@dataclass(frozen=True, slots=True)
class Ip:
    """An IP address."""

    cel_type: ClassVar[CelType] = IP
    address: Address

    @classmethod
    def parse(cls, text: str) -> Ip:
        """Parse an address, which has no zone and is not IPv4-mapped.

        Raises:
            ValueError: it is not an address.
        """
        try:
            address = parse_address(text)
        except AddressError as error:
            raise ValueError(
                f"IP Address {quote(text)} parse error during conversion from string: {error}"
            ) from error
        if "%" in text:
            raise ValueError(f"IP address {quote(text)} with zone value is not allowed")
        _check_not_mapped(address, text)
        return cls(address)

    def __str__(self) -> str:
        return str(self.address)


@dataclass(frozen=True, slots=True)
class Cidr:
    """An address with the length of its network prefix."""

    cel_type: ClassVar[CelType] = CIDR
    interface: ipaddress.IPv4Interface | ipaddress.IPv6Interface

    @classmethod
    def parse(cls, text: str) -> Cidr:
        """Parse a network.

        Raises:
            ValueError: it is not a network.
        """
        try:
            interface = parse_network(text)
        except AddressError as error:
            problem = f"network address parse error during conversion from string: {error}"
            raise ValueError(problem) from error
        _check_not_mapped(interface.ip, text)
        return cls(interface)

    @property
    def masked(self) -> Cidr:
        """The network with its first address."""
        return Cidr(ipaddress.ip_interface(str(self.interface.network)))

    def contains(self, other: Address, prefix_length: int | None = None) -> bool:
        """Return True if an address, or a network that starts with it, is in this network."""
        network = self.interface.network
        if prefix_length is not None and prefix_length < network.prefixlen:
            return False
        return other.version == network.version and other in network

    def __str__(self) -> str:
        return str(self.interface)


def _check_not_mapped(address: Address, text: str) -> None:
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        raise ValueError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")


def _ip(text: str) -> Ip:
    try:
        return Ip.parse(text)
    except ValueError as error:
        raise CelEvaluationError(str(error)) from error


def _cidr(text: str) -> Cidr:
    try:
        return Cidr.parse(text)
    except ValueError as error:
        raise CelEvaluationError(
            f"network address parse error during conversion from string: {error}"
        ) from error


def _is_ip(text: str) -> bool:
    try:
        Ip.parse(text)
    except ValueError:
        return False
    return True


def _is_cidr(text: str) -> bool:
    try:
        Cidr.parse(text)
    except ValueError:
        return False
    return True


def _contains_cidr(outer: Cidr, inner: Cidr) -> bool:
    return outer.contains(inner.interface.ip, inner.interface.network.prefixlen)


def _is_global_unicast(ip: Ip) -> bool:
    address = ip.address
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
        or str(address) == "255.255.255.255"
    )


def _is_link_local_multicast(ip: Ip) -> bool:
    address = ip.address
    if isinstance(address, ipaddress.IPv4Address):
        return address in ipaddress.IPv4Network("224.0.0.0/24")
    return address.is_multicast and address.packed[1] & 0x0F == 0x02


OVERLOADS: tuple[Overload, ...] = (
    function("ip", [STRING], IP, _ip),
    function("isIP", [STRING], BOOL, _is_ip),
    function("ip.isCanonical", [STRING], BOOL, lambda text: str(_ip(text)) == text),
    function("string", [IP], STRING, str),
    method("family", IP, [], INT, lambda ip: ip.address.version),
    method("isUnspecified", IP, [], BOOL, lambda ip: ip.address.is_unspecified),
    method("isLoopback", IP, [], BOOL, lambda ip: ip.address.is_loopback),
    method("isLinkLocalMulticast", IP, [], BOOL, _is_link_local_multicast),
    method("isLinkLocalUnicast", IP, [], BOOL, lambda ip: ip.address.is_link_local),
    method("isGlobalUnicast", IP, [], BOOL, _is_global_unicast),
    function("cidr", [STRING], CIDR, _cidr),
    function("isCIDR", [STRING], BOOL, _is_cidr),
    function("string", [CIDR], STRING, str),
    method("containsIP", CIDR, [IP], BOOL, lambda cidr, ip: cidr.contains(ip.address)),
    method("containsIP", CIDR, [STRING], BOOL, lambda cidr, ip: cidr.contains(_ip(ip).address)),
    method("containsCIDR", CIDR, [CIDR], BOOL, _contains_cidr),
    method("containsCIDR", CIDR, [STRING], BOOL, lambda a, b: _contains_cidr(a, _cidr(b))),
    method("ip", CIDR, [], IP, lambda cidr: Ip(cidr.interface.ip)),
    method("masked", CIDR, [], CIDR, lambda cidr: cidr.masked),
    method("prefixLength", CIDR, [], INT, lambda cidr: cidr.interface.network.prefixlen),
)
