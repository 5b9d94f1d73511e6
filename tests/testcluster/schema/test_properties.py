"""Laws that pruning, defaulting and validation keep for any schema and any value."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from clientgo.testcluster.schema import SchemaError, StructuralSchema

NAMES = st.sampled_from(["a", "b", "c", "metadata", "kind"])

values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5) | st.text("xyz", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)
objects = st.dictionaries(NAMES, values, max_size=4)


def _scalars() -> st.SearchStrategy[dict[str, Any]]:
    integers = st.fixed_dictionaries(
        {"type": st.just("integer")},
        optional={
            "default": st.integers(-5, 5),
            "minimum": st.integers(-5, 0),
            "nullable": st.booleans(),
        },
    )
    texts = st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={"default": st.just("x"), "maxLength": st.integers(1, 3)},
    )
    return integers | texts | st.just({"x-kubernetes-int-or-string": True})


def _containers(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    lists = st.fixed_dictionaries({"type": st.just("array"), "items": inner})
    maps = st.fixed_dictionaries({"type": st.just("object"), "additionalProperties": inner})
    structs = st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(NAMES, inner, max_size=3)},
        optional={
            "default": st.just({}),
            "x-kubernetes-preserve-unknown-fields": st.just(True),
            "required": st.lists(NAMES, max_size=1),
        },
    )
    return lists | maps | structs


@st.composite
def schemas(draw: st.DrawFn) -> StructuralSchema:
    fields = draw(
        st.dictionaries(
            st.sampled_from("abc"), st.recursive(_scalars(), _containers, max_leaves=6), max_size=3
        )
    )
    try:
        return StructuralSchema.parse({"type": "object", "properties": fields})
    except SchemaError:  # a default that its own schema refuses
        assume(False)
        raise


COMMON = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much]
)


@COMMON
@given(schemas(), objects)
def test_pruning_twice_is_pruning_once(schema: StructuralSchema, value: Any) -> None:
    pruned, _ = schema.prune(value)

    assert schema.prune(pruned) == (pruned, [])


@COMMON
@given(schemas(), objects)
def test_defaulting_twice_is_defaulting_once(schema: StructuralSchema, value: Any) -> None:
    defaulted = schema.default(value)

    assert schema.default(defaulted) == defaulted


@COMMON
@given(schemas(), objects)
def test_defaults_survive_pruning(schema: StructuralSchema, value: Any) -> None:
    ready = schema.default(schema.prune(value)[0])

    assert schema.prune(ready) == (ready, [])


@COMMON
@given(schemas(), objects)
def test_what_was_admitted_is_admitted_again(schema: StructuralSchema, value: Any) -> None:
    ready = schema.default(schema.prune(value)[0])
    assume(not schema.validate(ready))

    again = schema.default(schema.prune(ready)[0])

    assert again == ready
    assert schema.validate(again) == []


@COMMON
@given(schemas(), objects)
def test_nothing_changes_its_input(schema: StructuralSchema, value: Any) -> None:
    before = copy.deepcopy(value)

    schema.prune(value)
    schema.default(value)
    schema.validate(value)

    assert repr(value) == repr(before)


@COMMON
@given(schemas(), objects)
def test_an_unchanged_object_is_forgiven_everything(schema: StructuralSchema, value: Any) -> None:
    assert schema.validate(value, copy.deepcopy(value)) == []


@COMMON
@given(values)
def test_any_document_is_a_schema_or_refused_as_one(document: Any) -> None:
    with contextlib.suppress(SchemaError):
        StructuralSchema.parse(document)
