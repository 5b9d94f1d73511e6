"""Tables: durations and columns."""

from __future__ import annotations

import pytest

from clientgo.testcluster.server.kinds.columns.table import columns_for
from clientgo.testcluster.server.resources.columns import human_duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (187, "3m7s"),
        (600, "10m"),
        (3 * 3600, "3h"),
        (5 * 3600 + 60, "5h1m"),
        (9 * 3600, "9h"),
        (48 * 3600, "2d"),
        (50 * 3600, "2d2h"),
        (10 * 86400, "10d"),
        (3 * 365 * 86400, "3y"),
        (-5, "<invalid>"),
    ],
)
def test_durations_become_coarser_the_longer_they_are(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text


def test_a_deployment_shows_how_many_of_its_replicas_are_ready() -> None:
    deployment = {
        "metadata": {"name": "web"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}},
        "status": {"readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1},
    }

    columns = {item.name: item.cell(deployment) for item in columns_for("apps/v1", "deployments")}

    assert [columns[name] for name in ("Ready", "Up-to-date", "Available")] == ["2/3", 3, 1]
    assert columns["Selector"] == "app=web"


def test_kinds_without_columns_show_their_creation() -> None:
    names = [item.name for item in columns_for("example.com/v1", "others")]

    assert names == ["Name", "Created At"]
