from __future__ import annotations

from collections.abc import Callable

from clientgo.api.apps_v1 import Deployment, ReplicaSet
from clientgo.api.core_v1 import ResourceQuota, ResourceQuotaSpec
from clientgo.meta import ObjectMeta
from clientgo.testcluster.workloads import Rule
from clientgo.testcluster.workloads.conditions import find_condition
from clientgo.testcluster.workloads.pods.stages import Pull, Ready
from tests.testcluster.workloads.objects import deployment
from tests.testcluster.workloads.still_cluster import StillCluster

BAD = Rule(image="*:bad", pull=Pull(error="manifest unknown"))


def image(name: str) -> dict[str, object]:
    return {"spec": {"template": {"spec": {"containers": [{"name": "app", "image": name}]}}}}


def progress(cluster: StillCluster) -> str | None:
    found = find_condition(cluster.get(Deployment, "web").status.conditions, "Progressing")
    return found and found.reason


def sizes(cluster: StillCluster) -> dict[str, int]:
    """Replicas by image."""
    return {
        each.spec.template.spec.containers[0].image: each.spec.replicas
        for each in cluster.all(ReplicaSet)
    }


def test_a_deployment_becomes_available_and_then_nothing_is_written(cluster: StillCluster) -> None:
    cluster.create(deployment(replicas=3))
    assert cluster.get(Deployment, "web").status.available_replicas is None

    cluster.step(1)

    status = cluster.get(Deployment, "web").status
    assert (status.replicas, status.updated_replicas, status.available_replicas) == (3, 3, 3)
    assert progress(cluster) == "NewReplicaSetAvailable"
    assert cluster.settle() == 0


def test_the_revision_is_noted_without_a_new_generation(cluster: StillCluster) -> None:
    """Users wait until the generation that they wrote is observed."""
    cluster.create(deployment(replicas=1))
    cluster.step(1)

    found = cluster.get(Deployment, "web")
    assert found.metadata.annotations["deployment.kubernetes.io/revision"] == "1"
    assert (found.metadata.generation, found.status.observed_generation) == (1, 1)


def test_a_rolling_update_keeps_to_its_limits(new_cluster: Callable[..., StillCluster]) -> None:
    cluster = new_cluster(Rule(ready=Ready(delay=5.0)))
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
    cluster.create(deployment(replicas=4, strategy=rolling))
    cluster.step(10)

    cluster.patch(Deployment, "web", image("app:2"))
    seen = []
    for _ in range(30):
        status = cluster.get(Deployment, "web").status
        seen.append((sum(sizes(cluster).values()), status.available_replicas))
        cluster.step(1)

    assert max(total for total, _ in seen) == 5
    assert min(available for _, available in seen) == 3
    assert sizes(cluster) == {"app:1": 0, "app:2": 4}


def test_recreate_starts_new_pods_when_no_old_one_is_left(cluster: StillCluster) -> None:
    cluster.create(deployment(replicas=2, strategy={"type": "Recreate"}))
    cluster.step(1)

    cluster.patch(Deployment, "web", image("app:2"))
    assert {pod.spec.containers[0].image for pod in cluster.pods()} == {"app:1"}
    cluster.step(2)

    assert {pod.spec.containers[0].image for pod in cluster.pods()} == {"app:2"}
    assert len(cluster.pods()) == 2


def test_an_image_that_can_t_be_pulled_stops_the_rollout_until_it_is_undone(
    new_cluster: Callable[..., StillCluster],
) -> None:
    cluster = new_cluster(BAD)
    cluster.create(deployment(replicas=3, progressDeadlineSeconds=60))
    cluster.step(1)
    cluster.patch(Deployment, "web", image("app:bad"))

    cluster.step(30)
    assert progress(cluster) == "ReplicaSetUpdated"
    cluster.step(60)

    assert progress(cluster) == "ProgressDeadlineExceeded"
    assert cluster.get(Deployment, "web").status.available_replicas == 3
    assert cluster.settle() == 0

    cluster.patch(Deployment, "web", image("app:1"))
    cluster.step(1)

    assert sizes(cluster) == {"app:1": 3, "app:bad": 0}
    assert progress(cluster) == "NewReplicaSetAvailable"
    newest = cluster.get(Deployment, "web").metadata.annotations
    assert newest["deployment.kubernetes.io/revision"] == "3"


def test_a_paused_deployment_scales_and_does_not_roll(cluster: StillCluster) -> None:
    cluster.create(deployment(replicas=2))
    cluster.step(1)

    cluster.patch(Deployment, "web", {"spec": {"paused": True, "replicas": 3}})
    cluster.patch(Deployment, "web", image("app:2"))
    cluster.step(1)
    assert (sizes(cluster), progress(cluster)) == ({"app:1": 3}, "DeploymentPaused")

    cluster.patch(Deployment, "web", {"spec": {"paused": False}})
    cluster.step(5)
    assert (sizes(cluster), progress(cluster)) == (
        {"app:1": 0, "app:2": 3},
        "NewReplicaSetAvailable",
    )


def test_a_new_number_of_replicas_is_spread_over_a_rollout(
    new_cluster: Callable[..., StillCluster],
) -> None:
    cluster = new_cluster(BAD)
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2, "maxUnavailable": 0}}
    cluster.create(deployment(replicas=4, strategy=rolling))
    cluster.step(1)
    cluster.patch(Deployment, "web", image("app:bad"))
    cluster.step(5)
    assert sizes(cluster) == {"app:1": 4, "app:bad": 2}

    cluster.patch(Deployment, "web", {"spec": {"replicas": 10}})
    cluster.step(5)

    assert sizes(cluster) == {"app:1": 8, "app:bad": 4}


def test_old_replica_sets_are_kept_up_to_the_limit(cluster: StillCluster) -> None:
    cluster.create(deployment(replicas=1, revisionHistoryLimit=1))
    for number in range(2, 5):
        cluster.step(5)
        cluster.patch(Deployment, "web", image(f"app:{number}"))
    cluster.step(5)

    assert sizes(cluster) == {"app:3": 0, "app:4": 1}


def test_the_cause_of_a_change_is_in_the_history(cluster: StillCluster) -> None:
    cluster.create(deployment())
    cluster.step(1)

    cause = {"kubernetes.io/change-cause": "first"}
    cluster.patch(Deployment, "web", {"metadata": {"annotations": cause}})

    (only,) = cluster.all(ReplicaSet)
    assert cause.items() <= only.metadata.annotations.items()


def test_new_controllers_go_on_where_the_old_ones_stopped(
    new_cluster: Callable[..., StillCluster],
) -> None:
    cluster = new_cluster(Rule(ready=Ready(delay=5.0)))
    cluster.create(deployment(replicas=2))
    cluster.step(3)

    cluster.restart([Rule(ready=Ready(delay=5.0))])
    cluster.settle()
    cluster.step(3)

    assert cluster.get(Deployment, "web").status.available_replicas == 2
    assert len(cluster.pods()) == 2
    assert cluster.settle() == 0


def test_pods_that_a_quota_refuses_are_in_conditions_and_events(cluster: StillCluster) -> None:
    """As in a cluster; what was refused is tried again."""
    quota = ResourceQuota(
        metadata=ObjectMeta(name="small", namespace="default"),
        spec=ResourceQuotaSpec(hard={"pods": "2"}),
    )
    cluster.create(quota, deployment(replicas=3))
    cluster.step(2)

    [found] = cluster.all(ReplicaSet)
    for conditions in (found.status.conditions, cluster.get(Deployment, "web").status.conditions):
        failure = find_condition(conditions, "ReplicaFailure")
        assert failure is not None
        assert (failure.status, failure.reason) == ("True", "FailedCreate")
        assert "exceeded quota: small, requested: pods=1, used: pods=2" in failure.message
    assert len(cluster.pods()) == 2
    assert {each.reason for each in cluster.events if each.type == "Warning"} == {"FailedCreate"}

    cluster.patch(ResourceQuota, "small", {"spec": {"hard": {"pods": "3"}}})
    cluster.step(12)

    assert cluster.get(Deployment, "web").status.available_replicas == 3
    assert cluster.get(ReplicaSet, found.metadata.name).status.conditions is None
    conditions = cluster.get(Deployment, "web").status.conditions
    assert {each.type for each in conditions} == {"Available", "Progressing"}
