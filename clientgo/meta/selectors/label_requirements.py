"""One condition of a label selector: a key, an operator and values.

The API's rules for requirements, with all violations reported together, and a compiled predicate
over labels. Source: k8s.io/apimachinery/pkg/labels `Requirement`, which interprets the operator at
each match.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import gt, lt

from clientgo.meta.selectors.labels import label_key_problems, label_value_problems
from clientgo.util.copies import CopyableError

LabelPredicate = Callable[[Mapping[str, str]], bool]


class Operator(enum.StrEnum):
    """How a requirement relates a key to its values."""

    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"
    GREATER_THAN = "gt"
    LESS_THAN = "lt"


class ProblemReason(enum.StrEnum):
    """The API's reason for refusing one part of a requirement."""

    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"


@dataclass(frozen=True, slots=True)
class RequirementProblem:
    """One thing that is wrong with a requirement."""

    reason: ProblemReason
    field: str
    value: object
    detail: str

    def __str__(self) -> str:
        if self.reason is ProblemReason.NOT_SUPPORTED:
            return f'{self.field}: Unsupported value: "{self.value}": {self.detail}'
        return f'{self.field}: Invalid value: "{self.value}": {self.detail}'


class SelectorError(CopyableError, ValueError):
    """A selector that cannot be understood; `problems` lists the parts of it that are illegal.

    Raised for label and field selectors alike. The message repeats the offending text.
    """

    def __init__(self, message: str, problems: Iterable[RequirementProblem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label key; `values` are kept sorted.

    The constructor does not judge its arguments (labels from a trusted object need no check);
    `Requirement.validated` does.
    """

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(sorted(self.values)))

    @classmethod
    def validated(
        cls, key: str, operator: Operator | str, values: Iterable[str] = ()
    ) -> Requirement:
        """Build a requirement, raising `SelectorError` with every problem found.

        Upstream: ``labels.NewRequirement``.
        """
        values = tuple(values)
        problems = _requirement_problems(key, operator, values)
        if problems:
            raise SelectorError("; ".join(map(str, problems)), problems)
        return cls(key, Operator(operator), values)

    @property
    def is_exact(self) -> bool:
        """True if the label must be there with one certain value."""
        return self.operator in _POSITIVE_OPERATORS and len(self.values) == 1

    def predicate(self) -> LabelPredicate:
        """Compile this requirement into a function of a mapping of labels."""
        return _PREDICATES[self.operator](self.key, self.values)

    def __str__(self) -> str:
        values = ",".join(self.values)
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case Operator.IN | Operator.NOT_IN:
                return f"{self.key} {self.operator} ({values})"
            case Operator.GREATER_THAN:
                return f"{self.key}>{values}"
            case Operator.LESS_THAN:
                return f"{self.key}<{values}"
            case _:
                return f"{self.key}{self.operator}{values}"


def _requirement_problems(
    key: str, operator: Operator | str, values: tuple[str, ...]
) -> list[RequirementProblem]:
    problems = []

    def invalid(path: str, value: object, detail: str) -> None:
        problems.append(RequirementProblem(ProblemReason.INVALID, path, value, detail))

    if key_problems := label_key_problems(key):
        invalid("key", key, "; ".join(key_problems))

    listed = ",".join(values)
    match operator:
        case Operator.IN | Operator.NOT_IN:
            if not values:
                invalid("values", listed, "for 'in', 'notin' operators, values can't be empty")
        case Operator.EQUALS | Operator.DOUBLE_EQUALS | Operator.NOT_EQUALS:
            if len(values) != 1:
                invalid("values", listed, "exact-match compatibility requires one single value")
        case Operator.EXISTS | Operator.DOES_NOT_EXIST:
            if values:
                invalid("values", listed, "values must be empty for exists and does not exist")
        case Operator.GREATER_THAN | Operator.LESS_THAN:
            if len(values) != 1:
                invalid("values", listed, "for 'Gt', 'Lt' operators, exactly one value is required")
            for i, value in enumerate(values):
                if _parse_int64(value) is None:
                    invalid(
                        f"values[{i}]",
                        value,
                        "for 'Gt', 'Lt' operators, the value must be an integer",
                    )
        case _:
            supported = "supported values: " + ", ".join(f'"{known}"' for known in Operator)
            problems.append(
                RequirementProblem(ProblemReason.NOT_SUPPORTED, "operator", operator, supported)
            )

    for i, value in enumerate(values):
        if value_problems := label_value_problems(value):
            invalid(f"values[{i}][{key}]", value, "; ".join(value_problems))
    return problems


_POSITIVE_OPERATORS = frozenset({Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.IN})

PredicateFactory = Callable[[str, tuple[str, ...]], LabelPredicate]


def _in(key: str, values: tuple[str, ...]) -> LabelPredicate:
    if len(values) == 1:
        value = values[0]
        return lambda labels: labels.get(key) == value
    allowed = frozenset(values)
    return lambda labels: labels.get(key) in allowed


def _not_in(key: str, values: tuple[str, ...]) -> LabelPredicate:
    refused = frozenset(values)
    return lambda labels: labels.get(key) not in refused


def _exists(key: str, _values: tuple[str, ...]) -> LabelPredicate:
    return lambda labels: key in labels


def _does_not_exist(key: str, _values: tuple[str, ...]) -> LabelPredicate:
    return lambda labels: key not in labels


def _compared(relation: Callable[[int, int], bool]) -> PredicateFactory:
    def build(key: str, values: tuple[str, ...]) -> LabelPredicate:
        bound = _parse_int64(values[0])
        if bound is None:
            return lambda _labels: False

        def matches(labels: Mapping[str, str]) -> bool:
            number = _parse_int64(labels.get(key, ""))
            return number is not None and relation(number, bound)

        return matches

    return build


_PREDICATES: dict[Operator, PredicateFactory] = {
    Operator.EQUALS: _in,
    Operator.DOUBLE_EQUALS: _in,
    Operator.IN: _in,
    Operator.NOT_EQUALS: _not_in,
    Operator.NOT_IN: _not_in,
    Operator.EXISTS: _exists,
    Operator.DOES_NOT_EXIST: _does_not_exist,
    Operator.GREATER_THAN: _compared(gt),
    Operator.LESS_THAN: _compared(lt),
}

_INT = re.compile(r"[+-]?[0-9]+")


def _parse_int64(text: str) -> int | None:
    """Read a 64-bit decimal as Go does: no spaces, no underscores, no overflow."""
    if not _INT.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
