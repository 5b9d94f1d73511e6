"""ThreadSafeStore and Indexer against a plain dict; indexes against recomputation."""

from __future__ import annotations

import threading
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from clientgo.cache import Delta, DeltaType, Indexer, ThreadSafeStore
from tests.cache.builders import Foo, foo

names = st.sampled_from("abcde")
groups = st.lists(st.sampled_from(["x", "y", "z", ""]), max_size=3)
objects = st.builds(lambda name, groups: make(name, groups), names, groups)


def make(name: str, groups: list[str], rv: int = 1) -> Foo:
    return foo(name, rv=rv, annotations={"groups": ",".join(groups)} if groups else {})


def by_groups(obj: Foo) -> list[str]:
    text = obj.metadata.annotations.get("groups")
    return [] if text is None else text.split(",")


def by_name(obj: Foo) -> list[str]:
    return [obj.metadata.name]


class StoreMachine(RuleBasedStateMachine):
    """Every write on the store and on a dict; after each, all queries must agree."""

    def __init__(self) -> None:
        super().__init__()
        self.store: Indexer[Foo] = Indexer(indexers={"groups": by_groups})
        self.model: dict[str, Foo] = {}

    @rule(obj=objects, update=st.booleans())
    def put(self, obj: Foo, update: bool) -> None:
        (self.store.update if update else self.store.add)(obj)
        self.model[key(obj)] = obj

    @rule(name=names)
    def delete(self, name: str) -> None:
        self.store.delete(foo(name))
        self.model.pop(f"ns/{name}", None)

    @rule(
        changes=st.lists(
            st.builds(Delta, st.sampled_from([DeltaType.SYNC, DeltaType.DELETED]), objects)
        )
    )
    def apply(self, changes: list[Delta]) -> None:
        expected = []
        for change in changes:
            obj_key = key(change.object)
            expected.append(self.model.get(obj_key))
            if change.type is DeltaType.DELETED:
                self.model.pop(obj_key, None)
            else:
                self.model[obj_key] = change.object
        found = self.store.apply(changes)
        assert all(one is other for one, other in zip(found, expected, strict=True))

    @rule(objs=st.lists(objects))
    def replace(self, objs: list[Foo]) -> None:
        self.store.replace(objs, "1")
        self.model = {key(obj): obj for obj in objs}

    @rule(name=names)
    def somebody_changes_an_object_in_place(self, name: str) -> None:
        """It leaves no trace once another state of it is stored."""
        obj = self.model.get(f"ns/{name}")
        if obj is not None:
            obj.metadata.annotations["groups"] = "mutated"
            self.put(make(name, ["x"]), update=True)

    @precondition(lambda self: "name" not in self.store.get_indexers())
    @rule()
    def add_an_index(self) -> None:
        self.store.add_indexers({"name": by_name})

    @invariant()
    def the_store_holds_what_the_dict_holds(self) -> None:
        assert {key(obj): obj for obj in self.store.list()} == self.model
        assert sorted(self.store.list_keys()) == sorted(self.model)
        for name in "abcde":
            assert self.store.get_by_key(f"ns/{name}") is self.model.get(f"ns/{name}")

    @invariant()
    def the_indexes_equal_recomputation(self) -> None:
        check_indexes(self.store)


def key(obj: Foo) -> str:
    return f"{obj.metadata.namespace}/{obj.metadata.name}"


def check_indexes(store: Any) -> None:
    for name, function in store.get_indexers().items():
        expected: dict[str, set[str]] = {}
        for obj in store.list():
            for value in function(obj):
                expected.setdefault(value, set()).add(key(obj))
        assert set(store.list_index_func_values(name)) == set(expected)
        for value, keys in expected.items():
            assert store.index_keys(name, value) == sorted(keys)
            assert {key(obj) for obj in store.by_index(name, value)} == keys


TestStore = StoreMachine.TestCase
TestStore.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_writers_readers_and_new_indexes_at_once_leave_the_indexes_right() -> None:
    """STO-10, IDX-06, IDX-09: readers never see half a write."""
    store: ThreadSafeStore[Foo] = ThreadSafeStore({"groups": by_groups})
    failures: list[BaseException] = []
    done = threading.Event()

    def writer(own: str) -> None:
        for rv in range(300):
            name = f"{own}{rv % 7}"
            store.add(f"ns/{name}", make(name, [own, str(rv % 3)], rv))
            if rv % 5 == 0:
                store.delete(f"ns/{own}{rv % 3}")
            if rv % 50 == 0:
                store.replace({f"ns/{own}{n}": make(f"{own}{n}", [own]) for n in range(5)}, "1")

    def reader() -> None:
        while not done.is_set():
            # Both values are those of one object, so they change together.
            for obj in store.by_index("groups", "1"):
                assert "1" in by_groups(obj)
            keys = store.list_keys()
            assert len(keys) == len(set(keys))

    def indexer() -> None:
        for number in range(30):
            store.add_indexers({f"name-{number}": by_name})

    writers = [lambda own=own: writer(own) for own in "pqr"]
    threads = [_thread(target, failures) for target in [*writers, indexer]]
    readers = [_thread(reader, failures) for _ in range(2)]
    for thread in threads:
        thread.join(30)
    done.set()
    for thread in readers:
        thread.join(30)

    assert failures == []
    check_indexes(store)


def _thread(target: Any, failures: list[BaseException]) -> threading.Thread:
    def run() -> None:
        try:
            target()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread
