"""Addresses and networks are read as Go reads them, and refused in its words."""

from __future__ import annotations

import pytest

from clientgo.util.text import ip_addresses
from clientgo.util.text.ip_addresses import (
    AddressError,
    parse_address,
    parse_network,
    read_address,
    read_network,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("0.0.0.0", "0.0.0.0"),
        ("192.168.0.255", "192.168.0.255"),
        ("::", "::"),
        ("::1", "::1"),
        ("1::", "1::"),
        ("2001:DB8::68", "2001:db8::68"),
        ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
        ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
        ("64:ff9b::1.2.3.4", "64:ff9b::102:304"),
        ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"),
        ("fe80::1%eth0", "fe80::1%eth0"),
    ],
)
def test_an_address_is_read(text: str, shown: str) -> None:
    assert str(parse_address(text)) == shown


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "unable to parse IP"),
        ("nowhere", "unable to parse IP"),
        ("%eth0", "missing IPv6 address"),
        ("1.2.3", "IPv4 address too short"),
        ("1.2.3.4.5", "IPv4 address too long"),
        ("1.2.3.256", "IPv4 field has value >255"),
        ("1.2.3.04", "IPv4 field has octet with leading zero"),
        ("1..2.3", 'IPv4 field must have at least one digit (at ".2.3")'),
        ("1.2.3.", 'IPv4 field must have at least one digit (at ".")'),
        ("1.2.3.x", 'unexpected character (at "x")'),
        ("1.2.3.4/8", 'unexpected character (at "/8")'),
        ("1:2", "address string too short"),
        ("1::2::3", 'multiple :: in address (at ":3")'),
        ("2001:db8:::68", 'each colon-separated field must have at least one digit (at ":68")'),
        ("1:2:3:4:5:6:7:8:9", 'trailing garbage after address (at "9")'),
        ("1:2:3:4:5:6:7::8", "the :: must expand to at least one field of zeros"),
        ("12345::", 'each group must have 4 or less digits (at "12345::")'),
        ("1:g::", 'each colon-separated field must have at least one digit (at "g::")'),
        ("1:2g::", 'unexpected character, want colon (at "g::")'),
        ("1:2:", 'colon must be followed by more characters (at ":")'),
        ("::1%", "zone must be a non-empty string"),
        (
            "1:2:1.2.3.4",
            'embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")',
        ),
        ("::1.2.3", "IPv4 address too short"),
    ],
)
def test_what_is_no_address_is_refused(text: str, problem: str) -> None:
    with pytest.raises(AddressError) as refused:
        parse_address(text)
    assert str(refused.value) == f'ParseAddr("{text}"): {problem}'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("10.0.0.0", "no '/'"),
        ("10.0.0.0/", 'bad bits after slash: ""'),
        ("10.0.0.0/08", 'bad bits after slash: "08"'),
        ("10.0.0.0/-1", 'bad bits after slash: "-1"'),
        ("10.0.0.0/33", "prefix length out of range"),
        ("::1%a/64", "IPv6 zones cannot be present in a prefix"),
        ("10.0.0/8", 'ParseAddr("10.0.0"): IPv4 address too short'),
    ],
)
def test_what_is_no_network_is_refused(text: str, problem: str) -> None:
    with pytest.raises(AddressError) as refused:
        parse_network(text)
    assert str(refused.value) == f'netip.ParsePrefix("{text}"): {problem}'


def test_a_network_keeps_its_address() -> None:
    assert str(parse_network("10.1.2.3/8")) == "10.1.2.3/8"
    assert str(parse_network("::1/128")) == "::1/128"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.1", ("10.0.0.1", True)),
        ("2001:DB8:0::1", ("2001:db8::1", True)),
        ("010.0.0.1", ("10.0.0.1", False)),
        ("00001::1", ("1::1", False)),
        ("0" * 100 + "10.0.0.1", ("10.0.0.1", False)),
    ],
)
def test_leading_zeros_are_ignored_and_told(text: str, expected: tuple[str, bool]) -> None:
    read = read_address(text)
    assert read is not None
    assert (str(read[0]), read[1]) == expected


def test_leading_zeros_of_a_prefix_are_ignored_and_told() -> None:
    read = [read_network(text) for text in ("10.1.2.3/8", "10.1.2.3/008", "010.1.2.3/8")]
    assert [(str(found[0]), found[1]) for found in read if found] == [
        ("10.1.2.3/8", True),
        ("10.1.2.3/8", False),
        ("10.1.2.3/8", False),
    ]


@pytest.mark.parametrize("text", ["", "1.2.3", "1..2.3", "fe80::1%eth0", "x" * 100_000])
def test_other_texts_are_no_address(text: str) -> None:
    assert read_address(text) is None
    assert read_network(f"{text}/8") is None


def test_long_texts_are_not_remembered() -> None:
    before = ip_addresses._known_address.cache_info().misses
    read_address("0" * 100 + "10.0.0.1")
    read_address("x" * 100_000)
    assert ip_addresses._known_address.cache_info().misses == before
