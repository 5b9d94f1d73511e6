"""Strategic merge patches apply and are created as client-go does it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from clientgo.meta.json_values import json_equal
from clientgo.meta.patches import (
    PatchConflictError,
    PatchError,
)
from clientgo.testcluster.fields.strategic_merge import (
    apply_strategic_merge_patch,
    create_strategic_merge_patch,
    create_three_way_strategic_merge_patch,
)
from clientgo.testcluster.schema.openapi import OpenAPIType, builtin_type
from tests.vectors.loader import params


@pytest.mark.parametrize("case", params("strategic_merge_patch"))
def test_strategic_merge_patch_behaves_as_recorded(case: dict[str, Any]) -> None:
    for step in case["steps"]:
        args, expect = step["args"], step["expect"]
        before = copy.deepcopy(args)
        if expect["error"] == "conflict":
            with pytest.raises(PatchConflictError):
                _run(step["op"], args)
        elif expect["error"]:
            with pytest.raises(PatchError):
                _run(step["op"], args)
        else:
            result = _run(step["op"], args)
            assert json_equal(result, expect["result"]), result
        assert args == before


def _run(op: str, args: dict[str, Any]) -> dict[str, Any]:
    schema = _type_of(args["kind"])
    match op:
        case "strategic_merge_patch":
            return apply_strategic_merge_patch(args["original"], args["patch"], schema)
        case "create_two_way_merge_patch":
            return create_strategic_merge_patch(args["original"], args["modified"], schema)
        case "create_three_way_merge_patch":
            return create_three_way_strategic_merge_patch(
                args["original"],
                args["modified"],
                args["current"],
                schema,
                overwrite=args["overwrite"],
            )
    raise AssertionError(op)


def _type_of(kind: str) -> OpenAPIType:
    for api_version in ("v1", "apps/v1", "batch/v1"):
        if found := builtin_type(api_version, kind):
            return found
    raise AssertionError(kind)
