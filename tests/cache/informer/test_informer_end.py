"""How a shared informer ends, and what it survives."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from clientgo.cache import SharedIndexInformer, meta_namespace_index, wait_for_cache_sync
from clientgo.cache.informer.controller import RESTART_AFTER
from clientgo.cache.informer.shared_processor import HANDLER_TIMEOUT
from clientgo.meta import ForbiddenError
from clientgo.testing import FakeClock
from clientgo.testing.fake_source import FakeSource
from clientgo.util.wait import Backoff, BackoffManager
from tests.background import Background
from tests.cache.builders import Foo, foo, refs
from tests.cache.running import TIMEOUT, RecordingHandler, no_delays, running


def test_one_store_with_indexes_serves_every_reader() -> None:
    """INF-06: there is one name for it, and no stub of a controller."""
    informer = SharedIndexInformer(
        FakeSource([foo("a")]),
        Foo,
        indexers={"namespace": meta_namespace_index},
        delays=no_delays(),
    )

    with running(informer) as stop:
        wait_for_cache_sync(stop, informer, timeout=TIMEOUT)

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
    asked_to_stop = threading.Event()
    before: list[tuple[bool, bool]] = []

    def slow(obj: Foo) -> None:
        called.set()
        assert may_return.wait(TIMEOUT)
        handled.append(obj.metadata.name)

    def stop_handlers() -> None:
        before.append((informer.is_stopped(), _reflects("foos")))
        asked_to_stop.set()
        stop_processor()

    stop_processor = informer._processor.stop
    monkeypatch.setattr(informer._processor, "stop", stop_handlers)
    informer.add_event_handler(on_add=slow)
    stop = threading.Event()
    run = Background(lambda: informer.run(stop))
    assert called.wait(TIMEOUT)
    assert _reflects("foos")

    stop.set()

    assert asked_to_stop.wait(TIMEOUT)
    assert before == [(True, False)]
    assert run.is_running
    may_return.set()
    run.result()
    assert len(handled) == 1


class TestABlockedHandler:
    """INF-03: the informer ends all the same, and names the handler."""

    def setup_method(self) -> None:
        self.clock = FakeClock()
        self.informer = SharedIndexInformer(
            FakeSource([foo("a")], supports_watch_list=False),
            Foo,
            name="foos",
            delays=no_delays(),
            clock=self.clock,
        )
        self.called, self.may_return = threading.Event(), threading.Event()

    def blocks(self, obj: Foo) -> None:
        self.called.set()
        self.may_return.wait()

    def test_is_left_behind_after_ten_seconds_and_named_in_the_log(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        self.informer.add_event_handler(on_add=self.blocks)
        stop = threading.Event()
        run = Background(lambda: self.informer.run(stop))
        assert self.called.wait(TIMEOUT)
        stop.set()
        self.clock.wait_for_waiters(1)
        self.clock.step(HANDLER_TIMEOUT)
        run.result()

        (error,) = [record for record in caplog.records if record.levelname == "ERROR"]
        assert "foos handler 1" in error.getMessage()
        assert type(self).__name__ in error.getMessage()
        assert "the add of ns/a" in error.getMessage()
        (left,) = [t for t in threading.enumerate() if t.name.startswith("foos handler 1")]
        self.may_return.set()
        left.join(TIMEOUT)
        assert not left.is_alive()

    def test_does_not_delay_its_removal_for_ever(self, caplog: pytest.LogCaptureFixture) -> None:
        registration = self.informer.add_event_handler(on_add=self.blocks)
        with running(self.informer):
            assert self.called.wait(TIMEOUT)
            removal = Background(lambda: self.informer.shut_down_event_handler(registration))
            self.clock.wait_for_waiters(1)
            self.clock.step(HANDLER_TIMEOUT)
            removal.result()
            self.may_return.set()
        assert "foos handler 1" in caplog.text


class TestSystemExit:
    """It ends no thread of an informer silently."""

    def test_in_an_error_handler_does_not_end_the_reflector(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        source, clock = FakeSource(supports_watch_list=False), FakeClock()
        source.fail("list", ForbiddenError.of("no"))

        no_pauses = BackoffManager(Backoff(duration=0.0))

        def exits(error: Exception) -> None:
            raise SystemExit("in the error handler")

        informer = SharedIndexInformer(
            source, Foo, name="foos", delays=no_pauses, on_error=exits, clock=clock
        )
        with running(informer) as stop:
            clock.wait_for_waiters(1)
            clock.step(RESTART_AFTER)
            wait_for_cache_sync(stop, informer, timeout=TIMEOUT).raise_for_unsynced()
        assert "foos reflector failed" in caplog.text

    def test_in_an_index_function_costs_only_the_object(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        def index(obj: Foo) -> list[str]:
            if obj.metadata.name == "bad":
                raise SystemExit("in the index function")
            return ["good"]

        informer = SharedIndexInformer(
            FakeSource([foo("a"), foo("bad")]), Foo, indexers={"i": index}, delays=no_delays()
        )
        with running(informer) as stop:
            wait_for_cache_sync(stop, informer, timeout=TIMEOUT).raise_for_unsynced()
        assert refs(informer.indexer.list()) == ["a@1"]
        assert "ns/bad" in caplog.text

    def test_while_changes_are_processed_leads_to_another_list(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        source = FakeSource([foo("a")])
        informer = SharedIndexInformer(source, Foo, name="foos", delays=no_delays())
        process = informer._deltas.process

        def exits_once(batch: Any, is_in_initial_list: bool) -> None:
            if not is_in_initial_list:
                monkeypatch.undo()
                raise SystemExit("while changes are processed")
            process(batch, is_in_initial_list)

        recorder = RecordingHandler()
        informer.add_event_handler(recorder)
        with running(informer) as stop:
            wait_for_cache_sync(stop, informer, timeout=TIMEOUT).raise_for_unsynced()
            source.wait_for_watch()
            monkeypatch.setattr(informer._deltas, "process", exits_once)
            source.add(foo("b"))
            recorder.calls.wait_for(lambda notes: "+b@2" in notes)
        assert refs(informer.indexer.list()) == ["a@1", "b@2"]
        assert "foos: processing changes failed; listing again" in caplog.text


def _reflects(name: str) -> bool:
    return any(thread.name == f"{name} reflector" for thread in threading.enumerate())
