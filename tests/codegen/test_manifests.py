"""Manifests are written as people write them."""

from __future__ import annotations

import yaml
from hypothesis import given
from hypothesis import strategies as st

from clientgo.codegen.manifests import manifest_text

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def test_members_keep_their_order_and_lists_are_indented() -> None:
    text = manifest_text([{"kind": "A", "apiVersion": "v1", "items": [{"b": 1, "a": 2}]}])

    assert text == "kind: A\napiVersion: v1\nitems:\n  - b: 1\n    a: 2\n"


def test_text_of_several_lines_stands_as_such() -> None:
    assert manifest_text([{"a": "one\ntwo\n"}]) == "a: |\n  one\n  two\n"


def test_what_stands_twice_is_written_twice() -> None:
    shared = ["x"]

    assert "&" not in manifest_text([{"a": shared, "b": shared}])


def test_a_comment_is_wrapped_and_documents_are_separated() -> None:
    text = manifest_text([{"a": 1}, {"b": 2}], "note\n\n" + "word " * 30)

    assert text.startswith("# note\n#\n# word")
    assert all(len(line) <= 100 for line in text.splitlines())
    assert list(yaml.safe_load_all(text)) == [{"a": 1}, {"b": 2}]


@given(st.dictionaries(st.text(), _VALUES))
def test_what_is_read_back_is_what_was_written(document: dict[str, object]) -> None:
    assert yaml.safe_load(manifest_text([document])) == document
