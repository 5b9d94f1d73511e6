"""Keys of objects and tombstones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.cache import (
    NAMESPACE_INDEX,
    DeletedFinalStateUnknown,
    Delta,
    DeltaFIFO,
    DeltaType,
    Indexer,
    KeyFuncError,
    deletion_handling_meta_namespace_key,
    deletion_handling_object_name,
    index_func_as_key_func,
    meta_namespace_index,
    meta_namespace_key,
)
from clientgo.meta import ExplicitKey, NoMetadataError, ObjectName, Unstructured
from tests.cache.builders import foo

_parts = st.text(st.characters(exclude_characters="/"), min_size=1)


@given(st.just("") | _parts, _parts)
def test_a_key_splits_into_what_it_was_made_of(namespace: str, name: str) -> None:
    """KEY-01, KEY-02."""
    obj = foo(name, namespace=namespace)

    assert ObjectName.parse(meta_namespace_key(obj)) == ObjectName(namespace, name)


@pytest.mark.parametrize(
    "obj",
    [
        foo("a"),
        Unstructured.from_dict({"metadata": {"name": "a", "namespace": "ns"}}),
        {"metadata": {"name": "a", "namespace": "ns"}},
        SimpleNamespace(metadata=SimpleNamespace(name="a", namespace="ns")),
        ExplicitKey("ns/a"),
        DeletedFinalStateUnknown("ns/a", None),
    ],
)
def test_every_kind_of_object_has_a_key(obj: Any) -> None:
    """KEY-03, KEY-04."""
    assert deletion_handling_meta_namespace_key(obj) == "ns/a"


def test_a_cluster_scoped_object_is_keyed_by_its_name_alone() -> None:
    """KEY-03."""
    assert meta_namespace_key(foo("a", namespace="")) == "a"


def test_a_tombstone_has_the_key_that_is_written_on_it() -> None:
    """KEY-04, KEY-08: without looking at the object inside."""
    tombstone = DeletedFinalStateUnknown("other/b", foo("a"))

    assert deletion_handling_meta_namespace_key(tombstone) == "other/b"
    assert deletion_handling_object_name(tombstone) == ObjectName("other", "b")
    with pytest.raises(NoMetadataError):
        meta_namespace_key(tombstone)


def test_the_name_on_a_tombstone_may_be_unreadable() -> None:
    """KEY-04."""
    with pytest.raises(ValueError, match="a/b/c"):
        deletion_handling_object_name(DeletedFinalStateUnknown("a/b/c", None))


@pytest.mark.parametrize("write", ["add", "update", "delete"])
@pytest.mark.parametrize("make", [Indexer, DeltaFIFO])
def test_what_has_no_key_is_refused_with_the_reason(make: Any, write: str) -> None:
    """KEY-05."""
    with pytest.raises(KeyFuncError) as caught:
        getattr(make(), write)(5)

    assert caught.value.obj == 5
    assert isinstance(caught.value.__cause__, NoMetadataError)


def test_the_error_of_a_key_function_is_the_cause() -> None:
    """KEY-05."""

    def broken(obj: Any) -> str:
        raise ZeroDivisionError

    store: Indexer[Any] = Indexer(broken)
    with pytest.raises(KeyFuncError) as caught:
        store.get(foo("a"))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert isinstance(store.apply([Delta(DeltaType.ADDED, foo("a"))])[0], KeyFuncError)


def test_the_namespace_index_gives_the_namespace_even_if_it_is_empty() -> None:
    """KEY-06."""
    assert NAMESPACE_INDEX == "namespace"
    assert meta_namespace_index(foo("a")) == ["ns"]
    assert meta_namespace_index(foo("a", namespace="")) == [""]
    with pytest.raises(NoMetadataError):
        meta_namespace_index(5)


@pytest.mark.parametrize("values", [[], ["a", "b"]])
def test_only_an_index_function_with_one_value_makes_a_key(values: list[str]) -> None:
    """KEY-07."""
    assert index_func_as_key_func(lambda _: ["a"])(object()) == "a"
    with pytest.raises(ValueError, match="exactly one"):
        index_func_as_key_func(lambda _: values)(object())
