"""How a shared informer comes to its end, and what there is of it but its handlers."""

from __future__ import annotations

import threading

import pytest

from clientgo.cache import SharedIndexInformer, meta_namespace_index, wait_for_cache_sync
from clientgo.testing.fake_source import FakeSource
from tests.background import Background
from tests.cache.builders import Foo, foo, refs
from tests.cache.running import PATIENCE, no_delays, running


def test_one_store_with_indexes_serves_every_reader() -> None:
    """INF-06: there is one name for it, and no stub of a controller."""
    informer = SharedIndexInformer(
        FakeSource([foo("a")]),
        Foo,
        indexers={"namespace": meta_namespace_index},
        delays=no_delays(),
    )

    with running(informer) as stop:
        wait_for_cache_sync(stop, informer, timeout=PATIENCE)

    assert refs(informer.indexer.list()) == ["a@1"]
    assert refs(informer.indexer.by_index("namespace", "ns")) == ["a@1"]


def test_watching_ends_first_then_handlers_finish_and_only_then_run_returns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """INF-03, LIS-05."""
    informer = SharedIndexInformer(
        FakeSource([foo("a"), foo("b")]), Foo, name="foos", delays=no_delays()
    )
    called, may_return = threading.Event(), threading.Event()
    handled: list[str] = []
    told_to_stop = threading.Event()
    before: list[tuple[bool, bool]] = []

    def slow(obj: Foo) -> None:
        called.set()
        assert may_return.wait(PATIENCE)
        handled.append(obj.metadata.name)

    def stop_handlers() -> None:
        before.append((informer.is_stopped(), _reflects("foos")))
        told_to_stop.set()
        stop_processor()

    stop_processor = informer._processor.stop
    monkeypatch.setattr(informer._processor, "stop", stop_handlers)
    informer.add_event_handler(on_add=slow)
    stop = threading.Event()
    run = Background(lambda: informer.run(stop))
    assert called.wait(PATIENCE)
    assert _reflects("foos")

    stop.set()

    assert told_to_stop.wait(PATIENCE)
    assert before == [(True, False)]
    assert run.is_running
    may_return.set()
    run.result()
    assert len(handled) == 1


def _reflects(name: str) -> bool:
    return any(thread.name == f"{name} reflector" for thread in threading.enumerate())
