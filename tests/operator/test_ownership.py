"""Owner references that the garbage collector understands."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.api.core_v1 import ConfigMap, Namespace
from clientgo.meta import ObjectMeta, OwnerReference
from clientgo.operator.client import (
    controller_of,
    has_owner_reference,
    remove_owner_reference,
    set_controller_reference,
    set_owner_reference,
)
from clientgo.operator.errors import AlreadyOwnedError, OwnershipError
from tests.operator.world import Planet, gadget, part


def planet() -> Planet:
    return Planet(metadata=ObjectMeta(name="earth", uid="uid-of-earth"))


def test_a_controller_reference_says_everything() -> None:
    """OP-OWN-01, BP-24"""
    obj = set_controller_reference(gadget(uid="1"), part())
    assert obj.metadata.owner_references == (
        OwnerReference(
            api_version="example.com/v1",
            kind="Gadget",
            name="a",
            uid="1",
            controller=True,
            block_owner_deletion=True,
        ),
    )


def test_the_deletion_need_not_be_blocked() -> None:
    """OP-OWN-01"""
    obj = set_controller_reference(gadget(uid="1"), part(), block=False)
    assert obj.metadata.owner_references[0].block_owner_deletion is None


@pytest.mark.parametrize("owned", [part(), ConfigMap(metadata=ObjectMeta(name="c", namespace="x"))])
def test_a_cluster_scoped_object_may_own_anything(owned: Any) -> None:
    """OP-OWN-02"""
    assert controller_of(set_controller_reference(planet(), owned)) is not None


@pytest.mark.parametrize(
    ("owned", "message"),
    [
        (part(namespace="other"), "in different namespaces"),
        (
            Namespace(metadata=ObjectMeta(name="n")),
            "without a namespace cannot have an owner in one",
        ),
        (part(namespace=""), "set the object's namespace first"),
    ],
)
def test_what_the_garbage_collector_would_misunderstand_is_refused(
    owned: Any, message: str
) -> None:
    """OP-OWN-02"""
    with pytest.raises(OwnershipError, match=message):
        set_controller_reference(gadget(uid="1"), owned)


def test_an_owner_must_have_been_created() -> None:
    """OP-OWN-03"""
    with pytest.raises(OwnershipError, match="has no uid"):
        set_controller_reference(gadget(), part())


def test_other_owners_are_left_alone() -> None:
    """OP-OWN-04"""
    obj = set_owner_reference(gadget(uid="1"), part())
    set_owner_reference(gadget("b", uid="2"), obj)
    assert [reference.name for reference in obj.metadata.owner_references] == ["a", "b"]


def test_the_same_owner_is_there_once_whatever_its_version() -> None:
    """OP-OWN-04"""
    older = OwnerReference(api_version="example.com/v1beta1", kind="Gadget", name="a", uid="1")
    obj = set_owner_reference(gadget(uid="1"), part(owner_references=(older,)))
    assert [reference.api_version for reference in obj.metadata.owner_references] == [
        "example.com/v1"
    ]


def test_an_object_has_one_controller() -> None:
    """OP-OWN-05: the error names it."""
    obj = set_controller_reference(gadget(uid="1"), part())
    with pytest.raises(AlreadyOwnedError, match="controlled by Gadget 'a'"):
        set_controller_reference(gadget("b", uid="2"), obj)
    set_controller_reference(gadget(uid="1"), obj)


def test_owners_can_be_taken_away_and_asked_for() -> None:
    """OP-OWN-06"""
    first, second = gadget(uid="1"), gadget("b", uid="2")
    obj = set_owner_reference(second, set_controller_reference(first, part()))
    assert has_owner_reference(first, obj)
    assert remove_owner_reference(first, obj)
    assert not remove_owner_reference(first, obj)
    assert not has_owner_reference(first, obj)
    assert controller_of(obj) is None
    assert has_owner_reference(second, obj)
