"""The reflector behaves as client-go's, step by step, with a plain store and with a queue."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from clientgo.cache import Delta, DeltaType, Reflector
from clientgo.meta import GroupVersionKind, object_key
from clientgo.util.clock import nanoseconds
from clientgo.util.wait import Backoff, BackoffManager, Reset
from tests.vectors.durations import seconds
from tests.vectors.informer_differences import reflector_steps
from tests.vectors.loader import params
from tests.vectors.objects import reference
from tests.vectors.scripted_source import RestClock, ScriptedSource, check_calls

WIDGET = GroupVersionKind("example.com", "v1", "Widget")
RESET_AFTER = 120.0


class RefusedError(Exception):
    """What the recorded store raises."""


class RecordingStore:
    """Applies and writes down what the reflector tells it."""

    def __init__(self, config: dict[str, Any], clock: RestClock) -> None:
        self._clock = clock
        self._fails_on = config.get("store_fails_on")
        self._resync_fails = config.get("store_resync_fails", False)
        self.objects: dict[str, Any] = {}
        self.ops: list[list[Any]] = []
        for name in config.get("store_optional_methods", []):
            setattr(self, name, self._noting(name))

    def add(self, obj: Any) -> None:
        self._note("add", reference(obj))
        self.objects[object_key(obj)] = obj

    def update(self, obj: Any) -> None:
        self._note("update", reference(obj))
        self.objects[object_key(obj)] = obj

    def delete(self, obj: Any) -> None:
        self._note("delete", reference(obj))
        self.objects.pop(object_key(obj), None)

    def replace(self, objs: Sequence[Any], version: str) -> None:
        self._note("replace", sorted(map(reference, objs)), version)
        self.objects = {object_key(obj): obj for obj in objs}

    def resync(self) -> None:
        self.ops.append(["resync", nanoseconds(self._clock.monotonic())])
        if self._resync_fails:
            raise RefusedError("resync")

    def _note(self, method: str, *args: Any) -> None:
        self.ops.append([method, *args])
        if method == self._fails_on:
            raise RefusedError(method)

    def _noting(self, name: str) -> Callable[[str], None]:
        return lambda version: self.ops.append([name, version])


class BatchStore(RecordingStore):
    """Takes what one read brings in at once, as a queue does."""

    def apply(self, changes: Sequence[Delta]) -> None:
        methods = {
            DeltaType.ADDED: self.add,
            DeltaType.UPDATED: self.update,
            DeltaType.DELETED: self.delete,
        }
        for change in changes:
            methods[change.type](change.object)


class ReflectorReplay:
    """One case."""

    def __init__(self, config: dict[str, Any], store_type: type[RecordingStore]) -> None:
        self.clock = RestClock()
        self.source = ScriptedSource(self.clock)
        self.store = store_type(config, self.clock)
        self._stop = threading.Event()
        self._ended: list[Exception | None] = []
        backoff = config["backoff"]
        self.reflector = Reflector(
            self.source,
            self.store,
            expected=WIDGET if config["expected_type"] else None,
            resync_period=seconds(config.get("resync_period_ns", 0)),
            should_resync=_should_resync(config.get("should_resync")),
            delays=BackoffManager(
                Backoff(
                    duration=seconds(backoff["duration_ns"]),
                    factor=backoff["factor"],
                    steps=backoff["steps"],
                    cap=seconds(backoff["cap_ns"]),
                ),
                RESET_AFTER,
                clock=self.clock,
                reset=Reset.AFTER_INTERVAL,
            ),
            page_size=config.get("watch_list_page_size", 0),
            internal_error_window=seconds(config.get("max_internal_error_retry_duration_ns", 0)),
            stream_initial_list=config["feature_gates"]["WatchListClient"],
            clock=self.clock,
        )
        run = self.reflector.run if config["mode"] == "run" else self.reflector.list_and_watch
        self._thread = threading.Thread(target=self._run, args=(run,), daemon=True)

    def run(self, steps: list[dict[str, Any]]) -> None:
        try:
            for number, step in enumerate(steps):
                self._clear()
                self._do(step["op"], step.get("args", {}))
                try:
                    self._check(step["expect"])
                except AssertionError as error:
                    raise AssertionError(
                        f"step {number}: {step['op']} {step.get('args')}"
                    ) from error
        finally:
            self._do("stop", {})

    def _do(self, op: str, args: dict[str, Any]) -> None:
        if op == "start":
            self._thread.start()
        elif op == "advance":
            self.clock.run_for(seconds(args["ns"]), self._is_at_rest)
        elif op == "stop":
            self._stop.set()
            self._thread.join(30)
            assert not self._thread.is_alive(), "the reflector did not stop"
            return
        else:
            assert self.source.apply(op, args), op
        self.clock.wait_for(self._is_at_rest)

    def _check(self, expect: dict[str, Any]) -> None:
        check_calls(self.source.calls, expect.get("calls", []), times=True)
        assert self.source.pending == expect["pending"]
        assert self.store.ops == expect.get("store_ops", [])
        assert sorted(map(reference, self.store.objects.values())) == expect["store"]
        assert self.reflector.last_sync_resource_version() == expect["last_sync_resource_version"]
        assert self.source.stopped_now == expect.get("watches_stopped", [])
        if "returned" in expect:
            assert [error is not None for error in self._ended] == [
                expect["returned"]["error"] is not None
            ]

    def _is_at_rest(self) -> bool:
        if self._ended:
            return True
        return self.source.nothing_is_under_way() and self.clock.everybody_waits()

    def _clear(self) -> None:
        self.source.calls.clear()
        self.source.stopped_now.clear()
        self.store.ops.clear()

    def _run(self, run: Callable[[threading.Event], None]) -> None:
        try:
            run(self._stop)
            self._ended.append(None)
        except Exception as error:
            self._ended.append(error)
        self.clock.poke()


def _should_resync(answers: str | None) -> Callable[[], bool] | None:
    if answers is None:
        return None
    if answers == "never":
        return lambda: False
    turns: Iterator[bool] = iter([False, True] * 1000)
    return lambda: next(turns)


@pytest.mark.parametrize("store_type", [RecordingStore, BatchStore])
@pytest.mark.parametrize("case", params("reflector"))
def test_reflector_behaves_as_recorded(
    case: dict[str, Any], store_type: type[RecordingStore]
) -> None:
    """RFL-02 to RFL-33, WLS-01 to WLS-11."""
    ReflectorReplay(case["config"], store_type).run(reflector_steps(case))
