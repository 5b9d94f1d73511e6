"""Formats of Kubernetes names and of strings (``format.dns1123Label().validate(text)``).

Follows ``k8s.io/apimachinery/pkg/util/validation``, with its messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from clientgo.testcluster.cel.functions import Overload, function, method
from clientgo.testcluster.cel.types import STRING, CelType, list_of, optional_of
from clientgo.testcluster.cel.values import ABSENT, Optional
from clientgo.util.text.formats import format_check
from clientgo.util.text.request_uri import RequestURIError, parse_request_uri

FORMAT = CelType("kubernetes.NamedFormat")

Problems = Callable[[str], list[str]]
"""Return what is wrong with a text."""

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_1035_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character"
)
_NAME_EXAMPLES = ("MyName", "my.name", "123-abc")


@dataclass(frozen=True, slots=True)
class Format:
    """A named format."""

    cel_type: ClassVar[CelType] = FORMAT
    name: str
    problems: Problems

    def validate(self, text: str) -> Optional:
        """Return what is wrong with a text, or absent."""
        problems = list(self.problems(text))
        return Optional(problems) if problems else ABSENT


def _pattern_problem(rule: str, regex: str, examples: Sequence[str]) -> str:
    shown = "or ".join(f"'{example}', " for example in examples).replace(", or", ",  or")
    return f"{rule} (e.g. {shown}regex used for validation is '{regex}')"


def _name_problems(regex: str, max_length: int, rule: str, *examples: str) -> Problems:
    pattern = re.compile(regex, re.ASCII)
    wrong = _pattern_problem(rule, regex, examples)

    def problems(text: str) -> list[str]:
        found = []
        if len(text.encode()) > max_length:
            found.append(f"must be no more than {max_length} characters")
        if pattern.fullmatch(text) is None:
            found.append(wrong)
        return found

    return problems


def _prefix(problems: Problems) -> Problems:
    """Return the check of the beginning of a name, which can end in a dash."""
    return lambda text: problems(f"{text[:-2]}a" if text[1:].endswith("-") else text)


_label_problems = _name_problems(
    _LABEL,
    63,
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character",
    *("my-name", "123-abc"),
)
_subdomain_problems = _name_problems(
    rf"{_LABEL}(\.{_LABEL})*",
    253,
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character",
    "example.com",
)
_dns_1035_label_problems = _name_problems(
    _DNS_1035_LABEL,
    63,
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character",
    *("my-name", "abc-123"),
)


def _qualified_name_problems(text: str) -> list[str]:
    *prefixes, name = text.split("/")
    if len(prefixes) > 1:
        rule = _pattern_problem(f"a qualified name {_NAME_RULE}", _NAME, _NAME_EXAMPLES)
        suffix = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"{rule} {suffix}"]
    found = []
    for prefix in prefixes:
        problems = _subdomain_problems(prefix) if prefix else ["must be non-empty"]
        found += [f"prefix part {problem}" for problem in problems]
    if not name:
        found.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        found.append("name part must be no more than 63 bytes")
    if re.fullmatch(_NAME, name, re.ASCII) is None:
        problem = _pattern_problem(_NAME_RULE, _NAME, _NAME_EXAMPLES)
        found.append(f"name part {problem}")
    return found


def _label_value_problems(text: str) -> list[str]:
    found = ["must be no more than 63 bytes"] if len(text.encode()) > 63 else []
    if text and re.fullmatch(_NAME, text, re.ASCII) is None:
        rule = (
            "a valid label must be an empty string or consist of alphanumeric characters, '-', "
            "'_' or '.', and must start and end with an alphanumeric character"
        )
        found.append(_pattern_problem(rule, f"({_NAME})?", ("MyValue", "my_value", "12345")))
    return found


def _uri_problems(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except RequestURIError as error:
        return [str(error)]
    return []


def _checked(schema_format: str, problem: str) -> Problems:
    check = format_check(schema_format)
    return lambda text: [] if check is None or check(text) else [problem]


_FORMATS = {
    name: Format(name, problems)
    for name, problems in {
        "dns1123Label": _label_problems,
        "dns1123Subdomain": _subdomain_problems,
        "dns1035Label": _dns_1035_label_problems,
        "qualifiedName": _qualified_name_problems,
        "dns1123LabelPrefix": _prefix(_label_problems),
        "dns1123SubdomainPrefix": _prefix(_subdomain_problems),
        "dns1035LabelPrefix": _prefix(_dns_1035_label_problems),
        "labelValue": _label_value_problems,
        "uri": _uri_problems,
        "uuid": _checked("uuid", "does not match the UUID format"),
        "byte": _checked("byte", "invalid base64"),
        "date": _checked("date", "invalid date"),
        "datetime": _checked("date-time", "invalid datetime"),
    }.items()
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
