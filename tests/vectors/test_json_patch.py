"""JSON patches apply as the API server's library applies them."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from clientgo.meta.patches import PatchError, apply_json_patch
from tests.vectors.loader import params


@pytest.mark.parametrize("case", params("json_patch"))
def test_json_patch_applies_as_recorded(case: dict[str, Any]) -> None:
    for step in case["steps"]:
        document, patch = step["args"]["doc"], step["args"]["patch"]
        before = copy.deepcopy((document, patch))
        if step["expect"]["error"]:
            with pytest.raises(PatchError):
                apply_json_patch(document, patch)
        else:
            result = apply_json_patch(document, patch)
            assert _encoded(result) == _encoded(step["expect"]["result"])
        assert (document, patch) == before


def _encoded(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
