"""ReplicationControllers, StatefulSets, DaemonSets, Jobs, CronJobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clientgo.api.apps_v1 import ControllerRevision, DaemonSet, ReplicaSet, StatefulSet
from clientgo.api.batch_v1 import CronJob, Job
from clientgo.api.core_v1 import (
    Namespace,
    Node,
    PersistentVolumeClaim,
    Pod,
    ReplicationController,
    ResourceQuota,
    ResourceQuotaSpec,
)
from clientgo.meta import ObjectMeta
from clientgo.testcluster.workloads import Rule
from clientgo.testcluster.workloads.conditions import find_condition, is_true
from clientgo.testcluster.workloads.pods.stages import Exit, Ready, Terminate
from tests.testcluster.workloads.objects import (
    cron_job,
    daemon_set,
    deployment,
    job,
    pod,
    replica_set,
    replication_controller,
    stateful_set,
)
from tests.testcluster.workloads.still_cluster import StillCluster

NewCluster = Callable[..., StillCluster]
SLOW = Rule(ready=Ready(delay=5.0), terminate=Terminate(delay=1.0))


def image(name: str) -> dict[str, object]:
    return {"spec": {"template": {"spec": {"containers": [{"name": "app", "image": name}]}}}}


def names(cluster: StillCluster) -> list[str]:
    return [pod.metadata.name for pod in cluster.pods()]


def images(cluster: StillCluster) -> list[str | None]:
    return [pod.spec.containers[0].image for pod in cluster.pods()]


# ReplicationControllers


def test_a_replication_controller_keeps_its_pods(cluster: StillCluster) -> None:
    cluster.create(replication_controller(replicas=2))
    cluster.step(2)

    status = cluster.get(ReplicationController, "rc").status
    assert (status.replicas, status.ready_replicas, status.available_replicas) == (2, 2, 2)
    assert all(name.startswith("rc-") for name in names(cluster))
    assert cluster.settle() == 0

    cluster.patch(Pod, names(cluster)[0], {"metadata": {"labels": {"app": "other"}}})
    cluster.step(2)

    assert len(cluster.pods(app="rc")) == 2
    [released] = cluster.pods(app="other")
    assert not released.metadata.owner_references

    cluster.patch(ReplicationController, "rc", {"spec": {"replicas": 0}})
    cluster.step(40)

    assert cluster.pods() == [released]
    assert cluster.get(ReplicationController, "rc").status.replicas == 0


def test_pods_of_a_replication_controller_that_are_refused_are_in_its_status(
    cluster: StillCluster,
) -> None:
    quota = ResourceQuota(
        metadata=ObjectMeta(name="small", namespace="default"),
        spec=ResourceQuotaSpec(hard={"pods": "1"}),
    )
    cluster.create(quota, replication_controller(replicas=2))
    cluster.step(2)

    status = cluster.get(ReplicationController, "rc").status
    assert (status.replicas, is_true(status.conditions, "ReplicaFailure")) == (1, True)


# What is adopted, and released


ADOPTING = [
    replication_controller("a", replicas=1),
    replica_set("a", replicas=1),
    stateful_set("a", replicas=1),
    daemon_set("a"),
    job("a", restart="Never"),
]


@pytest.mark.parametrize("owner", ADOPTING, ids=lambda owner: owner.kind)
def test_a_pod_without_a_controller_is_adopted_again(new_cluster: NewCluster, owner: Any) -> None:
    cluster = new_cluster(nodes=1)
    cluster.create(owner)
    cluster.step(0.5)
    [pod] = cluster.pods()

    cluster.patch(Pod, pod.metadata.name, {"metadata": {"ownerReferences": None}})

    [adopted] = cluster.pods()
    assert adopted.metadata.uid == pod.metadata.uid
    [reference] = adopted.metadata.owner_references
    assert (reference.kind, reference.name) == (owner.kind, "a")
    assert reference.controller
    assert reference.block_owner_deletion
    assert cluster.settle() == 0

    cluster.patch(Pod, pod.metadata.name, {"metadata": {"labels": None}})

    assert not cluster.get(Pod, pod.metadata.name).metadata.owner_references


def test_pods_that_were_there_before_count(cluster: StillCluster) -> None:
    before = pod("older")
    before.metadata.labels = {"app": "rs"}
    cluster.create(before, replica_set(replicas=2))
    cluster.step(1)

    assert len(names(cluster)) == 2
    assert "older" in names(cluster)
    assert cluster.get(Pod, "older").metadata.owner_references[0].kind == "ReplicaSet"


def test_only_pods_with_names_of_a_stateful_set_are_adopted(cluster: StillCluster) -> None:
    stranger = pod("db-x")
    stranger.metadata.labels = {"app": "db"}
    cluster.create(stranger, stateful_set(replicas=1))
    cluster.step(1)

    assert names(cluster) == ["db-0", "db-x"]
    assert not cluster.get(Pod, "db-x").metadata.owner_references


def test_a_deployment_adopts_its_replica_sets(cluster: StillCluster) -> None:
    cluster.create(deployment(replicas=1))
    cluster.step(1)
    [found] = cluster.all(ReplicaSet)

    cluster.patch(ReplicaSet, found.metadata.name, {"metadata": {"ownerReferences": None}})

    [adopted] = cluster.all(ReplicaSet)
    assert [each.kind for each in adopted.metadata.owner_references] == ["Deployment"]
    assert cluster.settle() == 0


# StatefulSets


def test_the_pods_of_a_stateful_set_start_in_order_and_end_in_reverse(
    new_cluster: NewCluster,
) -> None:
    cluster = new_cluster(SLOW)
    cluster.create(stateful_set(replicas=2))
    cluster.step(4)
    assert names(cluster) == ["db-0"]
    cluster.step(6)
    assert names(cluster) == ["db-0", "db-1"]
    cluster.step(6)
    assert cluster.get(StatefulSet, "db").status.ready_replicas == 2

    cluster.patch(StatefulSet, "db", {"spec": {"replicas": 0}})
    assert [p.metadata.name for p in cluster.pods() if p.metadata.deletion_timestamp] == ["db-1"]
    cluster.step(1.5)
    assert names(cluster) == ["db-0"]
    cluster.step(2)
    assert names(cluster) == []
    assert cluster.settle() == 0


def test_parallel_pods_start_together(new_cluster: NewCluster) -> None:
    cluster = new_cluster(SLOW)
    cluster.create(stateful_set(replicas=3, podManagementPolicy="Parallel", ordinals={"start": 5}))

    assert names(cluster) == ["db-5", "db-6", "db-7"]


def test_a_rolling_update_goes_down_to_the_partition(cluster: StillCluster) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    cluster.create(stateful_set(replicas=3, updateStrategy=strategy))
    cluster.step(5)

    cluster.patch(StatefulSet, "db", image("app:2"))
    cluster.step(10)
    assert images(cluster) == ["app:1", "app:2", "app:2"]
    status = cluster.get(StatefulSet, "db").status
    assert status.current_revision != status.update_revision

    cluster.delete(Pod, "db-0")
    cluster.step(5)
    assert images(cluster) == ["app:1", "app:2", "app:2"]

    done = {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}}
    cluster.patch(StatefulSet, "db", done)
    cluster.step(10)
    status = cluster.get(StatefulSet, "db").status
    assert images(cluster) == ["app:2"] * 3
    assert status.current_revision == status.update_revision
    assert [each.revision for each in cluster.all(ControllerRevision)] in ([1, 2], [2, 1])
    assert cluster.settle() == 0


def test_each_pod_has_claims_that_outlive_it(cluster: StillCluster) -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    cluster.create(stateful_set(replicas=2, volumeClaimTemplates=[claim]))
    cluster.step(5)
    cluster.patch(StatefulSet, "db", {"spec": {"replicas": 1}})
    cluster.step(5)

    assert names(cluster) == ["db-0"]
    claims = cluster.all(PersistentVolumeClaim)
    assert [(c.metadata.name, c.status.phase) for c in claims] == [
        ("data-db-0", "Bound"),
        ("data-db-1", "Bound"),
    ]


# DaemonSets


def test_a_daemon_set_has_a_pod_on_each_node_that_it_may_use(cluster: StillCluster) -> None:
    cluster.patch(Node, "node-1", {"metadata": {"labels": {"disk": "ssd"}}})
    agent = daemon_set()
    agent.spec.template.spec.node_selector = {"disk": "ssd"}
    cluster.create(agent)
    cluster.step(1)
    assert [pod.spec.node_name for pod in cluster.pods()] == ["node-1"]

    cluster.patch(Node, "node-2", {"metadata": {"labels": {"disk": "ssd"}}})
    cluster.patch(Node, "node-2", {"spec": {"unschedulable": True}})
    cluster.step(1)
    assert sorted(str(pod.spec.node_name) for pod in cluster.pods()) == ["node-1", "node-2"]
    assert cluster.get(DaemonSet, "agent").status.number_ready == 2

    cluster.patch(Node, "node-1", {"metadata": {"labels": {"disk": None}}})
    cluster.step(1)
    assert [pod.spec.node_name for pod in cluster.pods()] == ["node-2"]
    assert cluster.settle() == 0


def test_a_daemon_set_replaces_one_pod_at_a_time(new_cluster: NewCluster) -> None:
    cluster = new_cluster(SLOW, nodes=3)
    cluster.create(daemon_set())
    cluster.step(10)

    cluster.patch(DaemonSet, "agent", image("app:2"))
    least = 3
    for _ in range(30):
        cluster.step(1)
        least = min(least, cluster.get(DaemonSet, "agent").status.number_available or 0)

    assert (least, images(cluster)) == (2, ["app:2"] * 3)


# Jobs


def test_a_job_completes_with_so_many_pods_at_a_time(cluster: StillCluster) -> None:
    cluster.create(job(completions=3, parallelism=2))
    assert cluster.get(Job, "sum").status.active == 2

    cluster.step(5)

    status = cluster.get(Job, "sum").status
    assert (status.succeeded, status.active) == (3, None)
    assert is_true(status.conditions, "Complete")
    assert is_true(status.conditions, "SuccessCriteriaMet")
    assert status.completion_time
    assert cluster.settle() == 0


def test_an_indexed_job_has_one_success_for_each_index(cluster: StillCluster) -> None:
    cluster.create(job(completions=3, parallelism=3, completionMode="Indexed"))

    cluster.step(5)

    assert cluster.get(Job, "sum").status.completed_indexes == "0-2"
    assert [pod.spec.hostname for pod in cluster.pods()] == ["sum-0", "sum-1", "sum-2"]


def test_a_job_fails_beyond_its_backoff_limit(new_cluster: NewCluster) -> None:
    cluster = new_cluster(Rule(owner="Job", exit=Exit(delay=1.0, code=1)))
    cluster.create(job(backoffLimit=2))

    cluster.step(5)
    assert cluster.get(Job, "sum").status.failed == 1  # the next pod waits ten seconds
    cluster.step(60)

    status = cluster.get(Job, "sum").status
    failed = find_condition(status.conditions, "Failed")
    assert failed is not None
    assert (status.failed, failed.reason) == (3, "BackoffLimitExceeded")


def test_a_suspended_job_has_no_pods(cluster: StillCluster) -> None:
    cluster.create(job(suspend=True))
    assert names(cluster) == []
    assert is_true(cluster.get(Job, "sum").status.conditions, "Suspended")

    cluster.patch(Job, "sum", {"spec": {"suspend": False}})
    cluster.step(5)
    assert is_true(cluster.get(Job, "sum").status.conditions, "Complete")


def test_a_job_past_its_deadline_fails(new_cluster: NewCluster) -> None:
    cluster = new_cluster(Rule(exit=Exit(never=True)))
    cluster.create(job(activeDeadlineSeconds=20))

    cluster.step(25)

    failed = find_condition(cluster.get(Job, "sum").status.conditions, "Failed")
    assert failed is not None
    assert failed.reason == "DeadlineExceeded"
    assert names(cluster) == []


def test_a_finished_job_is_deleted_when_its_time_is_over(cluster: StillCluster) -> None:
    cluster.create(job(ttlSecondsAfterFinished=30))

    cluster.step(20)
    assert cluster.get(Job, "sum") is not None
    cluster.step(20)
    assert cluster.get(Job, "sum") is None
    assert names(cluster) == []


# CronJobs


def test_a_cron_job_starts_a_job_each_minute_and_keeps_three(cluster: StillCluster) -> None:
    cluster.create(cron_job("* * * * *"))
    assert cluster.all(Job) == []

    cluster.step(5 * 60 + 10)

    assert len(cluster.all(Job)) == 3
    status = cluster.get(CronJob, "tick").status
    assert status.last_schedule_time == "2000-01-01T00:05:00Z"
    assert status.last_successful_time
    assert status.active is None
    assert cluster.settle() == 0


def test_a_cron_job_that_forbids_concurrency_waits(new_cluster: NewCluster) -> None:
    cluster = new_cluster(Rule(owner="Job", exit=Exit(delay=150.0)))
    cluster.create(cron_job("* * * * *", concurrencyPolicy="Forbid"))

    cluster.step(3 * 60)
    assert len(cluster.all(Job)) == 1
    cluster.step(60)
    assert len(cluster.all(Job)) == 2


def test_a_cron_job_replaces_a_job_that_still_runs(new_cluster: NewCluster) -> None:
    cluster = new_cluster(Rule(owner="Job", exit=Exit(never=True)))
    cluster.create(cron_job("* * * * *", concurrencyPolicy="Replace"))

    cluster.step(2 * 60 + 1)

    (only,) = cluster.all(Job)
    (active,) = cluster.get(CronJob, "tick").status.active
    assert active.name == only.metadata.name


@pytest.mark.parametrize(
    ("workload", "note"),
    [
        (
            stateful_set(),
            'create Pod db-0 in StatefulSet db failed error: pods "db-0" is forbidden',
        ),
        (daemon_set(), 'Error creating: pods "agent-'),
        (job(), 'Error creating: pods "sum-'),
    ],
)
def test_a_refused_pod_is_an_event(cluster: StillCluster, workload: Any, note: str) -> None:
    namespace = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    cluster.client.resource(Namespace).patch("default", namespace)
    cluster.create(workload)

    assert cluster.pods() == []
    notes = {each.note for each in cluster.events if each.type == "Warning"}
    assert notes
    for found in notes:
        assert found.startswith(note)
        assert 'violates PodSecurity "restricted:latest"' in found
