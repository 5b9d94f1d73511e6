"""Server-side apply does what client-go's field manager does, step by step."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clientgo.meta.errors import StatusError
from clientgo.meta.json_values import json_equal
from clientgo.meta.patches import upgrade_managed_fields, upgrade_managed_fields_patch
from clientgo.testcluster.fields.managed_fields import (
    DEDUCED,
    FieldManager,
    FieldType,
    ManagedFieldsError,
    TypedValueError,
)
from clientgo.testcluster.schema.field_types import builtin_field_type, schema_field_type
from tests.vectors.loader import params

_START = 946684800  # 2000-01-01T00:00:00Z
_WIDGET_SCHEMA = Path(__file__).parents[1] / "data/vectors/widget_schema.json"


@pytest.mark.parametrize("case", params("managed_fields"))
def test_managed_fields_are_kept_as_recorded(case: dict[str, Any]) -> None:
    replay = _Replay(**case["config"])
    for step in case["steps"]:
        args, expect = step.get("args", {}), step["expect"]
        before = copy.deepcopy(args)
        getattr(replay, step["op"])(expect, **args)
        assert args == before


class _Replay:
    def __init__(self, api_version: str, kind: str, schema: str) -> None:
        self._api_version, self._kind = api_version, kind
        self._types = _TYPE_LOOKUPS[schema]
        self._live: dict[str, Any] = {"apiVersion": api_version, "kind": kind}
        self._nanoseconds = 0

    def advance(self, expect: Any, ns: int) -> None:
        self._nanoseconds += ns

    def set_live(self, expect: Any, object: dict[str, Any]) -> None:  # noqa: A002
        self._live = object

    def apply(
        self,
        expect: Any,
        manager: str,
        object: dict[str, Any],  # noqa: A002
        force: bool,
        subresource: str = "",
    ) -> None:
        fields = self._manager(subresource)
        self._check(expect, lambda live: fields.apply(live, object, manager, force=force))

    def update(
        self,
        expect: Any,
        manager: str,
        object: dict[str, Any],  # noqa: A002
        subresource: str = "",
    ) -> None:
        fields = self._manager(subresource)
        self._check(expect, lambda live: fields.update(live, object, manager))

    def upgrade_managed_fields(
        self, expect: Any, csa_manager_names: list[str], ssa_manager_name: str
    ) -> None:
        entries = self._live["metadata"]["managedFields"]
        upgraded = upgrade_managed_fields(entries, csa_manager_names, ssa_manager_name)
        patch = upgrade_managed_fields_patch(self._live, csa_manager_names, ssa_manager_name)
        assert upgraded == expect["managed_fields"]
        assert patch == expect["patch"]

    def _manager(self, subresource: str) -> FieldManager:
        return FieldManager(
            api_version=self._api_version,
            kind=self._kind,
            types=self._types,
            subresource=subresource,
            now=lambda: _START + self._nanoseconds / 1e9,
        )

    def _check(self, expect: Any, write: Any) -> None:
        before = copy.deepcopy(self._live)
        error = expect["error"]
        if error is None:
            result = write(self._live)
            assert json_equal(result, expect["object"]), result
            assert self._live == before
            self._live = result
        elif "code" in error:
            with pytest.raises(StatusError) as raised:
                write(self._live)
            _check_status(raised.value, error)
        else:
            with pytest.raises((TypedValueError, ManagedFieldsError)):
                write(self._live)
        assert self._live == before or error is None


def _check_status(raised: StatusError, error: dict[str, Any]) -> None:
    assert (raised.code, raised.reason) == (error["code"], error["reason"])
    assert raised.message == error["message"]
    causes = [
        {"field": cause.field_, "message": cause.message, "reason": cause.reason}
        for cause in raised.status.details.causes
    ]
    assert sorted(causes, key=json.dumps) == sorted(error.get("causes", []), key=json.dumps)


def _widget_type(api_version: str, kind: str) -> FieldType | None:
    if (api_version, kind) != ("example.com/v1", "Widget"):
        return None
    return schema_field_type(json.loads(_WIDGET_SCHEMA.read_text(encoding="utf-8")))


_TYPE_LOOKUPS: dict[str, Callable[[str, str], FieldType | None]] = {
    "deduced": lambda _api_version, _kind: DEDUCED,
    "crd": _widget_type,
    "builtin": builtin_field_type,
}
