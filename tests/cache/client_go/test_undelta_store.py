"""A store that hands its whole content on."""

from __future__ import annotations

import pytest

from clientgo.cache import DeltaType, KeyFuncError, UndeltaStore
from tests.cache.builders import Foo, foo, refs


def test_every_write_hands_on_the_whole_content_and_reads_do_not() -> None:
    """UTL-01."""
    pushed: list[list[str]] = []
    store: UndeltaStore[Foo] = UndeltaStore(lambda objs: pushed.append(refs(objs)))

    store.add(foo("a"))
    store.update(foo("a", rv=2))
    store.replace([foo("b"), foo("c")], "1")
    store.delete(foo("b"))
    store.apply([(DeltaType.ADDED, foo("d"))])
    store.list()
    store.get(foo("a"))

    assert pushed == [["a@1"], ["a@2"], ["b@1", "c@1"], ["c@1"], ["c@1", "d@1"]]


def test_a_failed_write_hands_on_nothing() -> None:
    """UTL-01."""
    pushed: list[list[Foo]] = []
    store: UndeltaStore[Foo] = UndeltaStore(pushed.append)
    with pytest.raises(KeyFuncError):
        store.add(5)  # type: ignore[arg-type]
    assert pushed == []
