"""Which primaries an event of another object concerns."""

from __future__ import annotations

from typing import Any, cast

import pytest

from clientgo.meta import ObjectName, OwnerReference, resource_of
from clientgo.operator.mappers import (
    MapContext,
    by_annotation,
    by_field,
    by_label,
    by_name,
    by_owner,
    mapped_keys,
)
from tests.operator.world import Gadget, Planet, gadget, part

CONTEXT = MapContext(resource_of(Gadget), None)
CLUSTER_WIDE = MapContext(resource_of(Planet), None)
A = ObjectName("default", "a")


def owner(name: str = "a", *, controller: bool | None = True, **fields: Any) -> OwnerReference:
    known = {"api_version": "example.com/v1", "kind": "Gadget", "uid": f"uid-of-{name}"}
    return OwnerReference(name=name, controller=controller, **{**known, **fields})


def test_the_controller_of_an_object() -> None:
    """OP-HND-02, OP-BLD-02"""
    owned = part(owner_references=(owner("b", controller=None), owner("a")))
    assert list(by_owner()(CONTEXT, owned)) == [A]


def test_every_owner_of_an_object() -> None:
    """OP-HND-02, OP-BLD-02"""
    owned = part(owner_references=(owner("b", controller=None), owner("a")))
    keys = list(by_owner(controller_only=False)(CONTEXT, owned))
    assert keys == [ObjectName("default", "b"), A]


@pytest.mark.parametrize(
    ("reference", "matches"),
    [
        (owner(api_version="example.com/v2"), True),
        (owner(api_version="other.com/v1"), False),
        (owner(kind="Widget"), False),
    ],
)
def test_group_and_kind_of_an_owner_count_and_its_version_does_not(
    reference: OwnerReference, matches: bool
) -> None:
    """OP-HND-02"""
    assert bool(list(by_owner()(CONTEXT, part(owner_references=(reference,))))) is matches


def test_a_cluster_scoped_owner_has_no_namespace() -> None:
    """OP-HND-02"""
    owned = part(owner_references=(owner("earth", kind="Planet"),))
    assert list(by_owner()(CLUSTER_WIDE, owned)) == [ObjectName("", "earth")]


def test_an_object_that_nobody_owns_concerns_nobody() -> None:
    """OP-HND-03"""
    assert list(by_owner()(CONTEXT, part())) == []


def test_the_primary_of_the_same_name() -> None:
    """OP-HND-04"""
    assert list(by_name()(CONTEXT, part("a"))) == [A]
    assert list(by_name()(CLUSTER_WIDE, part("a"))) == [ObjectName("", "a")]


@pytest.mark.parametrize(
    ("mapper", "where"), [(by_label, "labels"), (by_annotation, "annotations")]
)
def test_the_primary_that_a_label_or_annotation_names(mapper: Any, where: Any) -> None:
    """OP-HND-04: under keys with the group, and in the object's namespace unless it says which."""
    values: Any = {"example.com/gadget-name": "a"}
    assert list(mapper()(CONTEXT, part(**{where: values}))) == [A]
    elsewhere = values | {"example.com/gadget-namespace": "other"}
    assert list(mapper()(CONTEXT, part(**{where: elsewhere}))) == [ObjectName("other", "a")]
    assert list(mapper("mine")(CONTEXT, part(**{where: cast(Any, {"mine": "b"})}))) == [
        ObjectName("default", "b")
    ]
    assert list(mapper()(CONTEXT, part())) == []


def test_the_primary_that_a_field_names() -> None:
    """OP-HND-04"""
    naming = part()
    naming.spec.colour = "a"
    assert list(by_field("spec", "colour")(CONTEXT, naming)) == [A]
    assert list(by_field("spec", "missing")(CONTEXT, naming)) == []


def test_a_key_that_comes_up_twice_counts_once() -> None:
    """OP-HND-01, OP-HND-09: with the higher priority."""

    def mapper(_context: MapContext, _obj: object) -> list[Any]:
        return [A, (A, 7), (A, 3)]

    assert mapped_keys(mapper, CONTEXT, [part()]) == {A: 7}


def test_both_states_of_an_update_are_mapped() -> None:
    """OP-HND-01: what changes hands wakes either side."""
    before = part(owner_references=(owner("a"),))
    after = part(owner_references=(owner("b"),))
    assert set(mapped_keys(by_owner(), CONTEXT, (before, after))) == {A, ObjectName("default", "b")}


@pytest.mark.parametrize("nonsense", ["default/a", 5, gadget(), ("a",)])
def test_what_is_no_key_is_refused(nonsense: object) -> None:
    """OP-QUE-08, OP-HND-03"""
    with pytest.raises(TypeError, match="a mapper returns keys"):
        mapped_keys(lambda _context, _obj: [nonsense], CONTEXT, [part()])  # type: ignore[list-item]
