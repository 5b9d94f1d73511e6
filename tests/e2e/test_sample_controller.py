"""The sample controller over real HTTP, from the outside: what a user does and what follows."""

from __future__ import annotations

import pytest

from clientgo.api.apps_v1 import Deployment, DeploymentSpec
from clientgo.api.core_v1 import Container, PodSpec, PodTemplateSpec
from clientgo.api.meta_v1 import LabelSelector
from clientgo.meta import ConflictError, InvalidError, ObjectMeta, deep_copy
from clientgo.meta.owner_references import is_controlled_by
from tests.e2e.conftest import World


def test_a_foo_gets_a_deployment_a_status_and_an_event(world: World) -> None:
    world.create_foo("a", replicas=2)

    world.eventually(lambda: world.reconciled("a", 2))
    world.eventually(lambda: world.events("Synced"))
    assert is_controlled_by(world.deployment("a"), world.foo("a"))


def test_scaling_a_foo_up_and_down_scales_its_deployment(world: World) -> None:
    world.create_foo("a", replicas=1)
    world.eventually(lambda: world.reconciled("a", 1))

    world.scale("a", 4)
    world.eventually(lambda: world.reconciled("a", 4))

    world.scale("a", 2)
    world.eventually(lambda: world.reconciled("a", 2))


def test_a_deleted_deployment_is_made_again(world: World) -> None:
    world.create_foo("a", replicas=2)
    world.eventually(lambda: world.reconciled("a", 2))
    lost = world.deployment("a").metadata.uid

    world.deployments.delete("a")

    world.eventually(lambda: world.deployment("a").metadata.uid != lost)
    world.eventually(lambda: world.reconciled("a", 2))


def test_a_deployment_that_somebody_scaled_is_scaled_back(world: World) -> None:
    world.create_foo("a", replicas=2)
    world.eventually(lambda: world.reconciled("a", 2))

    world.deployments.patch("a", {"spec": {"replicas": 7}})

    world.eventually(lambda: world.deployment("a").metadata.generation >= 3)
    world.eventually(lambda: world.reconciled("a", 2))


def test_somebody_elses_deployment_is_left_alone_and_reported(world: World) -> None:
    world.deployments.create(foreign_deployment("taken"))

    world.create_foo("a", deployment="taken", replicas=5)

    world.eventually(lambda: world.events("ErrResourceExists"))
    assert world.deployments.get("taken").spec.replicas == 1


def test_a_foo_recovers_once_the_foreign_deployment_is_gone(world: World) -> None:
    world.deployments.create(foreign_deployment("taken"))
    world.create_foo("a", deployment="taken", replicas=2)
    world.eventually(lambda: world.events("ErrResourceExists"))

    world.deployments.delete("taken")

    world.eventually(lambda: world.deployment("taken").spec.replicas == 2)


def test_the_deployment_goes_with_its_foo(world: World) -> None:
    world.create_foo("a")
    world.eventually(lambda: world.reconciled("a", 1))

    world.foos.delete("a")

    world.eventually(lambda: gone(world, "a"))


def test_a_foo_without_a_deployment_name_is_reported_and_mended_by_an_edit(world: World) -> None:
    foo = world.create_foo("a")
    edited = deep_copy(foo)
    world.foos.delete("a")
    world.eventually(lambda: gone(world, "a"))
    edited.metadata = ObjectMeta(name="b", namespace="default")
    edited.spec.deployment_name = ""
    created = deep_copy(world.foos.create(edited))
    world.eventually(lambda: world.events("ErrInvalidFoo"))

    created.spec.deployment_name = "b"
    world.foos.update(created)

    world.eventually(lambda: world.reconciled("b", 1))


def test_negative_replicas_are_refused_by_the_server_and_name_the_field(world: World) -> None:
    with pytest.raises(InvalidError, match=r"spec\.replicas"):
        world.create_foo("a", replicas=-1)


def test_a_stale_update_is_a_conflict(world: World) -> None:
    stale = world.create_foo("a")
    world.eventually(lambda: world.reconciled("a", 1))

    changed = deep_copy(stale)
    changed.spec.replicas = 2
    with pytest.raises(ConflictError):
        world.foos.update(changed)


@pytest.mark.parametrize("workers", [4])
def test_fifty_foos_converge(world: World, workers: int) -> None:
    names = [f"foo-{number}" for number in range(50)]

    for name in names:
        world.create_foo(name)

    world.eventually(lambda: all(world.reconciled(name, 1) for name in names), timeout=120.0)


def foreign_deployment(name: str) -> Deployment:
    labels = {"app": "other"}
    return Deployment(
        metadata=ObjectMeta(name=name, namespace="default"),
        spec=DeploymentSpec(
            replicas=1,
            selector=LabelSelector(match_labels=labels),
            template=PodTemplateSpec(
                metadata=ObjectMeta(labels=labels),
                spec=PodSpec(containers=[Container(name="main", image="other:1")]),
            ),
        ),
    )


def gone(world: World, name: str) -> bool:
    return all(deployment.metadata.name != name for deployment in world.deployments.list().items)
