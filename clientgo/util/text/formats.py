"""String formats of schemas: date-time, ipv4, uuid, hostname and others.

Promises: `format_check` knows the formats that an API server of 1.34 or later checks. It checks
no other format either.

Does not promise: every special case of Go's parsers for e-mail addresses and URIs.

Follows ``k8s.io/kube-openapi/pkg/validation/strfmt``, which ignores dashes in names of formats.
"""

from __future__ import annotations

import datetime
import functools
import re
import unicodedata
from collections.abc import Callable
from typing import Final

from clientgo.util.text.durations import parse_duration
from clientgo.util.text.ip_addresses import read_address, read_network
from clientgo.util.text.request_uri import RequestURIError, parse_request_uri

FormatCheck = Callable[[str], bool]

_LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_CLOCK = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})")
_EMAIL = re.compile(r"""(?:[^<>@]*<)?[^\s<>@,;:"()\[\]\\]+@[^\s<>@,;:"()\[\]\\]+>?""")
_HOST = re.compile("x-?x{0,62}|(?:x(?:[x-]{0,61}x)?\\.)+x(?:-?x){1,62}")
"""Names of hosts whose letters, ASCII digits and symbols are an ``x``. A name without dots may have
one dash only, as its second character; the last label of the others has two characters at least.
"""
_MAC = re.compile(
    r"[0-9a-f]{2}(?P<sep>[:-])(?:[0-9a-f]{2}(?P=sep)){4}(?:[0-9a-f]{2}(?:(?P=sep)[0-9a-f]{2}){2})?"
    r"(?:[0-9a-f]{2})?|[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}(?:\.[0-9a-f]{4})?",
    re.IGNORECASE,
)
_CREDIT_CARD = re.compile(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11}",
    re.ASCII,
)
_BYTE_LEVEL = r"(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])"


def format_check(name: str) -> FormatCheck | None:
    """Return the test for the format `name`, or None if the format is not enforced."""
    return _CHECKS.get(name.replace("-", ""))


def _pattern(regex: str, flags: int = 0) -> FormatCheck:
    """Return the test for a pattern, which is compiled on first use."""
    compiled = functools.cache(lambda: re.compile(regex, flags | re.ASCII))
    return lambda text: compiled().fullmatch(text) is not None


def _is_date(text: str) -> bool:
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) is None:
        return False
    if text.startswith("0000"):  # Python has no year 0, which is a leap year
        text = f"2000{text[4:]}"
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    date, _, clock = text.lower().partition("t")
    match = _CLOCK.fullmatch(clock)
    if match is None or not _is_date(date):
        return False
    return match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


def _is_duration(text: str) -> bool:
    try:
        parse_duration(text)
    except ValueError:
        return False
    return True


def _is_ip(text: str) -> bool:
    return read_address(text) is not None


def _is_cidr(text: str) -> bool:
    return read_network(text) is not None


def _is_hostname(text: str) -> bool:
    if len(text.encode()) > 255 or any(len(label.encode()) > 63 for label in text.split(".")):
        return False
    return _HOST.fullmatch("".join(map(_host_character, text))) is not None


def _host_character(character: str) -> str:
    if character in "0123456789" or unicodedata.category(character)[0] in "LS":
        return "x"
    return character if character in "-." else " "


def _is_uri(text: str) -> bool:
    try:
        parse_request_uri(text)
    except RequestURIError:
        return False
    return True


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if re.fullmatch(r"[0-9]{9}[0-9X]", digits) is None:
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    return sum(weight * value for weight, value in enumerate(values, 1)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if re.fullmatch(r"[0-9]{13}", digits) is None:
        return False
    return sum(int(digit) * (1, 3)[place % 2] for place, digit in enumerate(digits)) % 10 == 0


def _is_credit_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    if _CREDIT_CARD.fullmatch(digits) is None:
        return False
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _uuid(version: str, variant: str) -> FormatCheck:
    regex = f"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{version}-?{variant}-?[0-9a-f]{{12}}"
    return _pattern(regex, re.IGNORECASE)


_is_short_name = _pattern(_LABEL)
_is_long_name = _pattern(rf"{_LABEL}(?:\.{_LABEL})*")
_ANY4 = "[0-9a-f]{4}"
_VARIANT4 = "[89ab][0-9a-f]{3}"

_CHECKS: Final[dict[str, FormatCheck]] = {
    "bsonobjectid": _pattern("[0-9a-fA-F]{24}"),
    "byte": _pattern(
        "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"
    ),
    "cidr": _is_cidr,
    "creditcard": _is_credit_card,
    "date": _is_date,
    "datetime": _is_date_time,
    "duration": _is_duration,
    "email": lambda text: _EMAIL.fullmatch(text) is not None,
    "hexcolor": _pattern("#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "hostname": _is_hostname,
    "ipv4": lambda text: "." in text and _is_ip(text),
    "ipv6": lambda text: ":" in text and _is_ip(text),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "k8slongname": lambda text: len(text) <= 253 and _is_long_name(text),
    "k8sshortname": lambda text: len(text) <= 63 and _is_short_name(text),
    "mac": lambda text: _MAC.fullmatch(text) is not None,
    "password": lambda _: True,
    "rgbcolor": _pattern(rf"rgb\(\s*{_BYTE_LEVEL}\s*,\s*{_BYTE_LEVEL}\s*,\s*{_BYTE_LEVEL}\s*\)"),
    "ssn": _pattern(r"\d{3}[- ]\d{2}[- ]\d{4}"),
    "uri": _is_uri,
    "uuid": _uuid(_ANY4, _ANY4),
    "uuid3": _uuid("3[0-9a-f]{3}", _ANY4),
    "uuid4": _uuid("4[0-9a-f]{3}", _VARIANT4),
    "uuid5": _uuid("5[0-9a-f]{3}", _VARIANT4),
}
