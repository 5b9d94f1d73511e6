"""Hypothesis strategies: types as a project declares them, and values to hold against them."""

from __future__ import annotations

import itertools
import string
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_origin

from hypothesis import strategies as st
from msgspec import Meta

from clientgo.meta import Model, Resource, resource

_numbers = itertools.count()
_WORDS = ("a", "ab", "abc", "A1", "", "7", "-x", "ä")
_PATTERNS = ("^[a-z]+$", "b", "^(a|A1)?$", r"^\d+$")


@dataclass(frozen=True)
class Declared:
    """A type and a strategy for values, most of which fit it or miss it narrowly."""

    type: Any
    values: st.SearchStrategy[Any]


def _json() -> st.SearchStrategy[Any]:
    scalars = (
        st.booleans()
        | st.integers(-20, 20)
        | st.sampled_from((0.5, -7.25))
        | st.sampled_from(_WORDS)
    )
    lists = st.lists(scalars, max_size=3)
    return scalars | lists | st.dictionaries(st.sampled_from("abxy"), scalars | lists, max_size=3)


def _bounds(draw: st.DrawFn, numbers: st.SearchStrategy[Any]) -> dict[str, Any]:
    names = draw(st.sampled_from(((), ("ge",), ("lt",), ("gt", "le"), ("ge", "le"))))
    return {name: draw(numbers) for name in names}


@st.composite
def _numbers_type(draw: st.DrawFn) -> Declared:
    if draw(st.booleans()):
        bounds = _bounds(draw, st.integers(-5, 5))
        if draw(st.booleans()):
            bounds["multiple_of"] = draw(st.integers(1, 4))
        return Declared(_with(int, bounds), st.integers(-8, 8))
    bounds = _bounds(draw, st.sampled_from((-1.5, 0.0, 2.0, 3.75)))
    return Declared(_with(float, bounds), st.sampled_from((-1.5, 0.25, 2.5, 3.75, 9.5, 3, -1)))


@st.composite
def _text_type(draw: st.DrawFn) -> Declared:
    meta: dict[str, Any] = {}
    if draw(st.booleans()):
        meta["min_length"] = draw(st.integers(0, 2))
    if draw(st.booleans()):
        meta["max_length"] = draw(st.integers(0, 3))
    if draw(st.booleans()):
        meta["pattern"] = draw(st.sampled_from(_PATTERNS))
    return Declared(_with(str, meta), st.sampled_from(_WORDS))


@st.composite
def _choice_type(draw: st.DrawFn) -> Declared:
    choices = draw(
        st.lists(st.sampled_from(("a", "ab", "", 1, 7, -3)), min_size=1, max_size=3, unique=True)
    )
    return Declared(Literal[tuple(choices)], st.sampled_from(("a", "ab", "", 1, 7, -3, "z")))


def _with(type_: Any, meta: dict[str, Any]) -> Any:
    return Annotated[type_, Meta(**meta)] if meta else type_


_SIMPLE = st.one_of(
    _numbers_type(),
    _text_type(),
    _choice_type(),
    st.just(Declared(bool, st.booleans())),
    st.just(Declared(int | str, st.integers(-3, 3) | st.sampled_from(_WORDS))),
    st.just(Declared(Any, _json())),
    st.just(Declared(dict[str, Any], st.dictionaries(st.sampled_from("ab"), _json()))),
)


def _is_choice(type_: Any) -> bool:
    """A choice accepts no null: an API server refuses it even where the choices name it."""
    return get_origin(type_) is Literal


def _is_something(value: Any) -> bool:
    return value is not None


@st.composite
def _list_type(draw: st.DrawFn, inner: st.SearchStrategy[Declared]) -> Declared:
    item = draw(inner)
    type_, values = item.type, item.values
    if draw(st.booleans()) and not _is_choice(type_):
        type_, values = type_ | None if type_ is not Any else Any, values | st.none()
    meta = draw(st.sampled_from(({}, {"min_length": 1}, {"max_length": 2})))
    return Declared(_with(list[type_], meta), st.lists(values, max_size=3))


@st.composite
def _mapping_type(draw: st.DrawFn, inner: st.SearchStrategy[Declared]) -> Declared:
    value = draw(inner)
    meta = draw(st.sampled_from(({}, {"min_length": 1}, {"max_length": 1})))
    values = st.dictionaries(st.sampled_from(_WORDS), value.values, max_size=3)
    return Declared(_with(dict[str, value.type], meta), values)


@st.composite
def class_types(draw: st.DrawFn, inner: st.SearchStrategy[Declared] = _SIMPLE) -> Declared:
    """A class with a few fields: required, optional, or with a default."""
    names = draw(st.lists(st.sampled_from(string.ascii_lowercase), max_size=4, unique=True))
    fields: list[tuple[Any, ...]] = []
    members: dict[str, st.SearchStrategy[Any]] = {}
    for name in names:
        member = draw(inner)
        wire = f"{name}Value"
        values = draw(st.sampled_from((member.values, member.values | _json())))
        members[wire] = values.filter(_is_something) if _is_choice(member.type) else values
        if draw(st.booleans()):
            fields.append((f"{name}_value", member.type))
        elif member.type is Any:
            fields.append((f"{name}_value", Any, None))
        else:
            fields.append((f"{name}_value", member.type | None, None))
    annotations = {name: annotation for name, annotation, *_ in fields}
    defaults = {name: default[0] for name, _, *default in fields if default}
    body = {"__annotations__": annotations, "__module__": __name__, **defaults}
    cls = type(Model)(f"Drawn{next(_numbers)}", (Model,), body, rename="camel")
    values = st.fixed_dictionaries({}, optional={**members, "unknown": _json()})
    complete = st.fixed_dictionaries(members)
    return Declared(cls, complete | values)


TYPES = st.recursive(
    _SIMPLE,
    lambda inner: _list_type(inner) | _mapping_type(inner) | class_types(inner),
    max_leaves=8,
)
"""Any type that a project may give a field."""


def kind_with(of_spec: Any, **default: Any) -> type[Resource]:
    """A kind whose spec has a type that was made at run time."""
    namespace = {"__annotations__": {"spec": of_spec}, "__module__": __name__, **default}
    cls = type(Resource)("Sample", (Resource,), namespace)
    return resource(group="example.com", version="v1", plural="samples")(cls)
