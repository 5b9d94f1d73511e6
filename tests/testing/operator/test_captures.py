"""The fixtures that show what an operator counted and logged."""

from __future__ import annotations

import logging

from clientgo.meta import ObjectMeta
from clientgo.operator import Context, Manager, controller
from clientgo.testing import FakeClock
from clientgo.testing.operator import FakeCluster, eventually, running
from clientgo.testing.operator.captures import LogCapture, MetricCapture
from tests.operator.world import Gadget, gadget


@controller(Gadget)
class Talking:
    def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None:
        ctx.log.info("looked", size=obj.spec.size)
        if obj.metadata.name == "bad":
            raise ValueError("bad")


def test_what_was_counted_and_logged_can_be_asserted(
    operator_metrics: MetricCapture, operator_logs: LogCapture
) -> None:
    """OP-TST-07: logs by the object that they are about."""
    # Time stands still, so what fails is not tried again.
    with FakeCluster(gadget(), gadget("bad"), clock=FakeClock()) as cluster:
        manager = Manager(
            cluster.operator_client(), metrics="0", metrics_provider=operator_metrics.provider
        )
        manager.register(Talking())
        with running(manager, cluster):
            eventually(lambda: operator_logs.messages(logging.WARNING, resource_name="bad"))
            eventually(lambda: operator_logs.messages(resource_name="a"))
            name = "controller_runtime_reconcile_total"
            eventually(lambda: operator_metrics.value(name, result="success") == 1)
            eventually(lambda: operator_metrics.value(name, result="error") == 1)
            assert operator_metrics.value(name) == 2
            assert operator_metrics.value("no_such_metric") == 0
    assert operator_logs.messages(logging.INFO, resource_name="a", size=1) == ["looked"]


def test_the_fixture_of_a_cluster_is_empty(fake_cluster: FakeCluster) -> None:
    """OP-TST-07"""
    from clientgo.api.core_v1 import ConfigMap

    assert fake_cluster.all(ConfigMap) == []
    fake_cluster.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
    assert fake_cluster.get(ConfigMap, "a") is not None
