"""YAML that is read back as it was, by the rules of Kubernetes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.util.text.yaml_reader import read_yaml
from clientgo.util.text.yaml_writer import yaml_text

ODD = [
    "1e3",
    "1_000",
    "0x1f",
    "0o17",
    "017",
    "12:30",
    "y",
    "N",
    "on",
    "Off",
    "~",
    "null",
    ".inf",
    "-.Inf",
    ".nan",
    "=",
    "<<",
    "-",
    "?",
    ":",
    "2020-01-01",
]
TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0")
) | st.sampled_from(
    [
        *ODD,
        "",
        " a",
        "a ",
        "a: b",
        "a #b",
        "\ta",
        "a\nb",
        "a\n",
        "\n",
        "&a",
        "*a",
        "!a",
        "%a",
        "\x85",
    ]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: not x.is_integer())
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("for_people", [True, False])
@pytest.mark.parametrize("text", ODD)
def test_a_text_that_looks_like_something_else_is_quoted(text: str, for_people: bool) -> None:
    value = {text: [text]}

    assert read_yaml(yaml_text(value, for_people=for_people).encode())[0] == value


@given(VALUES, st.booleans())
def test_what_is_written_is_read_back_as_it_was(value: Any, for_people: bool) -> None:
    read, twice = read_yaml(yaml_text(value, for_people=for_people).encode())

    assert read == value
    assert twice == ()


def test_lists_are_indented_for_people_only() -> None:
    assert yaml_text({"a": ["b"]}) == "a:\n  - b\n"
    assert yaml_text({"a": ["b"]}, for_people=False) == "a:\n- b\n"


def test_repeated_values_are_written_in_full() -> None:
    shared = {"b": 1}

    assert yaml_text([shared, shared], for_people=False) == "- b: 1\n- b: 1\n"
