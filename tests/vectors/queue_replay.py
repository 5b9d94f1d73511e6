"""Replays the recorded steps of a queue of changes against ours."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.cache import (
    DeletedFinalStateUnknown,
    Delta,
    Deltas,
    DeltaType,
    Queue,
    meta_namespace_key,
)
from tests.vectors.objects import decode, reference


class RefusedError(Exception):
    """What the recorded transformer and process functions raise."""


class Known:
    """The consumer's store, with keys that are listed but missing, or whose look-up fails."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.objects = {meta_namespace_key(obj): obj for obj in map(decode, config["known"])}
        self._ghosts = config.get("known_ghost_keys") or []
        self._broken = config.get("known_error_keys") or []

    def list_keys(self) -> list[str]:
        return sorted([*self.objects, *self._ghosts, *self._broken])

    def get_by_key(self, key: str) -> Any | None:
        if key in self._broken:
            raise RefusedError(key)
        return self.objects.get(key)

    def take_in(self, delta: Delta) -> None:
        if delta.type is DeltaType.DELETED:
            self.objects.pop(_key(delta.object), None)
        elif delta.type not in (DeltaType.SYNC_ALL, DeltaType.BOOKMARK):
            self.objects[meta_namespace_key(delta.object)] = delta.object


class QueueReplay:
    def __init__(self, config: dict[str, Any]) -> None:
        kind = config["known_objects"]
        self.known_objects = None if kind == "none" else Known(config)
        self._is_store = kind == "store"
        self.transformer = _append_t if config["transformer"] else None

    def run(self, queue: Queue, steps: list[dict[str, Any]]) -> None:
        for number, step in enumerate(steps):
            seen = self._step(queue, step["op"], step.get("args") or {})
            expected = dict(step["expect"])
            assert bool(seen.pop("error", None)) is bool(expected.pop("error", None)), (
                number,
                step,
                seen,
            )
            assert {name: seen.get(name) for name in expected} == expected, (number, step)

    def _step(self, queue: Queue, op: str, args: dict[str, Any]) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        try:
            match op:
                case "add" | "update" | "delete":
                    getattr(queue, op)(decode(args["obj"]))
                case "replace":
                    queue.replace([decode(obj) for obj in args["objs"]], args["resource_version"])
                case "resync" | "close":
                    getattr(queue, op)()
                case "bookmark":
                    queue.bookmark(args["resource_version"])
                case "pop":
                    queue.pop(
                        lambda deltas, initial: self._process(queue, args, seen, [deltas], initial)
                    )
                case "pop_batch":
                    self._pop_batch(queue, args, seen)
                case _:
                    pytest.fail(f"unknown operation {op}")
        except Exception as error:
            seen["error"] = error
        seen["has_synced"] = queue.has_synced()
        seen["is_closed"] = queue.is_closed()
        return seen

    def _pop_batch(self, queue: Queue, args: dict[str, Any], seen: dict[str, Any]) -> None:
        def process_batch(batch: list[Deltas], initial: bool) -> None:
            seen["mode"] = "batch"
            self._process(queue, args, seen, batch, initial)

        def process_single(deltas: Deltas, initial: bool) -> None:
            seen["mode"] = "single"
            self._process(queue, args, seen, [deltas], initial)

        queue.pop_batch(process_batch, process_single)

    def _process(
        self,
        queue: Queue,
        args: dict[str, Any],
        seen: dict[str, Any],
        batch: list[Deltas],
        initial: bool,
    ) -> None:
        deltas = [delta for deltas in batch for delta in deltas]
        seen["deltas"] = [_encode(delta) for delta in deltas]
        seen["is_in_initial_list"] = initial
        for call in args.get("during_process") or ():
            self._step(queue, call["op"], call["args"])
        seen["has_synced_during"] = queue.has_synced()
        if self._is_store:
            for delta in deltas:
                self.known_objects.take_in(delta)
        if args.get("process_error"):
            raise RefusedError


def _append_t(obj: Any) -> Any:
    if obj.metadata.name.find("bad") >= 0:
        raise RefusedError(obj)
    obj.metadata.resource_version += "t"
    return obj


def _key(obj: Any) -> str:
    return obj.key if isinstance(obj, DeletedFinalStateUnknown) else meta_namespace_key(obj)


def _encode(delta: Delta) -> list[Any]:
    obj = delta.object
    match delta.type:
        case DeltaType.REPLACED_ALL:
            return [delta.type, obj.resource_version, [reference(o) for o in obj.objects]]
        case DeltaType.SYNC_ALL:
            return [delta.type]
        case DeltaType.BOOKMARK:
            return [delta.type, obj]
    if isinstance(obj, DeletedFinalStateUnknown):
        version = None if obj.obj is None else obj.obj.metadata.resource_version
        return [delta.type, obj.key, version, "tombstone"]
    return [delta.type, meta_namespace_key(obj), obj.metadata.resource_version]
