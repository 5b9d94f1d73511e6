"""Label selectors: which objects are meant, by their labels.

The API's grammar, canonical text and matching rules. A `Selector` is immutable; `Selector.matches`
is compiled when it is built, because every watcher runs every event through it.

Does not detect contradictions: `a=1,a=2` matches nothing. Source: k8s.io/apimachinery/pkg/labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from clientgo.meta.selectors.label_requirements import (
    LabelPredicate,
    Operator,
    Requirement,
    SelectorError,
)


@dataclass(frozen=True, slots=True)
class Selector:
    """A conjunction of requirements, sorted by key; without any, it matches everything.

    `matches` takes a mapping of labels and says whether all requirements hold. It neither blocks
    nor raises. `matches_nothing` is set on `nothing()` alone, so that a lister need not even look.
    ``str()`` gives the canonical text, which parses back to an equal selector.
    """

    requirements: tuple[Requirement, ...] = ()
    matches_nothing: bool = False
    matches: LabelPredicate = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        requirements = tuple(sorted(self.requirements, key=lambda requirement: requirement.key))
        object.__setattr__(self, "requirements", requirements)
        object.__setattr__(
            self, "matches", _never if self.matches_nothing else _conjunction(requirements)
        )

    @property
    def empty(self) -> bool:
        """True if every object is selected."""
        return not self.requirements and not self.matches_nothing

    def requires_exact_match(self, key: str) -> str | None:
        """Return the one value that label `key` must have, or None if there is no such value.

        Only the first requirement on the key is looked at.
        """
        for requirement in self.requirements:
            if requirement.key == key:
                return requirement.values[0] if requirement.is_exact else None
        return None

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def everything() -> Selector:
    """Return the selector that matches every object."""
    return _EVERYTHING


def nothing() -> Selector:
    """Return the selector that matches no object."""
    return _NOTHING


def selector_from_labels(labels: Mapping[str, str], *, validate: bool = False) -> Selector:
    """Return the selector of objects that carry all of `labels`.

    Raises `SelectorError` for an illegal key or value if `validate` is set.
    Upstream: ``labels.SelectorFromSet`` and ``ValidatedSelectorFromSet``.
    """
    build = Requirement.validated if validate else Requirement
    return Selector(tuple(build(key, Operator.EQUALS, (value,)) for key, value in labels.items()))


def parse_label_selector(text: str) -> Selector:
    """Parse ``"a=1,b in (2,3),!c"``; the empty text selects everything.

    Raises `SelectorError` naming what was found and what was expected.
    Upstream: ``labels.Parse``.
    """
    return Selector(_Parser(text).parse())


def _never(_labels: Mapping[str, str]) -> bool:
    return False


def _always(_labels: Mapping[str, str]) -> bool:
    return True


def _conjunction(requirements: tuple[Requirement, ...]) -> LabelPredicate:
    predicates = [requirement.predicate() for requirement in requirements]
    if not predicates:
        return _always
    if len(predicates) == 1:
        return predicates[0]
    exact = {
        requirement.key: requirement.values[0]
        for requirement in requirements
        if requirement.is_exact
    }
    if len(exact) == len(requirements):
        return _contains(exact)

    def matches_all(labels: Mapping[str, str]) -> bool:
        for predicate in predicates:  # noqa: SIM110 - all() with a generator takes twice as long
            if not predicate(labels):
                return False
        return True

    return matches_all


def _contains(exact: dict[str, str]) -> LabelPredicate:
    pairs = exact.items()
    return lambda labels: pairs <= labels.items()


_EVERYTHING = Selector()
_NOTHING = Selector(matches_nothing=True)

_TOKEN = re.compile(r"==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+")
_SYMBOLS = frozenset(["==", "!=", "=", "!", "(", ")", ",", "<", ">", ""])
_END = ""
_BINARY_OPERATORS = {
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
    "=": Operator.EQUALS,
    "==": Operator.DOUBLE_EQUALS,
    "!=": Operator.NOT_EQUALS,
    ">": Operator.GREATER_THAN,
    "<": Operator.LESS_THAN,
}


class _Parser:
    """A recursive-descent parser over literals; the empty literal ends the text.

    ``in`` and ``notin`` are words like any other except where an operator is expected, so
    ``in in (notin)`` is legal.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[str] = [*_TOKEN.findall(text), _END]
        self._position = 0

    def parse(self) -> tuple[Requirement, ...]:
        requirements: list[Requirement] = []
        if self._peek() == _END:
            return ()
        while True:
            if not self._at_word() and self._peek() != "!":
                expected = "an identifier after ','" if requirements else "'!' or an identifier"
                raise self._unexpected(self._peek(), expected)
            requirements.append(self._requirement())
            token = self._next()
            if token == _END:
                return tuple(requirements)
            if token != ",":
                raise self._unexpected(token, "',' or the end of the text")

    def _requirement(self) -> Requirement:
        negated = self._peek() == "!"
        if negated:
            self._next()
        key = self._word()
        if negated:
            return self._validated(key, Operator.DOES_NOT_EXIST, ())
        if self._peek() in (",", _END):
            return self._validated(key, Operator.EXISTS, ())
        token = self._next()
        operator = _BINARY_OPERATORS.get(token)
        if operator is None:
            raise self._unexpected(token, "one of in, notin, =, ==, !=, >, <")
        if operator in (Operator.IN, Operator.NOT_IN):
            values = self._value_list()
        else:
            values = {"" if self._peek() in (",", _END) else self._word()}
        return self._validated(key, operator, values)

    def _value_list(self) -> set[str]:
        """Read ``(a,,b)``; an empty place between commas is the empty value."""
        token = self._next()
        if token != "(":
            raise self._unexpected(token, "'('")
        values = set()
        while True:
            values.add(self._next() if self._at_word() else "")
            token = self._next()
            if token == ")":
                return values
            if token != ",":
                raise self._unexpected(token, "',' or ')'")

    def _validated(self, key: str, operator: Operator, values: Iterable[str]) -> Requirement:
        try:
            return Requirement.validated(key, operator, sorted(values))
        except SelectorError as error:
            raise SelectorError(
                f"unable to parse requirement: {error} (in selector {self._text!r})",
                error.problems,
            ) from None

    def _word(self) -> str:
        if not self._at_word():
            raise self._unexpected(self._peek(), "an identifier")
        return self._next()

    def _at_word(self) -> bool:
        return self._peek() not in _SYMBOLS

    def _peek(self) -> str:
        return self._tokens[self._position]

    def _next(self) -> str:
        token = self._tokens[self._position]
        if token != _END:
            self._position += 1
        return token

    def _unexpected(self, token: str, expected: str) -> SelectorError:
        found = "the end of the text" if token == _END else repr(token)
        return SelectorError(
            f"unable to parse requirement: found {found}, expected {expected} "
            f"(in selector {self._text!r})"
        )
