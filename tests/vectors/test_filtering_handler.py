"""The filtering handler behaves as client-go's, step by step."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.cache import FilteringHandler
from tests.vectors.informer_replay import RecordingHandler, check_told, is_labelled
from tests.vectors.loader import params
from tests.vectors.objects import decode
from tests.vectors.scripted_source import RestClock


@pytest.mark.parametrize("case", params("filtering_handler"))
def test_filtering_handler_behaves_as_recorded(case: dict[str, Any]) -> None:
    """EVH-03, EVH-04."""
    told = RecordingHandler(RestClock(), with_times=False)
    handler = FilteringHandler(lambda obj: is_labelled(obj, "pass=yes"), told)
    for step in case["steps"]:
        told.calls.clear()
        args = step["args"]
        match step["op"]:
            case "on_add":
                handler.on_add(decode(args["obj"]), args["is_in_initial_list"])
            case "on_update":
                handler.on_update(decode(args["old_obj"]), decode(args["new_obj"]))
            case "on_delete":
                handler.on_delete(decode(args["obj"]))
        check_told({"handler": told.calls}, {"handler": _calls_as_ours(step)})


def _calls_as_ours(step: dict[str, Any]) -> list[Any]:
    """A tombstone without an object passes; see `differences`."""
    match step:
        case {"op": "on_delete", "args": {"obj": {"tombstone": {"key": key, "obj": None}}}}:
            return [["delete", {"tombstone": key, "obj": None}]]
    return step["expect"]["calls"]
