"""Labels: which keys and values are valid, and the text of a set of labels.

The API's rules for label keys (also those of annotations and other "qualified names") and values;
each violation is explained in one sentence. A set of labels is a plain mapping. Source:
k8s.io/apimachinery/pkg/labels `Set`, pkg/util/validation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from clientgo.meta.validation.form_problems import form_problem

_NAME_MAX_LENGTH = 63  # a DNS label, so that a label can become part of a host name
_PREFIX_MAX_LENGTH = 253  # a DNS subdomain

_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_SHOWN_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SHOWN_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_DNS_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*")

_NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)


def label_key_problems(key: str) -> list[str]:
    """Say what is wrong with `key` as a label key (``[prefix/]name``); an empty list means legal.

    Upstream: ``content.IsLabelKey`` (formerly ``validation.IsQualifiedName``).
    """
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        examples = ("MyName", "my.name", "123-abc")
        form = form_problem(f"a valid label key {_NAME_RULE}", _SHOWN_NAME, *examples)
        prefixed = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"{form} {prefixed}"]
    problems = []
    if slash:
        problems += [f"prefix part {problem}" for problem in _subdomain_problems(prefix)]
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > _NAME_MAX_LENGTH:
        problems.append(f"name part must be no more than {_NAME_MAX_LENGTH} bytes")
    if not _NAME.fullmatch(name):
        examples = ("MyName", "my.name", "123-abc")
        problems.append(form_problem(f"name part {_NAME_RULE}", _SHOWN_NAME, *examples))
    return problems


def label_value_problems(value: str) -> list[str]:
    """Say what is wrong with `value` as a label value; an empty list means legal.

    Upstream: ``content.IsLabelValue``.
    """
    problems = []
    if len(value) > _NAME_MAX_LENGTH:
        problems.append(f"must be no more than {_NAME_MAX_LENGTH} bytes")
    if value and not _NAME.fullmatch(value):
        problems.append(
            form_problem(
                "a valid label must be an empty string or consist of alphanumeric characters, '-', "
                "'_' or '.', and must start and end with an alphanumeric character",
                f"({_SHOWN_NAME})?",
                "MyValue",
                "my_value",
                "12345",
            )
        )
    return problems


def format_labels(labels: Mapping[str, str]) -> str:
    """Write labels as ``"a=1,b=2"``, sorted; an empty set gives ``""``.

    The text of a legal set parses as a label selector for it.
    """
    return ",".join(sorted(f"{key}={value}" for key, value in labels.items()))


def _subdomain_problems(text: str) -> list[str]:
    if not text:
        return ["must be non-empty"]
    problems = []
    if len(text) > _PREFIX_MAX_LENGTH:
        problems.append(f"must be no more than {_PREFIX_MAX_LENGTH} bytes")
    if not _DNS_SUBDOMAIN.fullmatch(text):
        problems.append(
            form_problem(
                "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
                "characters, '-' or '.', and must start and end with an alphanumeric character",
                rf"{_SHOWN_LABEL}(\.{_SHOWN_LABEL})*",
                "example.com",
            )
        )
    return problems
