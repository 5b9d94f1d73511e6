"""One index."""

from __future__ import annotations

import gc

from clientgo.cache.store.thread_safe_store import Index
from tests.cache.builders import Foo, foo
from tests.collected import is_visited


def by_labels(obj: Foo) -> list[str]:
    return list(obj.metadata.labels.values())


def filled(*objs: Foo) -> Index:
    index = Index("labels", by_labels)
    keys = [obj.metadata.name for obj in objs]
    index.update(keys, objs, index.column(keys, objs))
    return index


def test_one_value_is_kept_as_itself_and_repeated_ones_count_once() -> None:
    """IDX-01: a tuple per object would be the larger part of an index."""
    index = Index("labels", by_labels)
    objs = [foo("a", labels={"x": "1"}), foo("b", labels={"x": "1", "y": "1"}), foo("c"), None]
    assert index.column(["a", "b", "c", "d"], objs) == ["1", "1", (), ()]


def test_values_of_a_subclass_of_text_are_whole_values() -> None:
    """IDX-01."""

    class Text(str):
        __slots__ = ()

    index = Index("odd", lambda obj: [Text("value")])
    index.update(["a"], [foo("a")], index.column(["a"], [foo("a")]))
    assert index.values() == ["value"]


def test_short_lived_values_leave_nothing_behind() -> None:
    """IDX-08."""
    index = Index("labels", by_labels)
    for number in range(1000):
        obj = foo("a", labels={"x": str(number)})
        index.update(["a"], [obj], index.column(["a"], [obj]))
    assert index.values() == ["999"]
    index.update(["a"], [None], [()])
    assert len(index) == 0
    assert index.objects("999") == {}


def test_the_garbage_collector_has_nothing_to_look_at() -> None:
    """IDX-08: neither what is indexed nor its values are tracked."""
    index = filled(*(foo(f"a-{n}", labels={"x": "1"}) for n in range(100)))
    gc.collect()
    assert not any(map(is_visited, (index.objects("1"), index._value)))


def test_objects_with_a_value_share_its_text() -> None:
    """IDX-08: the text of an earlier state is not kept."""
    index = filled(*(foo(f"a-{n}", labels={"x": "".join(["valu", "e"])}) for n in range(3)))
    moved = foo("b", labels={"x": "other"})
    for obj in (moved, foo("b", labels={"x": "".join(["valu", "e"])})):
        index.update(["b"], [obj], index.column(["b"], [obj]))
    assert len({id(text) for text in index._value.values()}) == 1
    assert {"value"} == set(index.values())


def test_an_empty_copy_has_the_function_and_no_objects() -> None:
    """IDX-09."""
    index = filled(foo("a", labels={"x": "1"}))
    copy = index.empty_copy()
    assert (copy.name, copy.function, copy.ready) == ("labels", by_labels, True)
    assert len(copy) == 0
