"""Writes to a status: what else they may change."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.server.kinds.builtin_strategies import StatusStrategy


@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        ("CronJob", set()),
        ("Deployment", {"labels"}),
        ("VolumeAttachment", {"labels", "annotations"}),
    ],
)
def test_a_write_to_a_status_keeps_some_metadata_of_some_kinds(kind: str, kept: set[str]) -> None:
    old: dict[str, Any] = {"metadata": {"labels": {"a": "1"}, "annotations": {"a": "1"}}, "spec": 1}
    new: dict[str, Any] = {"metadata": {"labels": {"a": "2"}, "annotations": {"a": "2"}}, "spec": 2}
    StatusStrategy("v1", kind).prepare_for_status_update(new, old)
    assert new["spec"] == 1
    assert {name for name, value in new["metadata"].items() if value == {"a": "1"}} == kept
