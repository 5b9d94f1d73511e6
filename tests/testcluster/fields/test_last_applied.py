from __future__ import annotations

import json
from typing import Any

import pytest

from clientgo.testcluster.fields.managed_fields import DEDUCED, ApplyConflictError, FieldManager
from clientgo.testcluster.fields.managed_fields.last_applied import LAST_APPLIED

EMPTY = {"apiVersion": "example.com/v1", "kind": "Widget"}
MANAGER = FieldManager(
    api_version="example.com/v1", kind="Widget", types=lambda _version, _kind: DEDUCED
)


def widget(spec: dict[str, Any], last_applied: str | None = None) -> dict[str, Any]:
    annotations = {} if last_applied is None else {"annotations": {LAST_APPLIED: last_applied}}
    return {**EMPTY, "metadata": {"name": "w", **annotations}, "spec": spec}


def applied_by_client(spec: dict[str, Any], last_applied: str | None = None) -> dict[str, Any]:
    text = json.dumps(widget(spec)) if last_applied is None else last_applied
    return MANAGER.update(EMPTY, widget(spec, text), "kubectl-client-side-apply")


def test_kubectl_takes_over_what_client_side_apply_had_set() -> None:
    live = applied_by_client({"a": 1})

    live = MANAGER.apply(live, widget({"a": 2}), "kubectl")

    assert live["spec"] == {"a": 2}
    text = live["metadata"]["annotations"][LAST_APPLIED]
    assert text.endswith("\n")
    assert json.loads(text)["spec"] == {"a": 2}


def test_what_somebody_has_changed_since_is_a_conflict_all_the_same() -> None:
    live = applied_by_client({"a": 1, "b": 1})
    changed = widget({"a": 5, "b": 1}, live["metadata"]["annotations"][LAST_APPLIED])
    live = MANAGER.update(live, changed, "scaler")

    with pytest.raises(ApplyConflictError) as raised:
        MANAGER.apply(live, widget({"a": 2, "b": 2}), "kubectl")

    assert [conflict.manager.manager for conflict in raised.value.conflicts] == ["scaler"]


def test_other_managers_have_no_such_privilege() -> None:
    with pytest.raises(ApplyConflictError):
        MANAGER.apply(applied_by_client({"a": 1}), widget({"a": 2}), "somebody")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '"x"', json.dumps(widget({"a": 1}) | {"apiVersion": "example.com/v2"})],
)
def test_an_annotation_that_says_nothing_allows_nothing(text: str) -> None:
    with pytest.raises(ApplyConflictError):
        MANAGER.apply(applied_by_client({"a": 1}, text), widget({"a": 2}), "kubectl")


def test_an_annotation_that_would_be_too_long_is_dropped() -> None:
    live = applied_by_client({"a": 1})

    live = MANAGER.apply(live, widget({"a": 1, "long": "x" * 300_000}), "kubectl")

    assert LAST_APPLIED not in live["metadata"]["annotations"]


def test_markup_is_escaped_as_the_api_server_escapes_it() -> None:
    live = applied_by_client({"a": 1})

    live = MANAGER.apply(live, widget({"a": "<&>"}), "kubectl")

    assert r"\u003c\u0026\u003e" in live["metadata"]["annotations"][LAST_APPLIED]
