"""The metrics bear the names that dashboards know."""

from __future__ import annotations

from clientgo.observe.metrics import Metric, names

METRICS = [value for value in vars(names).values() if isinstance(value, Metric)]


def test_the_bounds_of_queue_durations_have_the_text_that_go_gives_them() -> None:
    """MET-01: bounds come from repeated multiplication, or dashboards see other `le` labels."""
    assert [repr(bound) for bound in names.WORKQUEUE_QUEUE_DURATION.buckets] == [
        "1e-08",
        "1e-07",
        "1e-06",
        "9.999999999999999e-06",
        "9.999999999999999e-05",
        "0.001",
        "0.01",
        "0.1",
        "1.0",
        "10.0",
    ]
    assert names.WORKQUEUE_WORK_DURATION.buckets == names.WORKQUEUE_QUEUE_DURATION.buckets


def test_every_metric_has_a_name_of_its_own_and_says_what_it_is() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS) > 20
    assert all(metric.help for metric in METRICS)


def test_the_queue_has_upstreams_seven_metrics() -> None:
    """MET-01."""
    upstream = {
        "workqueue_depth",
        "workqueue_adds_total",
        "workqueue_queue_duration_seconds",
        "workqueue_work_duration_seconds",
        "workqueue_unfinished_work_seconds",
        "workqueue_longest_running_processor_seconds",
        "workqueue_retries_total",
    }
    ours = {metric.name for metric in METRICS if metric.name.startswith("workqueue_")}

    assert ours - upstream == {
        "workqueue_delayed_items",
        "workqueue_flow_depth",
        "workqueue_flow_queue_duration_seconds",
    }
    assert upstream <= ours


def test_bucket_bounds_rise() -> None:
    for metric in METRICS:
        assert list(metric.buckets) == sorted(set(metric.buckets)), metric.name
