"""Golden vectors: what client-go did, step by step, one JSON file a component.

A case is ``{"name", "config", "steps": [{"op", "args", "expect"}]}``. They are read from
tests/data/vectors, or from the directory that CLIENTGO_VECTORS names.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

_DIRECTORY = Path(os.environ.get("CLIENTGO_VECTORS") or Path(__file__).parents[1] / "data/vectors")


def load(name: str) -> list[dict[str, Any]]:
    """Return the cases of one component; none if the directory lacks its file."""
    path = _DIRECTORY / f"{name}.json"
    if not path.exists():
        return []
    return json.loads(path.read_text(encoding="utf-8"))["cases"]


def params(name: str) -> list[Any]:
    """Return the cases as pytest parameters that carry the case's name."""
    return [pytest.param(case, id=case["name"]) for case in load(name)]
