"""Finding those who change cached objects."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from clientgo.cache import CacheMutatedError, MutationDetector, SharedIndexInformer
from clientgo.cache.informer.mutation_detector import GENERATION
from clientgo.meta import Unstructured
from clientgo.testing import FakeClock
from clientgo.testing.fake_source import FakeSource
from tests.background import Background
from tests.cache.builders import Foo, foo
from tests.cache.running import TIMEOUT, Notes, RecordingHandler, running


def detector(found: list[CacheMutatedError], clock: FakeClock) -> MutationDetector:
    return MutationDetector("foos", on_mutation=found.append, clock=clock)


@pytest.fixture
def found() -> list[CacheMutatedError]:
    return []


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def change_label(obj: Any) -> None:
    obj.metadata.labels["changed"] = "yes"


def change_spec(obj: Foo) -> None:
    obj.spec.replicas = 7


@pytest.mark.parametrize("change", [change_label, change_spec])
def test_a_changed_object_is_reported_once_with_what_changed(
    found: list[CacheMutatedError], clock: FakeClock, change: Any
) -> None:
    """MTD-02, MTD-03."""
    subject, a, b = detector(found, clock), foo("a"), foo("b")
    subject.add(a)
    subject.add(b)
    subject.check()
    assert found == []
    change(a)
    subject.check()
    subject.check()
    (error,) = found
    assert error.obj is a
    assert "foos: the cached object ns/a was changed" in str(error)
    assert "+" in str(error)


def test_unstructured_and_plain_objects_are_watched_too(
    found: list[CacheMutatedError], clock: FakeClock
) -> None:
    """MTD-02."""
    subject = detector(found, clock)
    unstructured = Unstructured.from_dict({"metadata": {"name": "a"}, "data": {"key": [1]}})
    plain = {"metadata": {"name": "b"}, "data": {}}
    subject.add(unstructured)
    subject.add(plain)
    unstructured["data"]["key"].append(2)
    plain["data"]["new"] = 1
    subject.check()
    assert [error.obj for error in found] == [unstructured, plain]


def test_objects_are_forgotten_after_two_generations(
    found: list[CacheMutatedError], clock: FakeClock
) -> None:
    """MTD-02."""
    subject, young, old = detector(found, clock), foo("young"), foo("old")
    subject.add(old)
    clock.step(GENERATION)
    subject.check()
    subject.add(young)
    clock.step(GENERATION)
    subject.check()
    change_label(old)
    change_label(young)
    subject.check()
    assert [error.obj for error in found] == [young]


def test_it_checks_every_second_until_it_is_stopped(
    found: list[CacheMutatedError], clock: FakeClock
) -> None:
    """MTD-02."""
    subject, a, stop = detector(found, clock), foo("a"), threading.Event()
    subject.add(a)
    change_label(a)
    run = Background(lambda: subject.run(stop))
    clock.wait_for_waiters(1)
    clock.step(1.0)
    clock.wait_for_waiters(1)
    assert len(found) == 1
    stop.set()
    run.result()


def test_an_informer_uses_it_if_the_environment_asks_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """MTD-01, MTD-03: without a callback the main thread is interrupted."""
    interrupted = Notes()
    monkeypatch.setenv("KUBE_CACHE_MUTATION_DETECTOR", "true")
    monkeypatch.setattr("_thread.interrupt_main", lambda: interrupted("interrupted"))
    clock, recorder = FakeClock(), RecordingHandler()
    informer = SharedIndexInformer(FakeSource([foo("a")]), Foo, clock=clock)
    informer.add_event_handler(recorder)
    with running(informer):
        recorder.calls.wait_for_count(1)
        (cached,) = informer.indexer.list()
        change_label(cached)
        clock.wait_for(lambda: clock.next_deadline() == 1.0, TIMEOUT)
        clock.step(1.0)
        interrupted.wait_for_count(1)


@pytest.mark.parametrize("value", ["", "false", "0"])
def test_an_informer_does_without_it_otherwise(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """MTD-01."""
    monkeypatch.setenv("KUBE_CACHE_MUTATION_DETECTOR", value)
    informer = SharedIndexInformer(FakeSource(), Foo)
    with running(informer):
        names = [thread.name for thread in threading.enumerate()]
    assert not [name for name in names if "mutation" in name]
