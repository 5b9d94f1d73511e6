from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clientgo.api.core_v1 import ContainerPort, Node, Pod
from clientgo.operator.errors import ConfigError
from clientgo.testcluster.workloads import Rule, load_rules
from clientgo.testcluster.workloads.conditions import find_condition, is_true
from clientgo.testcluster.workloads.pods.logs import log_of
from clientgo.testcluster.workloads.pods.stages import (
    Exit,
    Flap,
    Pull,
    Ready,
    Rules,
    Schedule,
    Terminate,
)
from tests.testcluster.workloads.objects import pod, replica_set
from tests.testcluster.workloads.still_cluster import StillCluster

NewCluster = Callable[..., StillCluster]


def container(cluster: StillCluster, name: str = "app") -> Any:
    return cluster.get(Pod, name).status.container_statuses[0]


def ready(cluster: StillCluster, name: str = "app") -> bool:
    return is_true(cluster.get(Pod, name).status.conditions, "Ready")


def test_a_pod_is_scheduled_pulled_running_and_ready(new_cluster: NewCluster) -> None:
    stages = Rule(schedule=Schedule(delay=2.0), pull=Pull(delay=3.0), ready=Ready(delay=4.0))
    cluster = new_cluster(stages)
    cluster.create(pod())

    cluster.step(1)
    assert not cluster.get(Pod, "app").spec.node_name
    cluster.step(2)
    assert cluster.get(Pod, "app").status.phase == "Pending"
    assert container(cluster).state.waiting.reason == "ContainerCreating"
    cluster.step(3)
    assert (cluster.get(Pod, "app").status.phase, ready(cluster)) == ("Running", False)
    assert cluster.get(Pod, "app").status.pod_ip == "10.128.0.1"
    cluster.step(4)
    assert ready(cluster)
    assert cluster.settle() == 0


@pytest.mark.parametrize(
    ("policy", "code", "phase"),
    [("Never", 0, "Succeeded"), ("Never", 3, "Failed"), ("OnFailure", 0, "Succeeded")],
)
def test_a_pod_ends_with_its_containers(
    new_cluster: NewCluster, policy: str, code: int, phase: str
) -> None:
    cluster = new_cluster(Rule(exit=Exit(delay=5.0, code=code)))
    cluster.create(pod(restart_policy=policy))

    cluster.step(10)

    assert cluster.get(Pod, "app").status.phase == phase
    assert container(cluster).state.terminated.exit_code == code
    assert cluster.settle() == 0


def test_a_crash_loop_waits_longer_each_time(new_cluster: NewCluster) -> None:
    cluster = new_cluster(Rule(exit=Exit(delay=1.0, code=1)))
    cluster.create(pod())

    restarts = []
    for _ in range(8):
        cluster.step(10)
        restarts.append(container(cluster).restart_count)

    assert restarts == [1, 2, 2, 3, 3, 3, 3, 4]
    assert container(cluster).last_state.terminated.exit_code == 1


def test_a_container_that_fails_twice_runs_then(new_cluster: NewCluster) -> None:
    cluster = new_cluster(Rule(exit=Exit(delay=1.0, code=1, times=2)))
    cluster.create(pod())

    cluster.step(120)

    assert (container(cluster).restart_count, ready(cluster)) == (2, True)


def test_an_image_that_can_t_be_pulled_is_tried_again_when_it_changes(
    new_cluster: NewCluster,
) -> None:
    cluster = new_cluster(Rule(image="*:bad", pull=Pull(error="manifest unknown")))
    cluster.create(pod(image="app:bad"))

    cluster.step(1)
    assert container(cluster).state.waiting.reason == "ErrImagePull"
    cluster.step(5)
    assert container(cluster).state.waiting.reason == "ImagePullBackOff"
    assert "manifest unknown" in container(cluster).state.waiting.message

    good = {"spec": {"containers": [{"name": "app", "image": "app:1"}]}}
    cluster.patch(Pod, "app", good)
    cluster.step(1)
    assert ready(cluster)


def test_readiness_flaps(new_cluster: NewCluster) -> None:
    cluster = new_cluster(Rule(ready=Ready(flap=Flap(every=10, lasting=5))))
    cluster.create(pod())
    cluster.step(1)

    seen = []
    for _ in range(6):
        cluster.step(5)
        seen.append(ready(cluster))

    assert seen == [True, False, True, True, False, True]


def test_a_pod_that_is_never_ready_runs(new_cluster: NewCluster) -> None:
    cluster = new_cluster(Rule(labels="app=app", ready=Ready(never=True)))
    cluster.create(pod(), pod("other"))

    cluster.step(60)

    assert (ready(cluster), ready(cluster, "other")) == (False, True)


def test_a_pod_past_its_deadline_fails(cluster: StillCluster) -> None:
    cluster.create(pod(active_deadline_seconds=30))

    cluster.step(31)

    status = cluster.get(Pod, "app").status
    assert (status.phase, status.reason) == ("Failed", "DeadlineExceeded")


def test_a_deleted_pod_ends_gracefully(new_cluster: NewCluster) -> None:
    cluster = new_cluster(Rule(terminate=Terminate(delay=10.0)))
    cluster.create(pod(), pod("hasty", termination_grace_period_seconds=2))
    cluster.step(1)

    cluster.delete(Pod, "app")
    cluster.delete(Pod, "hasty")
    cluster.step(5)
    assert cluster.get(Pod, "app").metadata.deletion_timestamp
    assert cluster.get(Pod, "hasty") is None

    cluster.step(6)
    assert cluster.get(Pod, "app") is None


def test_a_deleted_pod_is_not_ready_before_it_is_gone(cluster: StillCluster) -> None:
    """kubectl and kr8s wait for ``Ready=False`` of a pod that they have deleted."""
    cluster.create(pod())
    cluster.step(1)
    cluster.patch(Pod, "app", {"metadata": {"finalizers": ["example.com/held"]}})

    cluster.delete(Pod, "app")
    cluster.step(1)

    held = cluster.get(Pod, "app")
    assert held.metadata.deletion_grace_period_seconds == 0
    assert held.status.phase == "Failed"
    assert not ready(cluster)


def test_pods_are_spread_over_the_nodes_that_allow_them(cluster: StillCluster) -> None:
    cluster.create(replica_set(replicas=4))
    cluster.step(1)
    assert sorted(str(p.spec.node_name) for p in cluster.pods()) == ["node-1"] * 2 + ["node-2"] * 2

    cluster.patch(Node, "node-1", {"spec": {"unschedulable": True}})
    cluster.create(pod("late"), pod("picky", node_selector={"disk": "ssd"}))
    cluster.step(1)

    assert cluster.get(Pod, "late").spec.node_name == "node-2"
    waits = find_condition(cluster.get(Pod, "picky").status.conditions, "PodScheduled")
    assert waits is not None
    assert waits.message == (
        "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
        "1 node(s) were unschedulable."
    )
    assert cluster.settle() == 0

    cluster.patch(Node, "node-2", {"metadata": {"labels": {"disk": "ssd"}}})
    assert cluster.get(Pod, "picky").spec.node_name == "node-2"


def test_the_pods_of_a_node_that_is_gone_are_gone(cluster: StillCluster) -> None:
    cluster.create(replica_set(replicas=2))
    cluster.step(1)

    cluster.delete(Node, "node-1")
    cluster.step(1)

    assert [p.spec.node_name for p in cluster.pods()] == ["node-2", "node-2"]


def test_a_taint_evicts_what_does_not_tolerate_it(cluster: StillCluster) -> None:
    cluster.create(replica_set(replicas=2))
    cluster.step(1)

    taint = {"key": "broken", "effect": "NoExecute"}
    cluster.patch(Node, "node-1", {"spec": {"taints": [taint]}})
    cluster.step(1)

    assert [p.spec.node_name for p in cluster.pods()] == ["node-2", "node-2"]


def test_the_same_seed_gives_the_same_names_and_times(new_cluster: NewCluster) -> None:
    def story(seed: int) -> list[str]:
        cluster = new_cluster(Rule(pull=Pull(delay=1.0, jitter=20.0)), seed=seed)
        cluster.create(replica_set(replicas=3))
        cluster.step(60)
        return [f"{p.metadata.name} {p.status.conditions}" for p in cluster.pods()]

    assert story(1) == story(1)
    assert story(1) != story(2)


def test_logs_are_the_text_of_the_first_rule_that_has_one() -> None:
    rules = Rules([Rule(image="web:*", logs="{container} of {name} on {node}\n")])
    plain = pod(image="web:1", node_name="node-1").to_dict()

    assert log_of(rules, plain, "app") == "app of app on node-1\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("rules: [{lables: a=b}]", "lables"),
        ("rules: [{labels: '=='}]", "labels"),
        ("rules: [{ready: {delay: soon}}]", "soon"),
        ("rules: [{ready: {delay: -1}}]", "must not be negative"),
        ("rules: [{ready: {flap: {every: 0, lasting: 1}}}]", "greater than 0"),
        ("rules: {", "node content"),
    ],
)
def test_wrong_rules_are_refused_with_their_place(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        load_rules(text)


def test_rules_are_read_from_text() -> None:
    (rule,) = load_rules("rules: [{labels: app=web, exit: {delay: 1.5s, code: 2, times: 3}}]")

    assert rule.exit == Exit(delay="1.5s", code=2, times=3)


def test_a_port_of_a_node_is_for_one_pod(new_cluster: NewCluster) -> None:
    def with_port(name: str, **port: Any) -> Pod:
        wanted = pod(name)
        wanted.spec.containers[0].ports = [ContainerPort(container_port=80, **port)]
        return wanted

    cluster = new_cluster(nodes=1)
    cluster.create(with_port("first", host_port=80, host_ip="127.0.0.1"))
    cluster.create(
        with_port("same", host_port=80),
        with_port("address", host_port=80, host_ip="127.0.0.2"),
        with_port("protocol", host_port=80, protocol="UDP"),
        with_port("number", host_port=81),
        with_port("none"),
    )
    cluster.step(1)

    assert [each.metadata.name for each in cluster.pods() if not each.spec.node_name] == ["same"]
    condition = find_condition(cluster.get(Pod, "same").status.conditions, "PodScheduled")
    assert condition is not None
    assert condition.message == (
        "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports."
    )

    cluster.delete(Pod, "first")
    cluster.delete(Pod, "address")
    cluster.step(40)

    assert cluster.get(Pod, "same").spec.node_name


def test_the_status_says_which_generation_it_is_about(cluster: StillCluster) -> None:
    cluster.create(pod())
    cluster.step(1)
    cluster.patch(Pod, "app", {"spec": {"activeDeadlineSeconds": 500}})
    cluster.settle()

    found = cluster.get(Pod, "app")
    assert found.metadata.generation == 2
    assert found.status.observed_generation == 2
    assert {each.observed_generation for each in found.status.conditions} == {2}
    assert cluster.settle() == 0
