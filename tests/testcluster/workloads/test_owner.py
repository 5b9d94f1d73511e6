"""What controllers of workloads have in common."""

from __future__ import annotations

from typing import Any

from clientgo.api.core_v1 import ConfigMap, Secret
from clientgo.meta import ObjectMeta
from clientgo.operator import Manager, controller
from clientgo.testcluster.workloads.controllers.owner import OWNER, Owner, Plan, owner_uid
from clientgo.testcluster.workloads.randomness import Randomness
from clientgo.testing.operator import run_once


@controller(Secret, owns=[ConfigMap])
class Annotating(Owner[Secret]):
    """Changes an object that it has seen, and that is gone."""

    owned = ConfigMap

    def setup(self, manager: Manager) -> None:
        manager.index(ConfigMap, OWNER, owner_uid)

    def plan(self, ctx: Any, obj: Secret, owned: list[Any]) -> Plan:
        gone = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"))
        return Plan(changes=[(gone, {"data": {"a": "1"}})])


def test_an_object_that_is_gone_is_no_failure() -> None:
    """Its end runs the owner again; a user of the cluster in memory saw a traceback."""
    record = run_once(Annotating(Randomness(0)), Secret(metadata=ObjectMeta(name="a")))

    assert record.error is None
    assert record.next_look == 1.0
