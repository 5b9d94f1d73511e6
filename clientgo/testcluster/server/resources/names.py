"""The rules for names: DNS subdomains for most kinds, DNS labels for some, path segments for RBAC.

Differs from upstream (apimachinery ``util/validation``): a rule is a value with a pattern and a
reason, so that a kind names a rule instead of a function.
"""

from __future__ import annotations

import math
import re
from ipaddress import ip_address

import msgspec

from clientgo.meta.validation.field_errors import FieldError
from clientgo.meta.validation.form_problems import form_problem
from clientgo.util.text import go_format

_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"


class NameRule(msgspec.Struct, frozen=True):
    """A pattern that names must match."""

    pattern: re.Pattern[str]
    max_length: float
    reason: str
    prefix_pattern: re.Pattern[str] | None = None
    """The pattern of a prefix, if it is another."""

    def problems(self, name: str, *, prefix: bool = False) -> list[str]:
        """Return why ``name`` is refused; a prefix may end in a hyphen."""
        problems = []
        if len(name) > self.max_length:
            problems.append(f"must be no more than {self.max_length} bytes")
        checked = name[:-1] + "a" if prefix and name.endswith("-") else name
        pattern = (self.prefix_pattern if prefix else None) or self.pattern
        if not pattern.fullmatch(checked):
            problems.append(self.reason)
        return problems


_SHOWN_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"

DNS_SUBDOMAIN = NameRule(
    re.compile(rf"{_LABEL}(?:\.{_LABEL})*"),
    253,
    form_problem(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
        "'.', and must start and end with an alphanumeric character",
        rf"{_SHOWN_LABEL}(\.{_SHOWN_LABEL})*",
        "example.com",
    ),
)

DNS_LABEL = NameRule(
    re.compile(_LABEL),
    63,
    form_problem(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
        "must start and end with an alphanumeric character",
        _SHOWN_LABEL,
        "my-name",
        "123-abc",
    ),
)

DNS_1035_LABEL = NameRule(
    re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?"),
    63,
    form_problem(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
        "alphabetic character, and end with an alphanumeric character",
        "[a-z]([-a-z0-9]*[a-z0-9])?",
        "my-name",
        "abc-123",
    ),
)

PATH_SEGMENT = NameRule(
    re.compile(r"(?!\.{1,2}\Z)[^/%]+"),
    math.inf,
    "may not be '.' or '..' and may not contain '/' or '%'",
    prefix_pattern=re.compile(r"[^/%]+"),
)


class _AddressRule(NameRule, frozen=True):
    """Names are IP addresses in their canonical form."""

    def problems(self, name: str, *, prefix: bool = False) -> list[str]:
        """Return why ``name`` is no address; a prefix is checked as a name."""
        try:
            is_canonical = str(ip_address(name)) == name
        except ValueError:
            return [f"ParseAddr({go_format.quote(name)}): unable to parse IP"]
        return [] if is_canonical else [self.reason]


IP_ADDRESS = _AddressRule(re.compile(""), math.inf, "must be a canonical format IP address")


def name_causes(name: str, rule: NameRule, *, prefix: bool = False) -> list[FieldError]:
    """Return the errors of ``metadata.name`` (or, for a prefix, ``metadata.generateName``)."""
    path = "metadata.generateName" if prefix else "metadata.name"
    return [
        FieldError.invalid(path, name, problem) for problem in rule.problems(name, prefix=prefix)
    ]
