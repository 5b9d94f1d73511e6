"""IP addresses and CIDR values: what is refused, and what is accepted with a warning."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.testcluster.server.resources.addresses import (
    cidr_problems,
    cidr_warnings,
    ip_problems,
    ip_warnings,
    ipv4_number,
    ipv4_text,
)

NO_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
NO_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
FUTURE = "will be considered invalid in a future Kubernetes release"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("10.0.0.1", ""),
        ("2001:DB8:0::1", ""),
        ("010.0.0.1", "must not have leading 0s"),
        ("::ffff:1.2.3.4", "must not be an IPv4-mapped IPv6 address"),
        ("fe80::1%eth0", NO_ADDRESS),
        ("1..2.3", NO_ADDRESS),
        ("1.2.3", NO_ADDRESS),
        ("", NO_ADDRESS),
    ],
)
def test_addresses_that_programs_read_differently_are_refused(text: str, problem: str) -> None:
    assert ip_problems(text) == ([problem] if problem else [])


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("10.0.0.1", ""),
        ("no address", ""),
        ("010.0.0.1", f'p: non-standard IP address "010.0.0.1" {FUTURE}: use "10.0.0.1"'),
        ("::ffff:1.2.3.4", f'p: non-standard IP address "::ffff:1.2.3.4" {FUTURE}: use "1.2.3.4"'),
        (
            "2001:DB8::1",
            'p: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")',
        ),
    ],
)
def test_the_form_of_an_address_is_warned_of(text: str, warning: str) -> None:
    assert ip_warnings(text, "p") == ([warning] if warning else [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("10.0.0.0/8", ""),
        ("2001:DB8::/32", ""),
        ("10.0.0.1/8", "must not have bits set beyond the prefix length"),
        ("10.0.0.0/08", "must not have leading 0s in IP or prefix length"),
        ("::ffff:1.2.3.0/120", "must not have an IPv4-mapped IPv6 address"),
        ("10.0.0.0/255.0.0.0", NO_CIDR),
        ("10.0.0.0/33", NO_CIDR),
        ("10.0.0.0", NO_CIDR),
    ],
)
def test_ranges_that_programs_read_differently_are_refused(text: str, problem: str) -> None:
    assert cidr_problems(text) == ([problem] if problem else [])


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        ("10.0.0.0/8", []),
        ("no range", []),
        (
            "10.0.0.1/8",
            [
                'p: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" '
                'or "10.0.0.1/32"?)'
            ],
        ),
        (
            "::ffff:1.2.3.0/120",
            [f'p: non-standard CIDR value "::ffff:1.2.3.0/120" {FUTURE}: use "1.2.3.0/24"'],
        ),
        (
            "2001:DB8::/32",
            [
                'p: IPv6 CIDR value "2001:DB8::/32" should be in RFC 5952 canonical format '
                '("2001:db8::/32")'
            ],
        ),
    ],
)
def test_the_form_of_a_range_is_warned_of(text: str, warnings: list[str]) -> None:
    assert cidr_warnings(text, "p") == warnings


@given(st.integers(0, 2**32 - 1))
def test_the_number_of_an_address_gives_it_back(number: int) -> None:
    assert ipv4_text(number) == str(IPv4Address(number))
    assert ipv4_number(ipv4_text(number)) == number


@pytest.mark.parametrize(
    "text", ["", "None", "::1", "10.0.0.01", "10.0.0.256", "1.2.3", "1.2.3.4\n"]
)
def test_what_is_no_plain_ipv4_address_has_no_number(text: str) -> None:
    assert ipv4_number(text) is None
