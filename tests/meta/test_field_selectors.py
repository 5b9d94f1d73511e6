from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta.selectors import (
    FieldRequirement,
    FieldSelector,
    Operator,
    SelectorError,
    escape_field_value,
    parse_field_selector,
    unescape_field_value,
)

texts = st.text(alphabet="ab.\\,=! \n", max_size=6)
requirements = st.builds(
    FieldRequirement,
    field=st.text(alphabet="ab.", min_size=1, max_size=4),
    operator=st.sampled_from([Operator.EQUALS, Operator.NOT_EQUALS]),
    value=texts,
)


@given(texts)
def test_unescaping_undoes_escaping(value: str) -> None:
    assert unescape_field_value(escape_field_value(value)) == value


@given(st.lists(requirements, max_size=3))
def test_canonical_text_parses_back_to_an_equivalent_selector(
    terms: list[FieldRequirement],
) -> None:
    parsed = parse_field_selector(str(FieldSelector(tuple(terms))))

    assert sorted(map(str, parsed.requirements)) == sorted(map(str, terms))


@given(st.text(alphabet="ab=!,\\", max_size=10))
def test_any_text_is_parsed_or_refused_with_a_selector_error(text: str) -> None:
    try:
        selector = parse_field_selector(text)
    except SelectorError:
        return
    again = parse_field_selector(str(selector))
    # The terms are sorted as they are written: "a==" and "a=" are the same in another place.
    assert sorted(map(str, again.requirements)) == sorted(map(str, selector.requirements))


def test_an_absent_field_counts_as_empty() -> None:
    assert parse_field_selector("spec.nodeName=").matches({})
    assert parse_field_selector("spec.nodeName!=node-1").matches({})


@pytest.mark.parametrize("text", ["a", "a=b,c", "a=b=c", "a=b\\", "a=\\x"])
def test_what_cannot_be_understood_is_refused(text: str) -> None:
    with pytest.raises(SelectorError):
        parse_field_selector(text)
