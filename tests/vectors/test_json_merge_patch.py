"""JSON merge patches apply, are created and composed as client-go does it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from clientgo.meta.json_values import json_equal
from clientgo.meta.patches import (
    PatchError,
    apply_merge_patch,
    create_merge_patch,
)
from tests.vectors.loader import params

_FUNCTIONS = {
    "merge_patch": lambda a: apply_merge_patch(a["doc"], a["patch"]),
    "create_merge_patch": lambda a: create_merge_patch(a["original"], a["modified"]),
}


@pytest.mark.parametrize("case", params("json_merge_patch"))
def test_json_merge_patch_behaves_as_recorded(case: dict[str, Any]) -> None:
    for step in case["steps"]:
        args, expect = step["args"], step["expect"]
        function, before = _FUNCTIONS[step["op"]], copy.deepcopy(args)
        if expect["error"] or expect.get("conflict"):
            with pytest.raises(PatchError):
                function(args)
        else:
            result = function(args)
            assert json_equal(result, expect["result"]), result
        assert args == before
