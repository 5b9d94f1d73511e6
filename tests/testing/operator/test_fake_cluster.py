"""A manager on a cluster that misbehaves on command."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from clientgo.api.core_v1 import ConfigMap
from clientgo.meta import (
    ConflictError,
    InternalServerError,
    NotFoundError,
    ObjectMeta,
    TooManyRequestsError,
)
from clientgo.operator import Context, LeaderElection, Manager, Result, controller, retry
from clientgo.operator.addons.dependents import Dependent
from clientgo.operator.errors import LeadershipLostError
from clientgo.testing import FakeClock
from clientgo.testing.operator import FakeCluster, assert_stable, eventually, running
from tests.operator.world import Gadget, GadgetStatus, Part, gadget


@controller(Gadget, owns=[ConfigMap])
class Keeping:
    """Keeps a ConfigMap for each gadget, and counts its runs."""

    def __init__(self) -> None:
        self.runs = 0

    def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> Result:
        self.runs += 1
        metadata = ObjectMeta(name=obj.metadata.name, namespace=obj.metadata.namespace)
        wanted = ConfigMap(metadata=metadata, data={"size": str(obj.spec.size)})
        ctx.client.create_or_update(ctx.own(wanted))
        obj.status = GadgetStatus(ready=obj.spec.size)
        return Result.status(obj)


def is_kept(cluster: FakeCluster) -> bool:
    """Whether every gadget has its ConfigMap, and says so."""
    return all(
        (found := cluster.get(ConfigMap, one.metadata.name)) is not None
        and found.data == {"size": str(one.spec.size)}
        and one.status is not None
        and one.status.ready == one.spec.size
        for one in cluster.all(Gadget)
    )


def manager_of(cluster: Any = None, **settings: Any) -> Manager:
    """As a generated project has it."""
    manager = Manager(cluster, **settings)
    manager.register(Keeping(), retry=retry.generic(initial=0.01, max_interval=0.1))
    return manager


def test_a_manager_runs_for_the_length_of_a_block() -> None:
    """OP-TST-01, OP-TST-04: what it asked is noted, what the test asks is not."""
    before = threading.active_count()
    with FakeCluster(gadget()) as cluster:
        with running(manager_of, cluster):
            eventually(lambda: is_kept(cluster))
        assert cluster.writes() == ["create configmaps default/a", "patch gadgets/status default/a"]
        cluster.delete(gadget())
        assert eventually(lambda: not cluster.all(ConfigMap))
    assert threading.active_count() <= before


def test_two_managers_of_one_class_run_beside_each_other() -> None:
    """OP-MGR-25: what the class declares is not the first manager's alone."""
    with (
        FakeCluster(gadget()) as cluster,
        running(manager_of, cluster),
        running(manager_of, cluster),
    ):
        assert_stable(cluster, lambda: is_kept(cluster), quiet=0.2)


def test_a_manager_that_is_there_already_is_run_too() -> None:
    """OP-TST-04"""
    with FakeCluster(gadget()) as cluster:
        manager = manager_of(cluster.operator_client(), metrics="0")
        with running(manager, cluster) as same:
            assert same is manager
            eventually(lambda: is_kept(cluster))


@pytest.mark.parametrize(
    "error",
    [InternalServerError.of("no"), TooManyRequestsError.of("later"), ConflictError.of("changed")],
    ids=lambda error: type(error).__name__,
)
def test_a_controller_gets_there_whatever_requests_fail(error: Any) -> None:
    """OP-TST-06: the second write of ConfigMaps and the first of statuses fail."""
    with FakeCluster(gadget(), gadget("b")) as cluster:
        fault = cluster.fail("create", ConfigMap, error, after=1)
        of_status = cluster.fail("patch", Gadget, error, status=True)
        with running(manager_of, cluster):
            assert_stable(cluster, lambda: is_kept(cluster), quiet=0.2)
            assert cluster.server.struck(fault) == 1
            assert cluster.server.struck(of_status) == 1


def test_a_controller_settles_after_watches_were_late_and_dropped() -> None:
    """OP-TST-04, OP-TST-06: with caches that do not know what it wrote, or what others did."""
    with FakeCluster(gadget()) as cluster, running(manager_of, cluster):
        eventually(lambda: is_kept(cluster))
        with cluster.stale(ConfigMap), cluster.stale(Gadget):
            cluster.patch(gadget(), {"spec": {"size": 2}})
            cluster.delete(cluster.get(ConfigMap, "a"))
        cluster.drop_watches(ConfigMap)
        cluster.delay_watch(Gadget, 0.1)
        cluster.patch(gadget(), {"spec": {"size": 3}})
        assert_stable(cluster, lambda: is_kept(cluster), quiet=0.2)


def test_a_controller_that_never_rests_is_found_out() -> None:
    """OP-TST-04: it is where it should be, and goes on writing."""

    class Restless(Keeping):
        def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> Result:
            result = super().reconcile(ctx, obj)
            labels = {"run": str(self.runs)}
            made = ctx.client.get(ConfigMap, obj.metadata.name, "default")
            ctx.client.patch(made, {"metadata": {"labels": labels}})
            return result.after(0.01)

    with FakeCluster(gadget()) as cluster:
        manager = Manager(cluster.operator_client(), metrics="0")
        manager.register(Restless(), retry=retry.none())
        with (
            running(manager, cluster),
            pytest.raises(AssertionError, match=r"still writing after 0\.5 s, the latest: patch"),
        ):
            assert_stable(cluster, lambda: True, within=0.5, quiet=60)


def test_a_fake_clock_drives_what_the_manager_waits_for() -> None:
    """OP-TST-03: ten hours are a step."""
    clock = FakeClock(start=1000.0)
    with FakeCluster(gadget(), clock=clock) as cluster:
        keeping = Keeping()
        manager = Manager(cluster.operator_client(), metrics="0", clock=clock)
        manager.register(keeping, retry=retry.generic())
        with running(manager, cluster):
            eventually(lambda: keeping.runs == 1 and manager.health()[0].queue.waiting)
            clock.step(36000)
            eventually(lambda: keeping.runs == 2)


def test_a_stolen_lease_ends_the_manager() -> None:
    """OP-TST-06, OP-LE-06"""
    with FakeCluster(gadget()) as cluster:
        election = LeaderElection(id="lock", namespace="default", lease=60, renew=40, retry=0.1)
        manager = manager_of(cluster.operator_client(), metrics="0", leader_election=election)
        manager.add_runnable(lambda stop: cluster.steal_lease("lock"), name="thief")
        with pytest.raises(LeadershipLostError):
            manager.run(signals=False)


def test_what_is_not_there_is_none() -> None:
    """OP-TST-01"""
    with FakeCluster(crds=[Gadget]) as cluster:
        assert cluster.get(Gadget, "a") is None
        assert cluster.all(Gadget) == []
        with pytest.raises(NotFoundError):
            cluster.delete(gadget())


class Piece(Dependent[Part, Gadget]):
    kind = Part

    def desired(self, ctx: Context[Gadget], primary: Gadget) -> Part:
        return Part(metadata=ObjectMeta(name=primary.metadata.name))


@controller(Gadget, dependents=[Piece])
class Declaring:
    def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None: ...


def declaring(cluster: Any = None, **settings: Any) -> Manager:
    manager = Manager(cluster, **settings)
    manager.register(Declaring(), retry=retry.generic(initial=0.01, max_interval=0.1))
    return manager


def test_a_fault_that_met_no_request_fails_the_test_and_says_what_was_sent() -> None:
    """OP-TST-06: a Dependent is applied, which is a patch, even if that creates it."""
    error = InternalServerError.of("no")

    def block() -> None:
        with FakeCluster(gadget(), crds=[Part]) as cluster:
            cluster.fail("create", Part, error, after=1)
            cluster.fail("delete", ConfigMap, error)
            cluster.fail("delete", Gadget, error, optional=True)
            cluster.fail("write", Part, error)
            with running(declaring, cluster):
                eventually(lambda: cluster.get(Part, "a"))

    with pytest.raises(AssertionError) as missed:
        block()
    first, second = str(missed.value).splitlines()
    assert "no request: create parts after 1. The operator sent" in first
    assert "2 patch (an apply is a patch)" in first
    assert "delete configmaps. The operator sent none about this resource" in second


def test_a_fault_for_an_object_that_only_its_status_would_meet_says_so() -> None:
    """OP-TST-06"""

    @controller(Gadget)
    class Reporting:
        def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> Result:
            obj.status = GadgetStatus(ready=1)
            return Result.status(obj)

    def is_reported(cluster: FakeCluster) -> bool:
        (found,) = cluster.all(Gadget)
        return found.status.ready == 1

    def block() -> None:
        with FakeCluster(gadget()) as cluster:
            cluster.fail("patch", Gadget, InternalServerError.of("no"))
            manager = Manager(cluster.operator_client(), metrics="0")
            manager.register(Reporting())
            with running(manager, cluster):
                eventually(lambda: is_reported(cluster))

    with pytest.raises(AssertionError, match=r"1 patch/status \(status=True is for"):
        block()


def test_a_test_that_fails_says_so_itself() -> None:
    """OP-TST-06: a fault that has met no request then is not reported."""

    def block() -> None:
        with FakeCluster() as cluster:
            cluster.fail("create", ConfigMap, InternalServerError.of("no"))
            raise KeyError

    with pytest.raises(KeyError):
        block()


def test_a_verb_that_no_request_has_is_refused() -> None:
    """OP-TST-06"""
    with FakeCluster() as cluster:
        with pytest.raises(ValueError, match="'apply'; an apply is a patch: use write, get"):
            cluster.fail("apply", ConfigMap, InternalServerError.of("no"))
        error: Any = InternalServerError
        with pytest.raises(TypeError, match=r"pass an error, as InternalServerError.of\('no'\)"):
            cluster.fail("create", ConfigMap, error)
        with pytest.raises(ValueError, match="no request has the verb 'post'"):
            cluster.fail("post", ConfigMap, InternalServerError.of("no"))
