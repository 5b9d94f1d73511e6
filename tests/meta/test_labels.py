from __future__ import annotations

import pytest

from clientgo.meta.selectors import (
    format_labels,
    label_key_problems,
    label_value_problems,
)


@pytest.mark.parametrize("key", ["a", "A.b_c-1", "example.com/role", "a" * 63, "x/" + "y" * 63])
def test_legal_keys_have_no_problems(key: str) -> None:
    assert label_key_problems(key) == []


@pytest.mark.parametrize(
    "key", ["", "-a", "a-", "a b", "a" * 64, "/a", "a/", "Example.com/a", "a/b/c", "ä", "a\n"]
)
def test_illegal_keys_are_explained(key: str) -> None:
    assert label_key_problems(key)


@pytest.mark.parametrize("value", ["", "a", "1.2_3-x", "v" * 63])
def test_legal_values_have_no_problems(value: str) -> None:
    assert label_value_problems(value) == []


@pytest.mark.parametrize("value", ["-1", "a b", "v" * 64, "a/b", "a\n"])
def test_illegal_values_are_explained(value: str) -> None:
    assert label_value_problems(value)


def test_labels_are_written_sorted() -> None:
    assert format_labels({"b": "2", "a": "1"}) == "a=1,b=2"
