"""Replicas of which one works: what a standby does, and how leadership ends."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clientgo.api.coordination_v1 import Lease
from clientgo.api.core_v1 import ConfigMap
from clientgo.api.events_v1 import Event
from clientgo.client import Client
from clientgo.leaderelection import Leadership
from clientgo.meta import ObjectMeta
from clientgo.observe.metrics.prometheus import PrometheusProvider
from clientgo.operator import Context, LeaderElection, Manager
from clientgo.operator.errors import ConfigError, LeadershipLostError, ShutdownTimeoutError
from clientgo.operator.manager.leader import Leader, check_lease_permissions
from clientgo.rest import RestConfig
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.requests import reviews
from clientgo.testing import FakeClock
from tests.leases import let_lease_end_soon
from tests.operator.pages import ask
from tests.operator.world import PATIENCE, Gadget, Part, Recording, World, gadget, part

PROMPT = LeaderElection(id="replicas", namespace="default", lease=60, renew=40, retry=0.2)
"""Notices a change soon, and does not lose its Lease on a busy machine."""


@pytest.fixture
def replicas(make_world: Callable[..., World]) -> Callable[..., World]:
    """Makes a world whose manager is one of several replicas."""

    def make(*objects: Any, election: LeaderElection = PROMPT, **settings: Any) -> World:
        return make_world(*objects, leader_election=election, real_time=True, **settings)

    return make


def another(world: World, **settings: Any) -> Manager:
    """A further replica of a world's manager."""
    config = RestConfig(server=world.server.url, qps=-1)
    return Manager(Client(config), metrics="0", **{"leader_election": PROMPT, **settings})


def lease(world: World) -> Any:
    return world.get(Lease, "replicas").spec


def wait_until(condition: Callable[[], object], what: str) -> None:
    """For what the API server alone knows, and tells nobody of."""
    give_up = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < give_up, f"expected {what}"
        time.sleep(0.01)


# What is asked for


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": ""},
        {"lease": 10, "renew": 10},
        {"renew": 1.2, "retry": 1.0},
        {"lease": "15s"},
    ],
)
def test_an_election_that_cannot_work_is_refused(wrong: dict[str, Any]) -> None:
    """OP-LE-01, OP-LE-04"""
    election = replace(LeaderElection(id="x", namespace="y"), **wrong)
    with pytest.raises(ConfigError):
        Manager("http://127.0.0.1:1", metrics="0", leader_election=election)


def test_the_usual_durations() -> None:
    """OP-LE-04, OP-MGR-01, OP-LE-05"""
    election = LeaderElection(id="x")
    assert (election.lease, election.renew, election.retry) == (15, 10, 2)
    assert election.release_on_cancel, "a rolling update does not wait for the lease to expire"


def test_the_namespace_of_the_lease_is_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    """OP-LE-02"""
    for name in ("POD_NAMESPACE", "NAMESPACE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match="POD_NAMESPACE"):
        Manager("http://127.0.0.1:1", metrics="0", leader_election=LeaderElection(id="x"))


def test_an_identity_is_the_host_and_something_unique(replicas: Callable[..., World]) -> None:
    """OP-LE-03, OP-LE-01: it is what the Lease names."""
    world = replicas()
    with world.running():
        assert world.manager.elected.wait(PATIENCE)
        holder = lease(world).holder_identity
    assert re.fullmatch(r".+_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", holder)


def test_permissions_that_are_missing_are_told_at_the_start(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-LE-09"""

    def granting(*rules: dict[str, Any], incomplete: bool = False) -> None:
        status = {"resourceRules": list(rules), "nonResourceRules": [], "incomplete": incomplete}
        answer = reviews.review_verb(lambda _call, _spec: status)
        name = ("authorization.k8s.io", "selfsubjectrulesreviews")
        monkeypatch.setitem(reviews.ANSWERED, name, answer)

    leases = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    granting({**leases, "verbs": ["get", "create"], "resourceNames": ["replicas"]})
    with pytest.raises(ConfigError, match="may not create, update lease default/replicas"):
        check_lease_permissions(world.client, "default", "replicas")
    granting(
        {**leases, "verbs": ["create"]},
        {**leases, "verbs": ["get", "update"], "resourceNames": ["replicas"]},
    )
    check_lease_permissions(world.client, "default", "replicas")
    granting(incomplete=True)
    check_lease_permissions(world.client, "default", "replicas")
    granting()
    with pytest.raises(ConfigError, match="get, create, update"):
        another(world).start()


# Standing by


def test_a_standby_is_warm_and_serves_and_does_not_work(replicas: Callable[..., World]) -> None:
    """OP-LE-07, OP-LE-11, OP-HLT-06, OP-MGR-14, OP-MGR-12: nor does its stop start anything."""
    leader = replicas(gadget(), part())
    leading, standing, everywhere = Recording(), Recording(), Recording()
    leader.register(leading)
    standby = another(leader, health="127.0.0.1:0")
    standby.controller(Gadget).build(standing)
    standby.controller(Part).options(needs_leadership=False).build(everywhere)
    started = threading.Event()
    standby.add_runnable(lambda _stop: started.set())
    with leader.running():
        leading.wait_for_runs(1)
        with standby:
            everywhere.wait_for_runs(1)
            assert standby.client.get(Gadget, "a", "default")
            assert standby.controllers()[0].health().queue.ready == 1
            assert ask(f"{standby.bound.health}/readyz") == (200, "ok")
            assert not standby.elected.is_set()
    assert not standing.runs
    assert not started.is_set(), "not at the stop either"


def test_sources_may_wait_for_leadership_too(replicas: Callable[..., World]) -> None:
    """OP-LE-07: with warmup=False nothing is listed before."""
    leader, recording = replicas(gadget()), Recording()
    cold = another(leader, health="127.0.0.1:0")
    cold.controller(Gadget).options(warmup=False).build(recording)
    leader.manager.start()
    assert leader.manager.elected.wait(PATIENCE)
    with cold:
        (health,) = cold.health()
        assert not any(source.synced for source in health.sources)
        assert ask(f"{cold.bound.health}/readyz") == (200, "ok")
        leader.manager.stop()
        recording.wait_for_runs(1)


def test_an_edit_after_a_failover_comes_before_what_has_waited(
    replicas: Callable[..., World],
) -> None:
    """OP-CTL-06, OP-LE-07: a standby has seen every change that the leader worked off. What is
    edited once it leads waits for none of them, and nor does what is being deleted."""
    names = [f"g{number}" for number in range(20)]
    first = replicas(*(gadget(name) for name in names))
    first.create(gadget("leaving", finalizers=["example.com/held"]))
    leads = Recording()
    first.register(leads)
    began, release = threading.Event(), threading.Event()

    def wait(_ctx: Context[Any], _obj: Any) -> None:
        began.set()
        assert release.wait(PATIENCE)

    follows = Recording(wait)
    second = another(first)
    (controller,) = [second.controller(Gadget).build(follows)]
    first.manager.start()
    leads.wait_for_runs(len(names) + 1)
    with second:
        for name in names:
            first.patch(gadget(name), {"spec": {"size": 2}})
        first.delete(gadget("leaving"))
        first.create(gadget("late"))
        wait_until(lambda: second.client.find(Gadget, "late", "default"), "that it was seen")
        depths = controller.queue.depths
        wait_until(lambda: depths() == {-100: len(names) + 1, 0: 1}, f"priorities: {depths()}")
        first.manager.stop()
        assert began.wait(PATIENCE)
        first.patch(gadget("g19"), {"spec": {"size": 3}})
        wait_until(lambda: depths().get(0) == 1, "that the edit is ready")
        release.set()
        runs = [key.name for key in follows.wait_for_runs(len(names) + 1)]
    assert runs[:2] == ["late", "g19"], "the newest change began before the edit came"
    assert sorted(runs) == sorted([*names, "late"])


# Its end


def test_the_next_leader_takes_over_from_one_that_stops(replicas: Callable[..., World]) -> None:
    """OP-LE-05: which gives the lease up when nothing runs any more, and not before."""
    first = replicas(gadget(), election=PROMPT)
    ended: list[tuple[str, str]] = []

    def run(ctx: Context[Any], _obj: Any) -> None:
        began.set()
        assert ctx.cancelled.wait(60)
        ended.append((lease(first).holder_identity, first.manager._leader.identity))  # type: ignore[union-attr]
        last = ConfigMap(metadata=ObjectMeta(name="last", namespace="default"))
        first.manager.client.create(last)

    began, follows = threading.Event(), Recording()
    first.register(Recording(run))
    second = another(first)
    second.controller(Gadget).build(follows)
    first.manager.start()
    assert began.wait(PATIENCE)
    with second:
        first.manager.stop()
        follows.wait_for_runs(1)
    (seen,) = ended
    assert seen[0] == seen[1]
    assert first.get(ConfigMap, "last"), "what ends may still write"


def test_by_default_the_next_leader_need_not_wait(replicas: Callable[..., World]) -> None:
    """OP-LE-05: a stop gives the lease up, so a rolling update makes no pause."""
    world = replicas(election=LeaderElection(id="replicas", namespace="default"))
    with world.running():
        assert world.manager.elected.wait(PATIENCE)
    assert not lease(world).holder_identity


def test_the_lease_can_be_left_to_expire(replicas: Callable[..., World]) -> None:
    """OP-LE-05: release_on_cancel=False"""
    world = replicas(election=replace(PROMPT, release_on_cancel=False))
    with world.running():
        assert world.manager.elected.wait(PATIENCE)
    assert lease(world).holder_identity


def test_the_lease_is_kept_while_something_runs_that_needs_it(
    replicas: Callable[..., World],
) -> None:
    """OP-LE-05, OP-MGR-11: although the stop has given up waiting for it."""
    world = replicas(gadget(), graceful_shutdown=0.1)
    release, began = threading.Event(), threading.Event()

    def run(_ctx: Context[Any], _obj: Any) -> None:
        began.set()
        release.wait(PATIENCE)

    world.register(Recording(run))
    world.manager.start()
    assert began.wait(PATIENCE)
    with pytest.raises(ShutdownTimeoutError) as raised:
        world.manager.stop()
    assert raised.value.threads == ["gadget-worker-1"], "and nothing that only waits for it"
    assert lease(world).holder_identity
    release.set()


def test_who_loses_the_lease_stops_and_says_so(replicas: Callable[..., World]) -> None:
    """OP-LE-06, OP-LE-08"""
    world = replicas(gadget())
    cancelled, refused = threading.Event(), threading.Event()
    began = threading.Event()

    def run(ctx: Context[Any], _obj: Any) -> None:
        began.set()
        assert ctx.cancelled.wait(PATIENCE)
        cancelled.set()
        try:
            ctx.client.create(part("late"))
        except LeadershipLostError:
            refused.set()

    world.register(Recording(run))
    raised: list[BaseException] = []

    def live() -> None:
        try:
            world.manager.run(signals=False)
        except LeadershipLostError as error:
            raised.append(error)

    life = threading.Thread(target=live)
    life.start()
    assert began.wait(PATIENCE)
    world.patch(world.get(Lease, "replicas"), {"spec": {"holderIdentity": "somebody"}})
    assert cancelled.wait(PATIENCE)
    assert refused.wait(PATIENCE)
    life.join(PATIENCE)
    assert "does not lead any more" in str(raised[0])
    assert not [write for write in world.writes() if "parts" in write]
    with pytest.raises(LeadershipLostError):
        world.manager.client.create(part("later"))


def test_who_loses_the_lease_does_not_wait_for_what_does_not_end(
    make_world: Callable[..., World],
) -> None:
    """OP-LE-06, OP-MGR-11: there is no grace when the lease has ended."""
    world = make_world(gadget(), leader_election=PROMPT, graceful_shutdown=None)
    began, release = threading.Event(), threading.Event()

    def run(_ctx: Context[Any], _obj: Any) -> None:
        began.set()
        release.wait(2 * PATIENCE)

    world.register(Recording(run))
    lost = threading.Event()

    def live() -> None:
        try:
            world.manager.run(signals=False)
        except LeadershipLostError:
            lost.set()

    life = threading.Thread(target=live)
    life.start()
    assert began.wait(PATIENCE)
    world.patch(world.get(Lease, "replicas"), {"spec": {"holderIdentity": "somebody"}})
    give_up = time.monotonic() + PATIENCE
    while not lost.wait(0.01):
        assert time.monotonic() < give_up
        world.clock.step(0.2)
    assert not release.is_set(), "and the run goes on"
    release.set()
    life.join(PATIENCE)


def test_nothing_is_written_once_the_lease_may_have_ended(world: World) -> None:
    """OP-LE-08: however late the thread is that would say so."""
    clock = FakeClock(start=100.0)
    recorder = world.manager.events.recorder("me")
    leader = Leader(
        PROMPT, world.client, recorder, world.manager.metrics_provider, clock, grace=1.0
    )
    leader.check()
    leader._leadership = Leadership("me", 0, 101.3, clock)
    clock.step(1.2)
    leader.check()
    clock.step(0.1)
    with pytest.raises(LeadershipLostError, match="nothing is written"):
        leader.check()


def test_who_leads_is_told_in_metrics_and_events(replicas: Callable[..., World]) -> None:
    """OP-LE-10, OP-MET-09"""
    provider = PrometheusProvider(prometheus_registry())
    world = replicas(metrics_provider=provider)

    def status() -> float | None:
        return provider.registry.get_sample_value(
            "leader_election_master_status", {"name": "replicas"}
        )

    with world.running():
        assert world.manager.elected.wait(PATIENCE)
        assert status() == 1.0
    assert status() == 0.0
    events = world.client.resource(Event).namespace("default").list().items
    notes = {
        (event.note or "").partition(" ")[2] for event in events if event.regarding.kind == "Lease"
    }
    assert notes == {"became leader", "stopped leading"}


def prometheus_registry() -> Any:
    from prometheus_client import CollectorRegistry

    return CollectorRegistry()


class Process:
    """A replica in a process of its own."""

    def __init__(self, server: EmbeddedAPIServer, identity: str) -> None:
        script = str(Path(__file__).with_name("replica_process.py"))
        self.process = subprocess.Popen(
            [sys.executable, script, server.url, identity], stdout=subprocess.PIPE, text=True
        )

    def wait_for_leadership(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "leads\n"

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


def test_another_takes_over_from_a_leader_that_is_killed() -> None:
    """OP-LE-07: when its lease has ended."""
    with EmbeddedAPIServer() as server:
        first = Process(server, "first")
        first.wait_for_leadership()
        second = Process(server, "second")
        try:
            first.end(signal.SIGKILL)
            with Client(server.url) as client:
                let_lease_end_soon(client, "replicas")
            second.wait_for_leadership()
        finally:
            code = second.end(signal.SIGTERM)
        assert code == 0
