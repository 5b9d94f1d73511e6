"""Names and keys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta import (
    ExplicitKey,
    NoMetadataError,
    ObjectMeta,
    ObjectName,
    PartialObjectMetadata,
    object_key,
)

PARTS = st.text(st.characters(exclude_characters="/"), max_size=8)


@given(PARTS, PARTS.filter(bool))
def test_a_name_survives_its_text_form(namespace: str, name: str) -> None:
    """KEY-01"""
    assert ObjectName.parse(str(ObjectName(namespace, name))) == ObjectName(namespace, name)


def test_a_key_of_more_than_two_parts_is_refused_and_quoted() -> None:
    """KEY-02"""
    with pytest.raises(ValueError, match="'a/b/c'"):
        ObjectName.parse("a/b/c")


def test_a_leading_slash_is_an_empty_namespace() -> None:
    """KEY-02"""
    assert ObjectName.parse("/x") == ("", "x")


def test_the_key_of_an_object_is_its_namespace_and_name() -> None:
    """KEY-03"""
    assert object_key(PartialObjectMetadata(metadata=ObjectMeta(name="a", namespace="n"))) == "n/a"
    assert object_key({"metadata": {"name": "a"}}) == "a"
    assert object_key(ExplicitKey("k")) == "k"


def test_a_model_of_the_kubernetes_package_has_a_key_too() -> None:
    """KEY-03: objects of the official client are accepted wherever an object is."""
    client = pytest.importorskip("kubernetes.client")
    pod = client.V1Pod(metadata=client.V1ObjectMeta(name="p", namespace="ns"))

    assert object_key(pod) == "ns/p"


@pytest.mark.parametrize("value", [3, "text", None, {"kind": "x"}, object()])
def test_a_value_without_metadata_has_no_key(value: object) -> None:
    """KEY-03"""
    with pytest.raises(NoMetadataError, match="no object metadata"):
        object_key(value)
