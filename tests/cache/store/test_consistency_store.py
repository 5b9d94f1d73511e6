"""What a controller has written, compared with its caches (CST)."""

from __future__ import annotations

import copy
import logging
import pickle
import threading
from itertools import count
from typing import Any

import pytest

from clientgo.cache import (
    DELTA_FIFO,
    REAL_FIFO,
    ConsistencyError,
    ConsistencyStore,
    Indexer,
    QueueChoice,
    SharedIndexInformer,
    wait_for_cache_sync,
)
from clientgo.meta import ObjectMeta, ObjectName, Unstructured
from clientgo.testing import FakeSource
from tests.cache.builders import Foo, foo
from tests.cache.metrics import RecordingProvider
from tests.cache.running import running

A = ObjectName("ns", "a")
B = ObjectName("ns", "b")


def at(version: str) -> Indexer[Any]:
    store: Indexer[Any] = Indexer()
    store.bookmark(version)
    return store


def is_ready(consistency: ConsistencyStore, owner: object = A) -> bool:
    try:
        consistency.ensure_ready(owner)
    except ConsistencyError:
        return False
    return True


class TestReadiness:
    def test_an_owner_without_writes_is_ready(self) -> None:
        """CST-02."""
        assert is_ready(ConsistencyStore({"pods": at("1")}))

    def test_it_waits_for_each_resource_that_was_written(self) -> None:
        """CST-02: an error says which cache is behind; the record goes when all have caught up."""
        pods, sets = at("9"), at("20")
        consistency = ConsistencyStore({"pods": pods, "sets": sets})
        consistency.wrote_at(A, "u", "pods", "10")
        consistency.wrote_at(A, "u", "sets", "30")

        with pytest.raises(ConsistencyError) as raised:
            consistency.ensure_ready(A)
        error = raised.value
        assert (error.owner, error.resource, error.read, error.written) == (A, "pods", "9", "10")
        assert str(error) == (
            "the cache of pods is as of resource version 9, older than version 10, which was "
            "written for ns/a; sync it again when the cache has caught up"
        )

        pods.bookmark("10")
        with pytest.raises(ConsistencyError, match="the cache of sets"):
            consistency.ensure_ready(A)
        assert consistency.pending() == 1, "a record is whole until all is reached"
        sets.bookmark("31")
        consistency.ensure_ready(A)
        assert consistency.pending() == 0

        pods.bookmark("1")
        assert is_ready(consistency), "nothing is left to compare"

    def test_owners_do_not_wait_for_each_other(self) -> None:
        """CST-02."""
        consistency = ConsistencyStore({"pods": at("5")})
        consistency.wrote_at(A, "u", "pods", "10")
        consistency.wrote_at(B, "v", "pods", "5")

        assert not is_ready(consistency, A)
        assert is_ready(consistency, B)
        assert not is_ready(consistency, A)

    def test_each_wait_is_counted_by_resource(self) -> None:
        """CST-04: under the name of Kubernetes, and as no error."""
        provider, pods = RecordingProvider(), at("5")
        consistency = ConsistencyStore({"pods": pods, Foo: at("9")}, metrics=provider)
        consistency.wrote_at(A, "u", Foo, "9")
        consistency.wrote_at(A, "u", "pods", "10")
        for _ in range(2):
            assert not is_ready(consistency)
        pods.bookmark("10")
        assert is_ready(consistency)

        assert provider.values == {
            ("stale_sync_skips_total", "pods"): [1.0, 1.0],
            ("stale_sync_skips_total", "Foo"): [],
        }

    def test_the_error_survives_a_copy_and_a_pickle(self) -> None:
        """CST-02."""
        error = ConsistencyError(A, "pods", "9", "10")
        for again in (copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
            assert (str(again), again.written) == (str(error), "10")


class TestWrites:
    @pytest.mark.parametrize(
        ("written", "waits_for"),
        [
            (["10", "9"], "10"),
            (["9", "10"], "10"),
            (["10", "10"], "10"),
            (["9", "10", "8"], "10"),
            (["99", "100"], "100"),
        ],
    )
    def test_the_highest_version_counts_as_a_number(
        self, written: list[str], waits_for: str
    ) -> None:
        """CST-01."""
        store = at(str(int(waits_for) - 1))
        consistency = ConsistencyStore({"pods": store})
        for version in written:
            consistency.wrote_at(A, "u", "pods", version)

        assert not is_ready(consistency)
        store.bookmark(waits_for)
        assert is_ready(consistency)

    def test_a_version_that_cannot_be_compared_replaces(self) -> None:
        """CST-01, in both directions."""
        store = at("5")
        consistency = ConsistencyStore({"pods": store})
        consistency.wrote_at(A, "u", "pods", "10")
        consistency.wrote_at(A, "u", "pods", "odd")
        assert is_ready(consistency)

        consistency.wrote_at(A, "u", "pods", "odd")
        consistency.wrote_at(A, "u", "pods", "10")
        assert not is_ready(consistency)

    def test_the_answer_to_a_write_says_all_of_it(self) -> None:
        """CST-01: owner, uid, resource and version; an answer without a version says nothing."""
        store = at("5")
        consistency = ConsistencyStore({Foo: store, "widgets": store})
        owner = foo("a", uid="u")

        consistency.wrote(owner, foo("child", rv=""))
        assert consistency.pending() == 0
        consistency.wrote(owner, foo("child", rv=6))
        consistency.wrote(owner, foo("child", rv=""))
        with pytest.raises(ConsistencyError, match=r"the cache of Foo is .* written for ns/a"):
            consistency.ensure_ready(A)

        store.bookmark("6")
        assert is_ready(consistency)
        widget = Unstructured.from_dict({"metadata": {"name": "w", "resourceVersion": "7"}})
        consistency.wrote(owner, widget, "widgets")
        with pytest.raises(ConsistencyError, match="the cache of widgets"):
            consistency.ensure_ready(A)

    def test_writes_for_another_owner_of_the_name_start_again(self) -> None:
        """CST-04."""
        consistency = ConsistencyStore({"pods": at("5"), "sets": at("5")})
        consistency.wrote_at(A, "old", "pods", "10")

        consistency.wrote_at(A, "new", "sets", "5")

        assert is_ready(consistency), "what the old one wrote is gone with it"

    @pytest.mark.parametrize(("uid", "forgets"), [("u", True), ("", True), ("another", False)])
    def test_forgetting_an_owner_minds_its_uid(self, uid: str, forgets: bool) -> None:
        """CST-04."""
        consistency = ConsistencyStore({"pods": at("5")})
        consistency.wrote_at(A, "u", "pods", "10")

        consistency.clear(A, uid)

        assert is_ready(consistency) == forgets
        consistency.clear(B, "u")  # nothing there

    def test_writes_of_many_owners_at_the_same_time_are_all_kept(self) -> None:
        """CST-04: only the calls for one owner come one after the other."""
        store = at("5")
        consistency = ConsistencyStore({"pods": store})
        numbers = count()

        def write() -> None:
            for _ in range(200):
                consistency.wrote_at(f"owner-{next(numbers)}", "u", "pods", "10")
                consistency.ensure_ready("another")

        threads = [threading.Thread(target=write) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert consistency.pending() == 800

        store.bookmark("10")
        for number in range(800):
            consistency.ensure_ready(f"owner-{number}")
        assert consistency.pending() == 0


class TestFailingOpen:
    def test_versions_that_are_not_numbers_are_not_waited_for(self) -> None:
        """CST-03: neither that of the cache nor that of the write."""
        consistency = ConsistencyStore({"pods": at("odd"), "sets": at("5")})
        consistency.wrote_at(A, "u", "pods", "10")
        consistency.wrote_at(A, "u", "sets", "odd")

        assert is_ready(consistency)
        assert consistency.pending() == 0

    def test_a_resource_without_a_store_is_not_waited_for_and_logged_once(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        """CST-03: the other resources of the owner are."""
        pods = at("5")
        consistency = ConsistencyStore({"pods": pods})
        for _ in range(3):
            consistency.wrote_at(A, "u", Foo, "10")
            assert is_ready(consistency)
        assert caplog.messages == [
            "syncs do not wait for writes of Foo: there is no store for it (stores: pods)"
        ]

        consistency.wrote_at(A, "u", Foo, "10")
        consistency.wrote_at(A, "u", "pods", "10")
        assert not is_ready(consistency)

    def test_a_cache_without_a_version_is_not_waited_for_and_logged_once(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        """CST-03: for each resource, since the check never does anything there."""
        loose: Indexer[Any] = Indexer(tracks_resource_version=False)
        loose.replace([foo("a")], "1")
        consistency = ConsistencyStore({"pods": loose, "sets": loose})
        with caplog.at_level(logging.WARNING, "clientgo.cache.store"):
            for _ in range(3):
                consistency.wrote_at(A, "u", "pods", "10")
                assert is_ready(consistency)
            assert caplog.messages == [
                "syncs do not wait for writes of pods: its cache has no resource version; run its "
                "informer on REAL_FIFO"
            ]
            consistency.wrote_at(A, "u", "sets", "10")
            assert is_ready(consistency)
        assert len(caplog.messages) == 2


@pytest.mark.parametrize(("queue", "waits"), [(REAL_FIFO, True), (DELTA_FIFO, False)])
def test_an_informer_is_waited_for_if_its_queue_keeps_the_order(
    queue: QueueChoice, waits: bool
) -> None:
    """CST-02, CST-03: until the event of the write has arrived, or a bookmark after it."""
    source = FakeSource()
    informer: SharedIndexInformer[Foo] = SharedIndexInformer(source, Foo, queue=queue)
    with running(informer) as stop:
        assert wait_for_cache_sync(stop, informer)
        consistency = ConsistencyStore({Foo: informer.indexer})
        written = str(int(source.resource_version) + 1)
        consistency.wrote_at(A, "u", Foo, written)
        assert is_ready(consistency) != waits

        added = source.add(Foo(metadata=ObjectMeta(name="a", namespace="ns")))
        assert added.metadata.resource_version == written
        if waits:
            assert informer.indexer.wait_until_version(written, timeout=30)
        assert is_ready(consistency)
