"""Controllers are found and referred to as client-go does it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clientgo.meta import GroupVersionKind, Unstructured
from clientgo.meta.owner_references import get_controller_of, is_controlled_by, new_controller_ref
from tests.vectors.loader import params


@pytest.mark.parametrize("case", params("owner_references"))
def test_owner_references_behave_as_recorded(case: dict[str, Any]) -> None:
    for step in case["steps"]:
        result = _FUNCTIONS[step["op"]](step["args"])
        assert result == step["expect"]["result"]


def _plain(reference: Any) -> Any:
    return msgspec.to_builtins(reference)


def _object(recorded: dict[str, Any]) -> Unstructured:
    return Unstructured.from_dict(recorded)


_FUNCTIONS = {
    "get_controller_of": lambda a: _plain(get_controller_of(_object(a["controllee"]))),
    "is_controlled_by": lambda a: is_controlled_by(_object(a["obj"]), _object(a["owner"])),
    "new_controller_ref": lambda a: _plain(
        new_controller_ref(
            _object(a["owner"]), GroupVersionKind(a["group"], a["version"], a["kind"])
        )
    ),
}
