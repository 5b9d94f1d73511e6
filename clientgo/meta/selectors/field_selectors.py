r"""Field selectors: which objects are meant, by the values of some fields.

The API's grammar (`a=b`, `a==b`, `a!=b`, joined by commas; a backslash escapes `\`, `,` and `=` in
values), text and matching rules. An absent field counts as empty. Immutable.

A server decides for each resource which fields it supports. Source: apimachinery pkg/fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from clientgo.meta.selectors.label_requirements import Operator, SelectorError


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """One term: `field` is (`Operator.EQUALS`) or is not (`Operator.NOT_EQUALS`) `value`."""

    field: str
    operator: Operator
    value: str

    def __str__(self) -> str:
        return f"{self.field}{self.operator}{escape_field_value(self.value)}"


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """A conjunction of terms; without any, it matches everything.

    ``str()`` gives the canonical text, which parses back to an equal selector.
    """

    requirements: tuple[FieldRequirement, ...] = ()

    @property
    def empty(self) -> bool:
        """True if every object is selected."""
        return not self.requirements

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Tell whether an object with these field values is selected."""
        for requirement in self.requirements:
            equal = fields.get(requirement.field, "") == requirement.value
            if equal is not (requirement.operator is Operator.EQUALS):
                return False
        return True

    def requires_exact_match(self, field: str) -> str | None:
        """Return the one value that `field` must have, or None if there is no such value."""
        for requirement in self.requirements:
            if requirement.field == field and requirement.operator is Operator.EQUALS:
                return requirement.value
        return None

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def field_equals(field: str, value: str) -> FieldSelector:
    """Return the selector ``field=value``."""
    return FieldSelector((FieldRequirement(field, Operator.EQUALS, value),))


def field_selector_from_fields(fields: Mapping[str, str]) -> FieldSelector:
    """Return the selector of objects whose fields have all of these values."""
    return FieldSelector(
        tuple(FieldRequirement(field, Operator.EQUALS, fields[field]) for field in sorted(fields))
    )


def parse_field_selector(text: str) -> FieldSelector:
    """Parse ``"metadata.name=web,status.phase!=Running"``; the empty text selects everything.

    Raises `SelectorError` naming the term that can't be understood.
    Upstream: ``fields.ParseSelector``.
    """
    requirements = []
    for term in sorted(_TERM.findall(text)):
        split = _OPERATOR.search(term)
        if split is None:
            raise SelectorError(f"invalid selector: {text!r}; can't understand {term!r}")
        field, value = term[: split.start()], unescape_field_value(term[split.end() :])
        operator = Operator.NOT_EQUALS if split.group() == "!=" else Operator.EQUALS
        if field or value:
            requirements.append(FieldRequirement(field, operator, value))
    return FieldSelector(tuple(requirements))


def escape_field_value(value: str) -> str:
    r"""Put a backslash before each ``\``, ``,`` and ``=`` of a value."""
    return _SPECIAL.sub(r"\\\g<0>", value)


def unescape_field_value(text: str) -> str:
    r"""Undo `escape_field_value`.

    Raises `SelectorError` for a bare ``,`` or ``=`` and for a backslash before anything else.
    """
    if not _SPECIAL.search(text):
        return text
    if not _ESCAPED_VALUE.fullmatch(text):
        raise SelectorError(
            f"invalid field selector: value {text!r} has an unescaped ',' or '=', or a backslash "
            r"that does not precede one of \ , ="
        )
    return _ESCAPE.sub(r"\1", text)


_TERM = re.compile(r"(?:\\.|[^,\\]|\\$)+", re.DOTALL)
_OPERATOR = re.compile(r"!=|==|=")
_SPECIAL = re.compile(r"[\\,=]")
_ESCAPE = re.compile(r"\\([\\,=])")
_ESCAPED_VALUE = re.compile(r"(?:\\[\\,=]|[^\\,=])*", re.DOTALL)
