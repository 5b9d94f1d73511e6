"""An informer with one handler that is called where the cache is written, and the controller."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from clientgo.cache import REAL_FIFO, HandlerFuncs, new_informer
from clientgo.testing import FakeClock
from clientgo.testing.fake_source import FakeSource
from tests.background import Background
from tests.cache.builders import Foo, foo, refs
from tests.cache.running import Notes, RecordingHandler, no_delays, running


def test_the_store_holds_a_change_when_its_handler_is_called() -> None:
    """CTL-01, CTL-04, CTL-11."""
    source = FakeSource([foo("a")])
    seen = Notes()
    handler = HandlerFuncs(on_add=lambda obj: seen((obj, store.get(obj))))
    store, controller = new_informer(source, handler, Foo, delays=no_delays())
    assert not controller.has_synced()
    assert controller.last_sync_resource_version() == ""
    with running(controller):
        seen.wait_for_count(1)
        assert controller.has_synced_checker().done.wait(30)
        assert controller.last_sync_resource_version() == "1"
    assert seen.notes == [(foo("a"), foo("a"))]


def test_what_the_handler_raises_ends_the_run_and_is_raised_there() -> None:
    """CTL-11."""
    source = FakeSource([foo("a")])

    def fail(obj: Foo) -> None:
        raise ValueError("no")

    _, controller = new_informer(source, HandlerFuncs(on_add=fail), Foo)
    before = set(threading.enumerate())
    with pytest.raises(ValueError, match="no"):
        Background(lambda: controller.run(threading.Event())).result()
    assert {t for t in threading.enumerate() if t.name != "stop-watcher"} <= before


def test_it_takes_the_options_of_a_shared_one() -> None:
    """CTL-11."""
    source, recorder = FakeSource([foo("a")]), RecordingHandler()

    def rename(obj: Foo) -> Foo:
        obj.metadata.name = "renamed"
        return obj

    store, controller = new_informer(
        source,
        recorder,
        Foo,
        queue=REAL_FIFO,
        transform=rename,
        indexers={"by_name": lambda obj: [obj.metadata.name]},
        resync_period=10.0,
    )
    with running(controller):
        recorder.calls.wait_for_count(1)
    assert recorder.notes == ["+renamed@1!"]
    assert refs(store.by_index("by_name", "renamed")) == ["renamed@1"]


def test_a_reflector_that_fails_is_started_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Pitfall 33."""
    clock, recorder, deaths = FakeClock(), RecordingHandler(), Notes()
    _, controller = new_informer(FakeSource([foo("a")]), recorder, Foo, clock=clock)
    reflector: Any = controller._reflector
    run = reflector.run

    def die_once(stop: threading.Event) -> None:
        if not deaths.notes:
            deaths("failed")
            raise RuntimeError("a bug")
        run(stop)

    monkeypatch.setattr(reflector, "run", die_once)
    with running(controller):
        deaths.wait_for_count(1)
        clock.wait_for(lambda: clock.next_deadline() == 1.0)
        clock.step(1.0)
        recorder.calls.wait_for_count(1)
    assert "failed; starting it again in 1 s" in caplog.text
