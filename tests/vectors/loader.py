"""Golden vectors: what client-go did, step by step, one JSON file a component.

A case is ``{"name", "config", "steps": [{"op", "args", "expect"}]}``. They are read from
tests/data/vectors, or from the directory that CLIENTGO_VECTORS names. Steps that ask for what
clientgo leaves out on purpose (`differences.LEFT_OUT`) are not replayed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.vectors.differences import LEFT_OUT

_DIRECTORY = Path(os.environ.get("CLIENTGO_VECTORS") or Path(__file__).parents[1] / "data/vectors")


def load(name: str) -> list[dict[str, Any]]:
    """Return the cases of one component; none if the directory lacks its file."""
    path = _DIRECTORY / f"{name}.json"
    if not path.exists():
        return []
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
    left_out = LEFT_OUT.get(name, {})
    for case in cases:
        case["steps"] = [step for step in case["steps"] if step["op"] not in left_out]
    return [case for case in cases if case["steps"]]


def params(name: str) -> list[Any]:
    """Return the cases as pytest parameters that carry the case's name."""
    return [pytest.param(case, id=case["name"]) for case in load(name)]
