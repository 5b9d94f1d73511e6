"""The dashboard and the alerts name metrics that the library exports."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

from clientgo.observe.metrics import Metric, names
from clientgo.operator import metrics as operator_metrics
from tests.docs.pages import DOCS

DASHBOARD = json.loads((DOCS / "production/dashboard.json").read_text())
ALERTS = yaml.safe_load((DOCS / "production/alerts.yaml").read_text())
PAGE = (DOCS / "production/metrics.md").read_text()

PROCESS = {"process_resident_memory_bytes", "process_cpu_seconds_total"}
"""Those of prometheus-client."""


def _exported() -> dict[str, tuple[str, ...]]:
    """Each time series of the library, with its labels."""
    found = {}
    for module in (names, operator_metrics):
        for metric in vars(module).values():
            if isinstance(metric, Metric):
                suffixes = ("_bucket", "_sum", "_count") if metric.buckets else ("",)
                found |= {metric.name + suffix: metric.labels for suffix in suffixes}
    return found


def _expressions(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        yield from (value for key, value in part.items() if key == "expr")
        part = list(part.values())
    if isinstance(part, list):
        for each in part:
            yield from _expressions(each)


def test_every_metric_of_the_dashboard_and_the_alerts_is_exported() -> None:
    exported = _exported()
    expressions = [*_expressions(DASHBOARD), *_expressions(ALERTS)]

    assert len(expressions) > 25
    for expression in expressions:
        named = set(re.findall(r"\b[a-z]+_[a-z_]+\b(?=[{\[ )]|$)", expression)) - {
            "histogram_quantile"
        }
        assert named, expression
        assert named <= exported.keys() | PROCESS, expression


def test_grouping_and_selecting_use_labels_that_the_metrics_have() -> None:
    exported = _exported()
    for expression in [*_expressions(DASHBOARD), *_expressions(ALERTS)]:
        metrics = [name for name in exported if re.search(rf"\b{name}\b", expression)]
        labels = {"job", "instance", "le"} | {label for name in metrics for label in exported[name]}
        used = re.findall(r"by \(([^)]*)\)", expression)
        grouped = {label.strip() for group in used for label in group.split(",")}
        selected = set(re.findall(r"[{,] *(\w+)=", expression))
        assert grouped | selected <= labels, expression


def test_the_page_names_metrics_that_are_exported() -> None:
    bases = {name.removesuffix("_bucket") for name in _exported()}
    whole = set(
        re.findall(
            r"`((?:workqueue|rest|reflector|informer|leader|clientgo|controller_runtime|operator)_[a-z_]+)`",
            PAGE,
        )
    )

    assert len(whole) > 10
    assert whole <= bases
    assert (
        f"[alerts.yaml](alerts.yaml) has {_word(len(ALERTS['groups'][0]['rules']))} rules" in PAGE
    )


def _word(number: int) -> str:
    return {10: "ten", 11: "eleven", 12: "twelve"}[number]
