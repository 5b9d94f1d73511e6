"""A store that makes its keys itself, and what its indexes find."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.cache import (
    DeletedFinalStateUnknown,
    Delta,
    DeltaType,
    ExpirationCache,
    IndexConflictError,
    Indexer,
    IndexFuncError,
    KeyFuncError,
    Store,
    TransactionError,
    UnknownIndexError,
    meta_namespace_index,
    ttl_policy,
)
from clientgo.cache.store.parts import PART
from clientgo.meta import ExplicitKey
from clientgo.testing import FakeClock
from tests.background import Background
from tests.cache.builders import Foo, foo, refs
from tests.cache.recorder import Recorder

ADDED, UPDATED, DELETED = DeltaType.ADDED, DeltaType.UPDATED, DeltaType.DELETED


def by_groups(obj: Foo) -> list[str]:
    groups = obj.metadata.annotations.get("groups", "")
    if groups == "broken":
        raise ValueError("broken groups")
    return groups.split(",") if groups else []


def grouped(name: str, groups: str, rv: int = 1) -> Foo:
    return foo(name, rv=rv, annotations={"groups": groups})


def indexer(**indexers: Any) -> Indexer[Foo]:
    return Indexer(indexers=indexers or {"groups": by_groups})


@pytest.fixture(params=["indexer", "expiring"])
def store(request: pytest.FixtureRequest) -> Store[Foo]:
    makers: dict[str, Any] = {
        "indexer": Indexer,
        "expiring": lambda: ExpirationCache(ttl_policy(60.0)),
    }
    made: Store[Foo] = makers[request.param]()
    return made


class TestEveryStore:
    def test_adding_and_updating_are_the_same(self, store: Store[Foo]) -> None:
        """STO-01, STO-02."""
        store.update(foo("a", rv=1))
        store.add(foo("a", rv=2))

        assert refs(store.list()) == ["a@2"]
        assert store.list_keys() == ["ns/a"]

    def test_deleting_what_is_not_there_succeeds(self, store: Store[Foo]) -> None:
        """STO-02."""
        store.delete(foo("a"))
        assert store.list() == []

    def test_a_stub_with_the_right_name_finds_the_object(self, store: Store[Foo]) -> None:
        """STO-03."""
        stored = foo("a", rv=7)
        store.add(stored)

        assert store.get(foo("a", rv=0)) is stored
        assert store.get(ExplicitKey("ns/a")) is stored
        assert store.get_by_key("ns/a") is stored
        assert store.get(foo("b")) is None
        assert store.get_by_key("ns/b") is None

    def test_lists_are_new_and_hold_the_stored_objects(self, store: Store[Foo]) -> None:
        """STO-04."""
        stored = foo("a")
        store.add(stored)
        store.list().clear()
        store.list_keys().clear()

        assert store.list()[0] is stored
        assert store.list_keys() == ["ns/a"]

    def test_replacing_swaps_everything_and_the_last_of_equal_keys_stays(
        self, store: Store[Foo]
    ) -> None:
        """STO-05."""
        store.add(foo("old"))
        store.replace([foo("a", rv=1), foo("b"), foo("a", rv=2)], "10")

        assert refs(store.list()) == ["a@2", "b@1"]
        assert store.last_store_sync_resource_version() == "10"

    def test_a_replacement_with_a_keyless_object_changes_nothing(self, store: Store[Foo]) -> None:
        """STO-05."""
        store.replace([foo("a")], "1")
        with pytest.raises(KeyFuncError):
            store.replace([foo("b"), 5], "2")  # type: ignore[list-item]

        assert refs(store.list()) == ["a@1"]
        assert store.last_store_sync_resource_version() == "1"

    def test_a_bookmark_moves_the_version_and_a_resync_does_nothing(
        self, store: Store[Foo]
    ) -> None:
        """STO-08, STO-11."""
        store.add(foo("a"))
        store.bookmark("33")
        store.resync()
        assert refs(store.list()) == ["a@1"]
        assert store.last_store_sync_resource_version() == "33"


class TestReplace:
    def test_what_could_not_be_read_keeps_its_last_state(self) -> None:
        """STO-05."""
        store = indexer()
        store.replace([foo("a", rv=1), foo("b", rv=1), foo("c", rv=1)], "1")
        store.replace([foo("a", rv=2)], "2", {"ns/a", "ns/b", "ns/never-seen"})
        assert sorted(refs(store.list())) == ["a@2", "b@1"]


class TestBatches:
    def test_each_change_returns_what_it_replaced(self) -> None:
        """STO-07: one lock acquisition, in order."""
        store = indexer()
        first, second = foo("a", rv=1), foo("a", rv=2)

        found = store.apply(
            [
                Delta(ADDED, first),
                Delta(UPDATED, second),
                Delta(DELETED, second),
                Delta(DELETED, foo("b")),
            ]
        )

        assert found == [None, first, second, None]
        assert store.list() == []

    def test_a_refused_change_leaves_the_others_alone(self) -> None:
        """STO-07, IDX-10."""
        store = indexer()
        store.add(grouped("b", "x"))

        found = store.apply(
            [
                Delta(ADDED, 5),
                Delta(UPDATED, grouped("b", "broken")),
                Delta(ADDED, grouped("a", "x")),
            ]
        )

        assert isinstance(found[0], KeyFuncError)
        assert isinstance(found[1], IndexFuncError)
        assert isinstance(found[1].__cause__, ValueError)
        assert found[2] is None
        assert store.index_keys("groups", "x") == ["ns/a", "ns/b"]

    def test_a_transaction_reports_which_operations_failed(self) -> None:
        """STO-07."""
        store = indexer()
        with pytest.raises(TransactionError, match="2 of 3") as caught:
            store.transaction([Delta(ADDED, 5), Delta(ADDED, foo("a")), Delta(DELETED, 6)])

        assert caught.value.succeeded == (1,)
        assert caught.value.total == 3
        assert [type(error) for error in caught.value.errors] == [KeyFuncError, KeyFuncError]
        assert refs(store.list()) == ["a@1"]

    @pytest.mark.parametrize(("changes", "seconds"), [(1, 0.5), (3, 1.5), (100, 5.0)])
    def test_a_slow_one_is_logged(
        self, changes: int, seconds: float, caplog: pytest.LogCaptureFixture
    ) -> None:
        """STO-12."""
        clock, delays = FakeClock(), [seconds + 0.1, seconds]

        def take_time(obj: Foo) -> list[str]:
            clock.step(delays.pop() if obj.metadata.name == "0" else 0.0)
            return []

        store: Indexer[Foo] = Indexer(indexers={"slow": take_time}, clock=clock)
        batch = [Delta(ADDED, foo(str(number))) for number in range(changes)]

        store.apply(batch)
        assert caplog.messages == []

        store.apply(batch)
        assert caplog.messages == [
            f"{changes} changes of a store took {seconds + 0.1:.1f} s;"
            " its key and index functions must be quick"
        ]

    def test_no_changes_are_no_changes(self) -> None:
        """STO-07."""
        store = indexer()
        store.bookmark("5")
        assert store.apply([]) == []
        assert store.last_store_sync_resource_version() == "5"


class TestResourceVersion:
    def test_it_is_that_of_the_last_write_without_comparison(self) -> None:
        """STO-08."""
        store = indexer()
        assert store.last_store_sync_resource_version() == ""
        store.add(foo("a", rv=5))
        store.update(foo("a", rv=3))
        assert store.last_store_sync_resource_version() == "3"
        store.delete(foo("a", rv=9))
        assert store.last_store_sync_resource_version() == "9"
        store.add(foo("a", rv=""))
        assert store.last_store_sync_resource_version() == ""

    def test_what_has_no_version_does_not_move_it(self) -> None:
        """STO-08."""
        store = indexer()
        store.add(foo("a", rv=5))
        store.delete(ExplicitKey("ns/a"))
        store.delete(DeletedFinalStateUnknown("ns/a", foo("a", rv=7)))
        assert store.last_store_sync_resource_version() == "5"

    def test_a_batch_takes_that_of_its_last_change(self) -> None:
        """STO-08."""
        store = indexer()
        store.apply([Delta(ADDED, foo("a", rv=9)), Delta(ADDED, foo("b", rv=2))])
        assert store.last_store_sync_resource_version() == "2"

    def test_a_gauge_follows_it(self) -> None:
        """CMT-01: a version that is not a number is skipped."""
        gauge = Recorder()
        store: Indexer[Foo] = Indexer(version_gauge=gauge)
        store.replace([], "10")
        store.add(foo("a", rv=11))
        store.apply([Delta(ADDED, foo("b", rv="odd"))])
        store.bookmark("12")
        assert gauge.values == [10.0, 11.0, 12.0]

        Indexer[Foo](version_gauge=gauge, tracks_resource_version=False).bookmark("13")
        assert gauge.values == [10.0, 11.0, 12.0]

    def test_it_is_empty_where_it_is_not_tracked(self) -> None:
        """STO-09."""
        store: Indexer[Foo] = Indexer(tracks_resource_version=False)
        store.replace([foo("a")], "10")
        assert store.last_store_sync_resource_version() == ""
        with pytest.raises(RuntimeError, match="run the informer on REAL_FIFO"):
            store.wait_until_version("10", timeout=0.0)

    @pytest.mark.parametrize(
        "write",
        [
            lambda store: store.add(foo("a", rv=10)),
            lambda store: store.delete(foo("a", rv=11)),
            lambda store: store.replace([], "10"),
            lambda store: store.bookmark("10"),
        ],
        ids=["add", "delete", "replace", "bookmark"],
    )
    def test_it_can_be_waited_for(self, write: Callable[[Indexer[Foo]], None]) -> None:
        """Pitfall 29: read your own writes."""
        store = indexer()
        store.bookmark("9")
        assert not store.wait_until_version("10", timeout=0.0)
        waiting = Background(lambda: store.wait_until_version("10", timeout=60.0))

        write(store)

        assert waiting.result()

    def test_it_is_compared_as_a_number_if_it_is_one(self) -> None:
        """Pitfall 29."""
        store = indexer()
        assert not store.wait_until_version("0", timeout=0.0)
        store.bookmark("odd")
        assert not store.wait_until_version("0", timeout=0.0)
        store.bookmark("100")
        assert store.wait_until_version("99", timeout=0.0)
        with pytest.raises(ValueError, match="'odd' is not a number"):
            store.wait_until_version("odd", timeout=60.0)


class TestIndexes:
    def test_an_object_is_found_under_each_of_its_values(self) -> None:
        """IDX-01, IDX-03, IDX-04: repeated values are harmless."""
        store = indexer()
        store.add(grouped("b", "x,y,x"))
        store.add(grouped("a", "y"))
        store.add(grouped("c", ""))

        assert refs(store.by_index("groups", "x")) == ["b@1"]
        assert store.index_keys("groups", "y") == ["ns/a", "ns/b"]
        assert store.by_index("groups", "unknown") == []
        assert store.index_keys("groups", "unknown") == []

    def test_a_probe_finds_each_object_that_shares_a_value_once(self) -> None:
        """IDX-02."""
        store = indexer()
        for name, groups in (("a", "x,y"), ("b", "y"), ("c", "z")):
            store.add(grouped(name, groups))

        assert refs(store.index("groups", grouped("probe", "x,y"))) == ["a@1", "b@1"]
        with pytest.raises(ValueError, match="broken groups"):
            store.index("groups", grouped("probe", "broken"))

    def test_an_unknown_index_is_an_error_that_names_the_known_ones(self) -> None:
        """IDX-02, IDX-03, IDX-04, IDX-05."""
        store = indexer()
        for query in (store.by_index, store.index_keys):
            with pytest.raises(UnknownIndexError, match="groups"):
                query("nope", "x")
        with pytest.raises(UnknownIndexError):
            store.index("nope", foo("a"))
        assert store.list_index_func_values("nope") == []

    def test_values_come_and_go_with_their_last_object(self) -> None:
        """IDX-05, IDX-07, IDX-08."""
        store = indexer()
        store.add(grouped("a", "x,y"))
        store.add(grouped("b", "y"))
        assert sorted(store.list_index_func_values("groups")) == ["x", "y"]

        store.update(grouped("a", "z"))
        assert sorted(store.list_index_func_values("groups")) == ["y", "z"]
        store.delete(foo("b"))
        store.update(grouped("a", ""))
        assert store.list_index_func_values("groups") == []

    def test_an_empty_text_is_a_value(self) -> None:
        """IDX-01, IDX-08."""
        store = indexer(namespace=meta_namespace_index)
        store.add(foo("a", namespace=""))
        assert refs(store.by_index("namespace", "")) == ["a@1"]
        store.delete(foo("a", namespace=""))
        assert store.list_index_func_values("namespace") == []

    @pytest.mark.parametrize(
        ("before", "after"),
        [("x", "x"), ("x", "y"), ("x", "x,y"), ("x,y", "x"), ("", "x"), ("x", ""), ("x,y", "y,z")],
    )
    def test_an_update_moves_an_object_between_values(self, before: str, after: str) -> None:
        """IDX-07."""
        store = indexer()
        store.add(grouped("a", before, rv=1))
        store.update(grouped("a", after, rv=2))

        for value in ("x", "y", "z"):
            expected = ["a@2"] if value in after else []
            assert refs(store.by_index("groups", value)) == expected

    def test_a_replacement_rebuilds_the_indexes(self) -> None:
        """IDX-09."""
        store = indexer()
        store.replace([grouped("a", "x")], "1")
        store.replace([grouped("b", "y")], "2")
        assert store.list_index_func_values("groups") == ["y"]
        store.replace([], "3")
        assert store.list_index_func_values("groups") == []

    @pytest.mark.parametrize("write", ["add", "update"])
    def test_a_failing_index_function_leaves_everything_as_it_was(self, write: str) -> None:
        """IDX-10."""
        store = indexer()
        store.add(grouped("a", "x", rv=1))

        with pytest.raises(IndexFuncError, match=r"groups.*ns/a") as caught:
            getattr(store, write)(grouped("a", "broken", rv=2))
        with pytest.raises(IndexFuncError):
            store.replace([grouped("b", "y"), grouped("c", "broken")], "9")

        assert isinstance(caught.value.__cause__, ValueError)
        assert refs(store.list()) == ["a@1"]
        assert refs(store.by_index("groups", "x")) == ["a@1"]
        assert store.last_store_sync_resource_version() == "1"

    @pytest.mark.parametrize("values", ["text", [1], None])
    def test_an_index_function_must_return_a_list_of_texts(self, values: Any) -> None:
        """IDX-01: a mistake is an error, not indexed letter by letter."""
        store: Indexer[Foo] = Indexer(indexers={"odd": lambda obj: values})
        with pytest.raises(IndexFuncError) as caught:
            store.add(foo("a"))
        assert isinstance(caught.value.__cause__, TypeError)

    def test_an_object_that_was_changed_in_place_leaves_no_trace(self) -> None:
        """IDX-11."""
        store = indexer()
        offender = grouped("a", "x")
        store.add(offender)
        offender.metadata.annotations["groups"] = "y"

        store.delete(offender)

        assert store.list_index_func_values("groups") == []
        assert store.by_index("groups", "x") == []

    def test_the_mappings_of_functions_are_copied_both_ways(self) -> None:
        """IDX-12."""
        given = {"groups": by_groups}
        store: Indexer[Foo] = Indexer(indexers=given)
        given["later"] = by_groups
        store.get_indexers()["more"] = by_groups

        assert store.get_indexers() == {"groups": by_groups}
        Indexer[Foo]().add_indexers({"groups": by_groups})

    def test_deleting_what_is_not_there_touches_no_index(self) -> None:
        """IDX-13: but the version moves."""
        store = indexer()
        store.delete(grouped("a", "broken", rv=4))
        assert store.last_store_sync_resource_version() == "4"


class TestAddingIndexes:
    def test_they_cover_what_is_stored_and_what_comes(self) -> None:
        """IDX-06."""
        store = indexer(namespace=meta_namespace_index)
        store.add(grouped("a", "x"))
        store.add_indexers({"groups": by_groups})
        store.add(grouped("b", "x"))

        assert refs(store.by_index("groups", "x")) == ["a@1", "b@1"]
        assert set(store.get_indexers()) == {"namespace", "groups"}

    def test_a_taken_name_registers_nothing(self) -> None:
        """IDX-06."""
        store = indexer()
        with pytest.raises(IndexConflictError, match="groups"):
            store.add_indexers({"new": by_groups, "groups": by_groups})
        assert set(store.get_indexers()) == {"groups"}

    def test_a_function_that_fails_for_a_stored_object_registers_nothing(self) -> None:
        """IDX-06, IDX-10."""
        store: Indexer[Foo] = Indexer()
        store.add(grouped("a", "broken"))
        with pytest.raises(IndexFuncError):
            store.add_indexers({"groups": by_groups})

        assert store.get_indexers() == {}
        store.add(grouped("b", "broken"))

    def test_writers_go_on_while_an_index_is_filled(self) -> None:
        """IDX-06, STO-10: what is written meanwhile is in the index, once and in its new state."""
        store: Indexer[Foo] = Indexer()
        store.replace([grouped("a", "x"), grouped("b", "x"), grouped("c", "x")], "1")
        filling, go_on = threading.Event(), threading.Event()

        def slow(obj: Foo) -> list[str]:
            if threading.current_thread() is adder:
                filling.set()
                go_on.wait(30)
            return by_groups(obj)

        adder = threading.Thread(target=lambda: store.add_indexers({"groups": slow}))
        adder.start()
        assert filling.wait(30)
        store.update(grouped("a", "y", rv=2))
        store.delete(foo("b"))
        store.add(grouped("d", "x"))
        with pytest.raises(UnknownIndexError):
            store.by_index("groups", "x")
        go_on.set()
        adder.join(30)

        assert refs(store.by_index("groups", "x")) == ["c@1", "d@1"]
        assert refs(store.by_index("groups", "y")) == ["a@2"]

    def test_the_lock_is_free_between_parts_of_a_large_store(self) -> None:
        """IDX-06, STO-10: readers and writers do not wait for a million objects."""
        store: Indexer[Foo] = Indexer()
        store.replace([foo(f"a-{number}") for number in range(PART + 2)], "1")
        indexed = []

        def by_name(obj: Foo) -> list[str]:
            indexed.append(store.statistics().index_values["names"])
            if len(indexed) == PART + 1:
                store.delete(foo(f"a-{PART + 1}"))
            return [obj.metadata.name]

        store.add_indexers({"names": by_name})

        assert indexed == [0] * PART + [PART] * 2
        assert store.by_index("names", f"a-{PART + 1}") == []
        assert len(store.list_index_func_values("names")) == PART + 1

    def test_a_replacement_while_an_index_is_filled_wins(self) -> None:
        """IDX-06, IDX-09."""
        store: Indexer[Foo] = Indexer()
        store.add(grouped("a", "x"))
        replaced = False

        def replacing(obj: Foo) -> list[str]:
            nonlocal replaced
            if not replaced:
                replaced = True
                store.replace([grouped("b", "y")], "2")
            return by_groups(obj)

        store.add_indexers({"groups": replacing})

        assert store.list_index_func_values("groups") == ["y"]
        assert refs(store.by_index("groups", "y")) == ["b@1"]


@pytest.mark.parametrize("meanwhile", ["an index is added", "the content is replaced"])
def test_a_write_that_was_overtaken_is_indexed_again(meanwhile: str) -> None:
    """STO-10, IDX-06, IDX-09: its values were computed for indexes that are no longer current."""
    store: Indexer[Foo] = Indexer()
    overtaken = False

    def overtaking(obj: Foo) -> list[str]:
        nonlocal overtaken
        if not overtaken and obj.metadata.name == "a":
            overtaken = True
            if meanwhile == "an index is added":
                store.add_indexers({"more": by_groups})
            else:
                store.replace([grouped("b", "x")], "2")
        return by_groups(obj)

    store.add_indexers({"groups": overtaking})
    store.add(grouped("a", "x"))

    assert store.index_keys("groups", "x") == sorted(store.list_keys())
    if meanwhile == "an index is added":
        assert store.index_keys("more", "x") == ["ns/a"]


def test_an_index_function_may_read_the_store() -> None:
    """STO-10: it runs outside the lock."""
    store: Indexer[Foo] = Indexer()
    store.add_indexers({"odd": lambda obj: [str(len(store.list()))]})
    store.add(foo("a"))
    store.add(foo("b"))
    assert sorted(store.list_index_func_values("odd")) == ["0", "1"]


def test_statistics_tell_how_much_there_is() -> None:
    store = indexer()
    store.add(grouped("a", "x,y", rv=4))
    statistics = store.statistics()
    assert statistics.objects == 1
    assert statistics.index_values == {"groups": 2}
    assert statistics.resource_version == "4"
