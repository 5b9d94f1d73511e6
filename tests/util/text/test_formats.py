"""Formats accept and refuse what an API server does."""

from __future__ import annotations

import pytest

from clientgo.util.text.formats import format_check

ACCEPTED = [
    ("date-time", "2024-01-02T03:04:05Z"),
    ("datetime", "2024-01-02t03:04:05.123456789+02:00"),
    ("date", "2024-02-29"),
    ("duration", "1h30m"),
    ("duration", "2 days"),
    ("duration", "-1.5s"),
    ("ipv4", "010.1.2.3"),
    ("ipv6", "::1"),
    ("ipv6", "00001::1"),
    ("cidr", "10.0.0.0/8"),
    ("cidr", "10.1.2.3/8"),
    ("cidr", "010.1.2.3/0008"),
    ("mac", "00:1b:44:11:3a:b7"),
    ("mac", "001b.4411.3ab7"),
    ("uuid", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"),
    ("uuid4", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ("hostname", "a.example.com"),
    ("hostname", "localhost"),
    ("hostname", "a-"),
    ("hostname", "a--b.c-d"),
    ("hostname", "1.23"),
    ("hostname", "ü=1.ïñ"),
    ("email", "a@example.com"),
    ("email", "A <a@example.com>"),
    ("uri", "https://example.com/x?y=z"),
    ("uri", "/path"),
    ("byte", "aGVsbG8="),
    ("hexcolor", "#fff"),
    ("rgbcolor", "rgb(1, 2, 255)"),
    ("isbn", "978-0321751041"),
    ("isbn10", "0321751043"),
    ("creditcard", "4111 1111 1111 1111"),
    ("ssn", "123-45-6789"),
    ("k8s-short-name", "a-1"),
    ("k8s-long-name", "a.b-1.c"),
    ("password", ""),
]


@pytest.mark.parametrize(("name", "text"), ACCEPTED)
def test_accepts(name: str, text: str) -> None:
    check = format_check(name)

    assert check is not None
    assert check(text)


REFUSED = [
    ("date-time", "yesterday"),
    ("date-time", "2024-01-02T24:00:00Z"),
    ("date-time", "2024-01-02 03:04:05Z"),
    ("date", "2023-02-29"),
    ("date", "2024-1-1"),
    ("duration", "soon"),
    ("duration", ""),
    ("ipv4", "::1"),
    ("ipv4", "256.1.1.1"),
    ("ipv6", "10.0.0.1"),
    ("cidr", "10.0.0.0"),
    ("cidr", "10.0.0.0/255.0.0.0"),
    ("cidr", "fe80::1%eth0/64"),
    ("mac", "00:1b:44:11:3a"),
    ("uuid", "no"),
    ("uuid4", "a0eebc99-9c0b-1ef8-bb6d-6bb9bd380a11"),
    ("hostname", "-a"),
    ("hostname", "a..b"),
    ("hostname", "ab-c"),  # a name without dots has a dash as its second character only
    ("hostname", "2024-01-02"),
    ("hostname", "a.b"),
    ("hostname", "a.bc--d"),
    ("hostname", "50%"),
    ("hostname", f"{'a' * 64}.bc"),
    ("email", "a"),
    ("uri", "relative/path"),
    ("uri", ""),
    ("byte", "x"),
    ("isbn", "978-0321751042"),
    ("creditcard", "4111 1111 1111 1112"),
    ("k8s-short-name", "A"),
    ("k8s-long-name", "a..b"),
]


@pytest.mark.parametrize(("name", "text"), REFUSED)
def test_refuses(name: str, text: str) -> None:
    check = format_check(name)

    assert check is not None
    assert not check(text)


def test_an_unknown_format_is_not_checked() -> None:
    assert format_check("nonsense") is None
