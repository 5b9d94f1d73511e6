"""Runs a recorded case against a shared informer."""

from __future__ import annotations

import threading
from typing import Any

from clientgo.cache import (
    REAL_FIFO,
    DeletedFinalStateUnknown,
    FilteringHandler,
    InformerStateError,
    QueueChoice,
    RealFIFO,
    Registration,
    ResourceEventHandler,
    SharedIndexInformer,
    UnknownIndexError,
)
from clientgo.meta import GroupVersionKind, Unstructured, labels_of
from clientgo.util.clock import nanoseconds
from tests.vectors.durations import seconds
from tests.vectors.objects import reference
from tests.vectors.scripted_source import RestClock, ScriptedSource, check_calls

WIDGET = GroupVersionKind("example.com", "v1", "Widget")

WITHOUT_ATOMIC_FIFO = QueueChoice(
    lambda store, **options: RealFIFO(known_objects=store, **options), keeps_order=False
)
"""The queue of client-go's informers without that gate."""


class RecordingHandler(ResourceEventHandler[Any]):
    """Writes down what it is told, and hangs while it is blocked."""

    def __init__(self, clock: RestClock, *, with_times: bool) -> None:
        self._clock = clock
        self._with_times = with_times
        self._changed = threading.Condition()
        self.is_blocked = False
        self.calls: list[list[Any]] = []

    def block(self, blocked: bool) -> None:
        with self._changed:
            self.is_blocked = blocked
            self._changed.notify_all()

    def on_add(self, obj: Any, is_in_initial_list: bool) -> None:
        self._note("add", reference(obj), is_in_initial_list)

    def on_update(self, old: Any, new: Any) -> None:
        self._note("update", reference(old), reference(new))

    def on_delete(self, obj: Any) -> None:
        if isinstance(obj, DeletedFinalStateUnknown):
            last = obj.obj and reference(obj.obj)
            self._note("delete", {"tombstone": obj.key, "obj": last})
        else:
            self._note("delete", reference(obj))

    def _note(self, *call: Any) -> None:
        with self._changed:
            while self.is_blocked:
                self._clock.wait(self._changed, None)
            at = [nanoseconds(self._clock.monotonic())] if self._with_times else []
            self.calls.append([*call, *at])


class InformerReplay:
    """One case."""

    def __init__(self, config: dict[str, Any], *, with_times: bool) -> None:
        gates = config["feature_gates"]
        self._with_times = with_times
        self._clock = RestClock()
        self._source = ScriptedSource(self._clock)
        self._informer: SharedIndexInformer[Unstructured] = SharedIndexInformer(
            self._source,
            WIDGET,
            resync_period=seconds(config["default_resync_ns"]),
            indexers={name: INDEXERS[name] for name in config.get("indexers", [])},
            queue=REAL_FIFO if gates["AtomicFIFO"] else WITHOUT_ATOMIC_FIFO,
            stream_initial_list=gates["WatchListClient"],
            transform=append_t_and_refuse_bad if "transform" in config else None,
            clock=self._clock,
        )
        self._watch_errors: list[Exception] = []
        if config.get("watch_error_handler"):
            self._informer.set_watch_error_handler(self._watch_errors.append)
        self._handlers: dict[str, RecordingHandler] = {}
        self._registrations: dict[str, Registration] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._informer.run, args=(self._stop,), name="informer", daemon=True
        )

    def run(self, steps: list[dict[str, Any]]) -> None:
        try:
            for number, step in enumerate(steps):
                self._clear()
                try:
                    self._do(step["op"], step.get("args", {}), step["expect"])
                    self._check(step["expect"])
                except AssertionError as error:
                    said = f"step {number}: {step['op']} {step.get('args')}"
                    raise AssertionError(said) from error
        finally:
            for handler in self._handlers.values():
                handler.block(False)
            self._do("stop", {}, {})

    def _do(self, op: str, args: dict[str, Any], expect: dict[str, Any]) -> None:
        match op:
            case "start":
                self._thread.start()
            case "advance":
                self._clock.run_for(seconds(args["ns"]), self._is_at_rest)
            case "stop":
                self._end()
                return
            case "add_handler":
                assert self._add_handler(args) == expect["error"]
            case "remove_handler":
                self._informer.remove_event_handler(self._registrations[args["id"]])
            case "block_handler" | "release_handler":
                self._handlers[args["id"]].block(op == "block_handler")
            case "add_indexers":
                assert self._add_indexers(args["indexers"]) == bool(expect["error"])
            case "by_index":
                self._check_index(args, expect)
            case _:
                assert self._source.apply(op, args), op
        if self._thread.is_alive():
            self._clock.wait_for(self._is_at_rest)

    def _add_handler(self, args: dict[str, Any]) -> bool:
        """Add a handler; return whether that failed."""
        handler = RecordingHandler(self._clock, with_times=self._with_times)
        told: ResourceEventHandler[Any] = handler
        if "filter" in args:
            told = FilteringHandler(lambda obj: is_labelled(obj, args["filter"]), handler)
        period = seconds(args["resync_period_ns"]) if "resync_period_ns" in args else None
        try:
            registration = self._informer.add_event_handler(told, resync_period=period)
        except InformerStateError:
            return True
        self._handlers[args["id"]] = handler
        self._registrations[args["id"]] = registration
        return False

    def _add_indexers(self, names: list[str]) -> bool:
        try:
            self._informer.add_indexers({name: INDEXERS[name] for name in names})
        except (InformerStateError, ValueError):
            return True
        return False

    def _end(self) -> None:
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(30)
            assert not self._thread.is_alive(), "the informer did not stop"

    def _check_index(self, args: dict[str, Any], expect: dict[str, Any]) -> None:
        try:
            found = self._informer.indexer.by_index(args["index_name"], args["indexed_value"])
        except UnknownIndexError:
            assert expect["error"]
            return
        assert sorted(map(reference, found)) == sorted(expect["result"])

    def _check(self, expect: dict[str, Any]) -> None:
        if "has_synced" not in expect:
            return
        told = {name: handler.calls for name, handler in self._handlers.items() if handler.calls}
        check_told(told, expect.get("notifications", {}))
        check_calls(self._source.calls, expect.get("calls", []), times=False)
        informer = self._informer
        assert self._source.pending == expect["pending"]
        assert sorted(map(reference, informer.indexer.list())) == expect["store"]
        assert informer.has_synced() == expect["has_synced"]
        assert informer.last_sync_resource_version() == expect["last_sync_resource_version"]
        assert self._source.stopped_now == expect.get("watches_stopped", [])
        assert len(self._watch_errors) == len(expect.get("watch_errors", []))
        synced = {name: r.has_synced() for name, r in self._registrations.items()}
        assert synced == expect.get("handler_has_synced", {})

    def _is_at_rest(self) -> bool:
        statistics = self._informer.statistics()
        queue = statistics.queue
        return (
            self._source.nothing_is_under_way()
            and (queue is None or not (queue.pending or queue.in_flight))
            and (queue is None or queue.synced == statistics.synced)
            and all(self._is_idle(name) for name in self._handlers)
            and self._clock.everybody_waits()
        )

    def _is_idle(self, name: str) -> bool:
        is_blocked = self._handlers[name].is_blocked
        return is_blocked or not self._registrations[name].statistics().backlog

    def _clear(self) -> None:
        self._source.calls.clear()
        self._source.stopped_now.clear()
        self._watch_errors.clear()
        for handler in self._handlers.values():
            handler.calls.clear()


def append_t_and_refuse_bad(obj: Any) -> Any:
    """The recorded transform."""
    if obj.metadata.name == "bad":
        raise ValueError("bad")
    obj.metadata.resource_version += "t"
    return obj


def index_by_app(obj: Any) -> list[str]:
    return [app for app in [labels_of(obj).get("app")] if app is not None]


INDEXERS = {"by_app": index_by_app}


def is_labelled(obj: Any, label: str) -> bool:
    name, _, value = label.partition("=")
    return labels_of(obj).get(name) == value


def check_told(told: dict[str, list[Any]], expected: dict[str, list[Any]]) -> None:
    """Compare notifications; those in ``any_order`` may come in any."""
    assert told.keys() == expected.keys(), (told, expected)
    for name, calls in told.items():
        remaining = list(calls)
        for recorded in expected[name]:
            group = recorded["any_order"] if isinstance(recorded, dict) else [recorded]
            part, remaining = remaining[: len(group)], remaining[len(group) :]
            assert sorted(map(repr, part)) == sorted(map(repr, map(_plain, group))), calls
        assert not remaining


def _plain(recorded: Any) -> Any:
    """With the keys of a tombstone in our order."""
    return [
        {"tombstone": part["tombstone"], "obj": part["obj"]} if isinstance(part, dict) else part
        for part in recorded
    ]
