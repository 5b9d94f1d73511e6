"""Run reflectors and informers in tests, and record what they do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from clientgo.cache import DeletedFinalStateUnknown, ResourceEventHandler
from clientgo.util.wait import Backoff, BackoffManager
from tests.cache.builders import ref

TIMEOUT = 60.0
"""Real seconds after which a test that waits for something has failed."""


def no_delays() -> BackoffManager:
    """A back-off that hardly waits."""
    return BackoffManager(Backoff(duration=0.001))


class Runs(Protocol):
    def run(self, stop: threading.Event) -> None: ...


@contextmanager
def running(component: Runs) -> Iterator[threading.Event]:
    """Run it until the block ends or the event is set, and check that no thread is left."""
    before = set(threading.enumerate())
    stop = threading.Event()
    thread = threading.Thread(target=component.run, args=(stop,), daemon=True)
    thread.start()
    try:
        yield stop
    finally:
        stop.set()
        thread.join(TIMEOUT)
        assert not thread.is_alive(), "run() did not return after its stop was set"
        left = [t for t in threading.enumerate() if t not in before and t.name != "stop-watcher"]
        assert not left


class Notes:
    """Notes that other threads add and that the test waits for."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.notes: list[Any] = []

    def __call__(self, note: Any) -> None:
        with self._changed:
            self.notes.append(note)
            self._changed.notify_all()

    def wait_for(self, condition: Callable[[list[Any]], Any]) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: condition(self.notes), TIMEOUT):
                raise AssertionError(f"noted so far: {self.notes}")

    def wait_for_count(self, count: int) -> None:
        self.wait_for(lambda notes: len(notes) >= count)


class RecordingHandler(ResourceEventHandler[Any]):
    """Records the calls of a handler.

    ``+a@1``, ``+a@1!`` of the initial list, ``a@1→a@2``, ``-a@2``, ``†a@2`` for a tombstone.
    """

    def __init__(self) -> None:
        self.calls = Notes()

    @property
    def notes(self) -> list[str]:
        return self.calls.notes

    def on_add(self, obj: Any, is_in_initial_list: bool) -> None:
        self.calls(f"+{ref(obj)}{'!' if is_in_initial_list else ''}")

    def on_update(self, old: Any, new: Any) -> None:
        self.calls(f"{ref(old)}→{ref(new)}")

    def on_delete(self, obj: Any) -> None:
        if isinstance(obj, DeletedFinalStateUnknown):
            self.calls(f"†{ref(obj.obj)}")
        else:
            self.calls(f"-{ref(obj)}")


class RecordingStore:
    """A reflector's store that records its calls, as ``add a@1``."""

    def __init__(self) -> None:
        self.calls = Notes()
        self.fails_on: dict[str, Exception] = {}

    def add(self, obj: Any) -> None:
        self._note("add", ref(obj))

    def update(self, obj: Any) -> None:
        self._note("update", ref(obj))

    def delete(self, obj: Any) -> None:
        self._note("delete", ref(obj))

    def replace(self, objs: Any, version: str) -> None:
        self._note("replace", *map(ref, objs), f"at {version}")

    def resync(self) -> None:
        self._note("resync")

    def _note(self, method: str, *what: str) -> None:
        self.calls(" ".join((method, *what)))
        if method in self.fails_on:
            raise self.fails_on.pop(method)
