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
from clientgo.meta import has_metadata
from tests.vectors.objects import decode, reference


class RefusedError(Exception):
    """What the recorded look-ups and process functions raise."""


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
        self._transforms = bool(config["transformer"])
        self._lists_are_syncs = config.get("emit_delta_type_replaced") is False

    def run(self, queue: Queue, steps: list[dict[str, Any]]) -> None:
        for number, step in enumerate(steps):
            if self._transforms and _is_refused(step):
                return  # see differences
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
                    getattr(queue, op)(self._decode(args["obj"]))
                case "replace":
                    objs = [self._decode(obj) for obj in args["objs"]]
                    queue.replace(objs, args["resource_version"])
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
        seen["deltas"] = [self._encode(delta) for delta in deltas]
        seen["is_in_initial_list"] = initial
        for call in args.get("during_process") or ():
            self._step(queue, call["op"], call["args"])
        seen["has_synced_during"] = queue.has_synced()
        if self._is_store:
            for delta in deltas:
                self.known_objects.take_in(delta)
        if args.get("process_error"):
            raise RefusedError

    def _decode(self, recorded: Any) -> Any:
        """Decode an object, transformed as it is before it comes to a queue of ours."""
        obj = decode(recorded)
        if self._transforms and has_metadata(obj):
            obj.metadata.resource_version += "t"
        return obj

    def _encode(self, delta: Delta) -> list[Any]:
        encoded = _encode(delta)
        if self._lists_are_syncs and delta.type is DeltaType.REPLACED:
            encoded[0] = DeltaType.SYNC  # see differences
        return encoded


def _is_refused(step: dict[str, Any]) -> bool:
    """Return True if the recorded transformer refuses an object of a step, or of those in it."""
    args = step.get("args") or {}
    objs = [*args.get("objs", ()), args.get("obj")]
    names = [obj["metadata"]["name"] for obj in objs if obj and "metadata" in obj]
    inner = args.get("during_process") or ()
    return any("bad" in name for name in names) or any(map(_is_refused, inner))


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
