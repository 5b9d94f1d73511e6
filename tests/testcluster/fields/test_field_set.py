from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.testcluster.fields.managed_fields.fields.field_path import (
    field_element,
    field_path,
    format_path,
    key_element,
    parse_element,
    value_element,
)
from clientgo.testcluster.fields.managed_fields.fields.field_set import EMPTY, FieldSet

scalars = st.sampled_from(["", "a", "1", "true", "<&>", 0, 1, 1.5, True, False, None])
keys = scalars | st.sampled_from([[], [1], {"a": "<"}]).map(copy.deepcopy)
elements = st.one_of(
    st.sampled_from(["a", "b", "f:x", "."]).map(field_element),
    st.dictionaries(st.sampled_from(["k", "l"]), keys, min_size=1, max_size=2).map(key_element),
    scalars.map(value_element),
)
paths = st.lists(elements, min_size=1, max_size=3).map(tuple)
path_sets = st.frozensets(paths, max_size=8)


@given(elements)
def test_an_element_is_read_back_as_it_was_written(element: Any) -> None:
    assert parse_element(element.serialize()) == element


@given(path_sets)
def test_a_set_is_read_back_as_it_was_written(members: frozenset[Any]) -> None:
    fields = FieldSet.of(members)

    assert set(fields.paths()) == members
    assert FieldSet.from_fields_v1(fields.to_fields_v1()) == fields


@given(path_sets, path_sets)
def test_the_algebra_is_that_of_sets_of_paths(a: frozenset[Any], b: frozenset[Any]) -> None:
    left, right = FieldSet.of(a), FieldSet.of(b)

    assert set((left | right).paths()) == a | b
    assert set((left & right).paths()) == a & b
    assert set((left - right).paths()) == a - b
    assert bool(left - right) is bool(a - b)
    assert all((path in left) is (path in a) for path in a | b)


@given(path_sets, path_sets)
def test_trees_are_taken_away_with_all_that_is_in_them(
    a: frozenset[Any], b: frozenset[Any]
) -> None:
    left = FieldSet.of(a).without_trees(FieldSet.of(b))

    assert set(left.paths()) == {
        path for path in a if not any(path[: len(root)] == root for root in b)
    }


def test_scalars_of_different_types_are_different_elements() -> None:
    assert value_element(1) == value_element(1.0)
    assert len({value_element(v) for v in (1, True, "1", None, 0, False)}) == 6


def test_paths_are_written_for_people() -> None:
    path = (*field_path("spec", "ports"), key_element({"port": 80, "protocol": "TCP"}))

    assert format_path(path) == '.spec.ports[port=80,protocol="TCP"]'
    assert format_path((value_element("x"),)) == '[="x"]'


def test_unknown_kinds_of_elements_are_left_out() -> None:
    assert FieldSet.from_fields_v1({"z:new": {}, "f:a": {}}) == FieldSet.of_fields("a")
    assert FieldSet.from_fields_v1({}) == EMPTY


@pytest.mark.parametrize("fields", [{"f": {}}, {"v:{": {}}, {"k:[1]": {}}, {"i:x": {}}, {"f:a": 1}])
def test_malformed_sets_are_refused(fields: Any) -> None:
    with pytest.raises(ValueError):
        FieldSet.from_fields_v1(fields)


def test_the_written_form_of_a_set_belongs_to_the_caller() -> None:
    fields = {"f:spec": {"f:ports": {'k:{"port":1}': {}}}}
    for _ in range(2):
        written = FieldSet.from_fields_v1(fields).to_fields_v1()
        assert written == fields
        written["f:spec"]["f:ports"].clear()
