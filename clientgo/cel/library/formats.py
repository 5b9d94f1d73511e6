"""Formats of Kubernetes names and of strings (``format.dns1123Label().validate(text)``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from clientgo.cel.functions import Overload, function, method
from clientgo.cel.types import STRING, CelType, list_of, optional_of
from clientgo.cel.values import ABSENT, Optional
from clientgo.text.formats import format_check

FORMAT = CelType("kubernetes.NamedFormat")

_LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_NAME_PART = "(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"


@dataclass(frozen=True, slots=True)
class Format:
    """A named format, with a function that returns what is wrong with a text."""

    cel_type: ClassVar[CelType] = FORMAT
    name: str
    problems: Callable[[str], Sequence[str]]

    def validate(self, text: str) -> Optional:
        """Return what is wrong with a text, or absent."""
        problems = list(self.problems(text))
        return Optional(problems) if problems else ABSENT


def _name_format(name: str, regex: str, max_length: int, what: str) -> Format:
    pattern = re.compile(regex, re.ASCII)

    def problems(text: str) -> list[str]:
        found = []
        if len(text) > max_length:
            found.append(f"must be no more than {max_length} characters")
        if pattern.fullmatch(text) is None:
            found.append(f"a valid {what} must match {regex!r}")
        return found

    return Format(name, problems)


def _qualified_name_problems(text: str) -> list[str]:
    prefix, slash, name = text.rpartition("/")
    found = []
    if slash and _SUBDOMAIN.problems(prefix):
        found.append("prefix part must be a DNS-1123 subdomain")
    if not name or len(name) > 63 or re.fullmatch(_NAME_PART, name, re.ASCII) is None:
        found.append(f"name part must be 63 characters or less and match {_NAME_PART!r}")
    return found


def _checked(name: str, schema_format: str) -> Format:
    check = format_check(schema_format)

    def problems(text: str) -> list[str]:
        return [] if check is None or check(text) else [f"must be a valid {schema_format}"]

    return Format(name, problems)


_SUBDOMAIN = _name_format("dns1123Subdomain", rf"{_LABEL}(?:\.{_LABEL})*", 253, "subdomain")
_FORMATS = {
    named.name: named
    for named in (
        _SUBDOMAIN,
        _name_format("dns1123Label", _LABEL, 63, "DNS-1123 label"),
        _name_format("dns1035Label", "[a-z](?:[-a-z0-9]*[a-z0-9])?", 63, "DNS-1035 label"),
        _name_format("dns1123LabelPrefix", "[a-z0-9](?:[-a-z0-9]*)?", 63, "label prefix"),
        _name_format(
            "dns1123SubdomainPrefix", rf"(?:{_LABEL}\.)*[a-z0-9][-a-z0-9]*", 253, "subdomain prefix"
        ),
        _name_format("dns1035LabelPrefix", "[a-z](?:[-a-z0-9]*)?", 63, "label prefix"),
        _name_format("labelValue", f"(?:{_NAME_PART})?", 63, "label value"),
        Format("qualifiedName", _qualified_name_problems),
        _checked("uri", "uri"),
        _checked("uuid", "uuid"),
        _checked("byte", "byte"),
        _checked("date", "date"),
        _checked("datetime", "date-time"),
    )
}


def _named(name: str) -> Optional:
    return Optional(_FORMATS[name]) if name in _FORMATS else ABSENT


def _constant(value: Format) -> Callable[[], Format]:
    return lambda: value


OVERLOADS: tuple[Overload, ...] = (
    *(function(f"format.{name}", [], FORMAT, _constant(it)) for name, it in _FORMATS.items()),
    function("format.named", [STRING], optional_of(FORMAT), _named),
    method("validate", FORMAT, [STRING], optional_of(list_of(STRING)), Format.validate),
)
