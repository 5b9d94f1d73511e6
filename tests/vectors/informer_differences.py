"""The recorded steps of a reflector as ours are meant to be; the rules are in `differences`."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

_PAGE_SIZE = 500


def reflector_steps(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The steps of a case of the reflector with what ours does differently."""
    config, steps = case["config"], deepcopy(case["steps"])
    _name_tables(steps)
    _page_the_newest_list(steps)
    _call_nothing_once_stopped(steps)
    _keep_the_beat_of_resyncs(config, steps)
    if config.get("store_fails_on") == "replace":
        _stop_the_stream_of_a_refused_list(steps)
    elif "store_fails_on" in config:
        steps = _until_a_refused_event(config["store_fails_on"], steps)
    return steps


def informer_steps(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The steps of a case of the shared informer with what ours does differently."""
    steps = deepcopy(case["steps"])
    _page_the_newest_list(steps)
    _call_nothing_once_stopped(steps)
    if "transform" in case["config"] and case["config"]["feature_gates"]["WatchListClient"]:
        steps = _transformed_once(steps)
    return steps


def _name_tables(steps: list[dict[str, Any]]) -> None:
    """The recording shows all Tables under one group; what was logged tells them apart."""
    for step in steps:
        logged = step["expect"].get("handled_errors", [])
        if any(entry["message"] == "Unsupported watch event object gvk" for entry in logged):
            step["args"]["object"]["apiVersion"] = "meta.k8s.io/v1"


def _page_the_newest_list(steps: list[dict[str, Any]]) -> None:
    previous: dict[str, Any] = {}
    limit = None
    for call in (call for step in steps for call in step["expect"].get("calls", [])):
        if call["verb"] != "list":
            continue
        options = call["options"]
        if not options:
            # Without a version: the newest state, or the rest of a list whose token expired.
            limit = None if "continue" in previous else _PAGE_SIZE
        elif "continue" not in options:
            limit = options.get("limit")
        if limit is not None:
            options["limit"] = limit
        previous = options


def _call_nothing_once_stopped(steps: list[dict[str, Any]]) -> None:
    for step in steps:
        if step["op"] == "stop":
            step["expect"].pop("calls", None)


def _transformed_once(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The recorded transform appends a letter each time it is called."""
    transformed: list[dict[str, Any]] = json.loads(json.dumps(steps).replace('tt"', 't"'))
    return transformed


def _keep_the_beat_of_resyncs(config: dict[str, Any], steps: list[dict[str, Any]]) -> None:
    period = config.get("resync_period_ns")
    if not period or "should_resync" in config or config.get("store_resync_fails"):
        return
    first_sync: int | None = None
    previous = 0
    for step in steps:
        expect = step["expect"]
        ops = [op for op in expect.get("store_ops", []) if op[0] != "resync"]
        now = expect["now_ns"]
        if first_sync is not None:
            ticks = range(first_sync + period, now + 1, period)
            ops += [["resync", tick] for tick in ticks if tick > previous]
        elif any(op[0] == "replace" for op in ops):
            first_sync = now
        expect["store_ops"] = ops
        previous = now


def _stop_the_stream_of_a_refused_list(steps: list[dict[str, Any]]) -> None:
    watch = None
    for step in steps:
        if step["op"] == "respond_watch":
            watch = step["args"]["watch"]
        elif watch is not None and step["expect"].get("store_ops"):
            step["expect"]["watches_stopped"] = [watch]
            watch = None


def _until_a_refused_event(method: str, steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Up to the event, which ends the watch without its version having been reached."""
    watch, version = 0, ""
    for number, step in enumerate(steps):
        expect = step["expect"]
        if step["op"] == "respond_watch":
            watch = step["args"]["watch"]
        if any(op[0] == method for op in expect.get("store_ops", [])):
            expect["last_sync_resource_version"] = version
            expect["watches_stopped"] = [watch]
            return steps[: number + 1]
        version = expect["last_sync_resource_version"]
    return steps
