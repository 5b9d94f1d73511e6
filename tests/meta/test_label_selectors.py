from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta.selectors import (
    Operator,
    ProblemReason,
    Requirement,
    Selector,
    SelectorError,
    everything,
    nothing,
    parse_label_selector,
    selector_from_labels,
)

keys = st.sampled_from(["a", "in", "notin", "x.y", "example.com/role", "0", "A_b-c.d"])
values = st.sampled_from(["", "1", "-1", "07", "in", "notin", "v1.2_3-x"])
label_sets = st.dictionaries(keys, values, max_size=4)


@st.composite
def requirements(draw: st.DrawFn) -> Requirement:
    operator = draw(st.sampled_from(list(Operator)))
    match operator:
        case Operator.EXISTS | Operator.DOES_NOT_EXIST:
            chosen: list[str] = []
        case Operator.IN | Operator.NOT_IN:
            chosen = draw(st.lists(values.filter(_legal), min_size=1, max_size=3, unique=True))
        case Operator.GREATER_THAN | Operator.LESS_THAN:
            chosen = [str(draw(st.integers(0, 12)))]
        case _:
            chosen = [draw(values.filter(_legal))]
    return Requirement.validated(draw(keys), operator, chosen)


def _legal(value: str) -> bool:
    return not value.startswith("-")


selectors = st.lists(requirements(), max_size=4).map(lambda r: Selector(tuple(r)))


@given(selectors)
def test_canonical_text_parses_back_to_an_equal_selector(selector: Selector) -> None:
    parsed = parse_label_selector(str(selector))

    assert parsed == selector
    assert hash(parsed) == hash(selector)


@given(selectors, label_sets)
def test_a_selector_matches_what_each_of_its_requirements_matches(
    selector: Selector, labels: dict[str, str]
) -> None:
    assert selector.matches(labels) is all(
        requirement.predicate()(labels) for requirement in selector.requirements
    )


@given(label_sets, label_sets)
def test_a_selector_from_labels_matches_their_supersets(
    labels: dict[str, str], others: dict[str, str]
) -> None:
    selector = selector_from_labels(labels)

    assert selector.matches(others | labels)
    assert selector.matches(others) is all(others.get(key) == labels[key] for key in labels)


@given(st.text(alphabet="ab=!<>(), \tin", max_size=12))
def test_any_text_is_parsed_or_refused_with_a_selector_error(text: str) -> None:
    try:
        selector = parse_label_selector(text)
    except SelectorError:
        return
    assert parse_label_selector(str(selector)) == selector


def test_the_error_says_what_was_found_and_what_was_expected() -> None:
    with pytest.raises(SelectorError, match=r"found 'b', expected one of in, notin.*'a b'"):
        parse_label_selector("a b")


def test_everything_and_nothing_know_what_they_are() -> None:
    assert everything().empty
    assert everything().matches({})
    assert not nothing().empty
    assert nothing().matches_nothing
    assert not nothing().matches({})
    assert nothing() != everything()


def test_a_requirement_reports_all_of_its_problems_at_once() -> None:
    with pytest.raises(SelectorError) as raised:
        Requirement.validated("-x", "bogus", ["bad value"])

    assert [(problem.field, problem.reason) for problem in raised.value.problems] == [
        ("key", ProblemReason.INVALID),
        ("operator", ProblemReason.NOT_SUPPORTED),
        ("values[0][-x]", ProblemReason.INVALID),
    ]


@pytest.mark.parametrize("value", ["9223372036854775808", "1_0", " 1", "٣", "", "1.0"])
def test_a_label_that_is_no_64_bit_integer_is_neither_greater_nor_less(value: str) -> None:
    assert not parse_label_selector("x>0").matches({"x": value})
    assert not parse_label_selector("x<0").matches({"x": value})


def test_two_requirements_on_one_key_both_hold() -> None:
    contradiction = parse_label_selector("a=1,a=2")

    assert not contradiction.matches({"a": "1"})
    assert not contradiction.matches({"a": "2"})


def test_a_selector_can_be_deep_copied() -> None:
    selector = parse_label_selector("a=1,b in (2,3)")

    assert copy.deepcopy(selector) == selector
