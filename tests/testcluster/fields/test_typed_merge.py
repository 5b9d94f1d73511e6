from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.testcluster.fields.managed_fields.fields.field_set import FieldSet
from clientgo.testcluster.fields.managed_fields.fields.typed_values import fields_of
from clientgo.testcluster.fields.managed_fields.merge import (
    merge_values,
    remove_fields,
)
from clientgo.testcluster.fields.managed_fields.reconcile import reconcile_fields
from clientgo.testcluster.schema.field_types import schema_field_type

LETTERS = schema_field_type(
    {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}
)
ITEM = {"type": "object", "properties": {"name": {"type": "string"}, "value": {"type": "integer"}}}
ITEMS = schema_field_type(
    {
        "type": "array",
        "items": ITEM,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
)


@pytest.mark.parametrize(
    ("old", "new", "merged"),
    [
        ("abc", "", "abc"),
        ("", "abc", "abc"),
        ("ab", "ba", "ba"),
        ("abc", "def", "abcdef"),
        ("abc", "cdef", "abcdef"),
        ("abcgf", "cdef", "abcgdef"),
        ("cdef", "ace", "acdef"),
        ("abcxyz", "defxyz", "abcdefxyz"),
        ("cagf", "cfag", "cfag"),
        ("abcd", "defa", "bcdefa"),
        ("cdefghij", "2h3e4kl", "cdfg2hij3e4kl"),
        ("abcdefghij", "1b2h3e4kl", "a1bcdfg2hij3e4kl"),
        ("abb", "c", "abbc"),
        ("abb", "b", "ab"),
        ("abb", "a", "abb"),
        ("abcdec", "1b2ed", "a1bc2ecd"),
        ("abcdec", "1b2ced", "a1b2ced"),
        ("aabb", "bcd", "aabcd"),
        ("cagfca", "cfag", "cfag"),
    ],
)
def test_lists_are_interleaved_in_the_order_of_the_new_one(old: str, new: str, merged: str) -> None:
    assert "".join(merge_values(list(old), list(new), LETTERS)) == merged


@given(st.text("abcdef"), st.lists(st.sampled_from("abcdef"), unique=True))
def test_a_merged_list_has_all_items_and_the_order_of_the_new_list(
    old: str, new: list[str]
) -> None:
    merged = merge_values(list(old), new, LETTERS)

    assert set(merged) == set(old) | set(new)
    assert [item for item in merged if item in new] == new


def test_items_that_share_a_key_are_one_field_together() -> None:
    items = [{"name": "a", "value": 1}, {"name": "b", "value": 1}, {"name": "a"}]

    assert fields_of(items, ITEMS).to_fields_v1() == {
        'k:{"name":"a"}': {},
        'k:{"name":"b"}': {".": {}, "f:name": {}, "f:value": {}},
    }


def test_what_is_removed_leaves_the_other_fields_of_an_item() -> None:
    items = [{"name": "a", "value": 1}, {"name": "b", "value": 2}]
    fields = FieldSet.from_fields_v1({'k:{"name":"a"}': {"f:value": {}}, 'k:{"name":"b"}': {}})

    assert remove_fields(items, fields, ITEMS) == [{"name": "a"}]


def test_who_owned_something_in_what_became_atomic_owns_it_whole() -> None:
    field_type = schema_field_type(
        {
            "type": "object",
            "properties": {
                "map": {
                    "type": "object",
                    "additionalProperties": {"type": "string"},
                    "x-kubernetes-map-type": "atomic",
                },
                "list": {"type": "array", "items": ITEM},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "items": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"args": {"type": "array", "items": {"type": "string"}}},
                    },
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                },
            },
        }
    )
    fields = FieldSet.from_fields_v1(
        {
            "f:map": {"f:a": {}},
            "f:list": {'k:{"name":"a"}': {".": {}, "f:name": {}}},
            "f:free": {"f:a": {"f:b": {}}},
            "f:items": {'k:{"name":"a"}': {"f:args": {'v:"x"': {}}}},
        }
    )

    assert reconcile_fields(fields, field_type).to_fields_v1() == {
        "f:free": {"f:a": {"f:b": {}}},
        "f:items": {'k:{"name":"a"}': {"f:args": {}}},
        "f:list": {},
        "f:map": {},
    }


def test_sets_that_fit_their_type_are_left_as_they_are() -> None:
    fields = FieldSet.from_fields_v1({'k:{"name":"a"}': {".": {}, "f:name": {}}})

    assert reconcile_fields(fields, ITEMS) is fields
