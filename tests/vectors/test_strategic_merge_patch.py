"""Strategic merge patches apply and are created as client-go does it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from clientgo.meta.json_values import json_equal
from clientgo.meta.patches import (
    PatchError,
)
from clientgo.testcluster.fields.strategic_merge import (
    apply_strategic_merge_patch,
)
from clientgo.testcluster.schema.openapi import OpenAPIType, builtin_type
from tests.vectors.loader import params


@pytest.mark.parametrize("case", params("strategic_merge_patch"))
def test_strategic_merge_patch_behaves_as_recorded(case: dict[str, Any]) -> None:
    for step in case["steps"]:
        args, expect = step["args"], step["expect"]
        before = copy.deepcopy(args)
        assert step["op"] == "strategic_merge_patch"
        if expect["error"]:
            with pytest.raises(PatchError):
                _run(args)
        else:
            result = _run(args)
            assert json_equal(result, expect["result"]), result
        assert args == before


def _run(args: dict[str, Any]) -> dict[str, Any]:
    schema = _type_of(args["kind"])
    return apply_strategic_merge_patch(args["original"], args["patch"], schema)


def _type_of(kind: str) -> OpenAPIType:
    for api_version in ("v1", "apps/v1", "batch/v1"):
        if found := builtin_type(api_version, kind):
            return found
    raise AssertionError(kind)
