"""Patches and applies through a fake client."""

from __future__ import annotations

import pytest

from clientgo.api.apps_v1 import Deployment, DeploymentSpec
from clientgo.api.core_v1 import Container, PodSpec, PodTemplateSpec
from clientgo.api.meta_v1 import LabelSelector
from clientgo.client import PatchKind
from clientgo.meta import (
    BadRequestError,
    ConflictError,
    InvalidError,
    NotFoundError,
    ObjectMeta,
    UnsupportedMediaTypeError,
)
from clientgo.testing import FakeClient, Realism
from tests.testing.builders import DYNAMIC_PODS, Foo, FooSpec, foo, pod

# Patches


def deployment(**images: str) -> Deployment:
    containers = [Container(name=name, image=image) for name, image in images.items()]
    template = PodTemplateSpec(spec=PodSpec(containers=containers))
    return Deployment(
        metadata=ObjectMeta(name="web", namespace="ns"),
        spec=DeploymentSpec(selector=LabelSelector(), template=template),
    )


def images_of(obj: Deployment) -> dict[str, str]:
    return {each.name: each.image for each in obj.spec.template.spec.containers}


def template_of(*containers: dict[str, str]) -> dict:
    return {"spec": {"template": {"spec": {"containers": list(containers)}}}}


@pytest.mark.parametrize(
    ("kind", "patch", "expected"),
    [
        (PatchKind.MERGE, template_of({"name": "b", "image": "2"}), {"b": "2"}),
        (PatchKind.STRATEGIC, template_of({"name": "b", "image": "2"}), {"a": "1", "b": "2"}),
        (
            PatchKind.JSON,
            [{"op": "remove", "path": "/spec/template/spec/containers/0"}],
            {"b": "1"},
        ),
    ],
)
def test_a_patch_is_applied_by_its_kind(kind, patch, expected):
    """FAKE-13."""
    client = FakeClient(deployment(a="1", b="1"))
    deployments = client.resource(Deployment).namespace("ns")

    patched = deployments.patch("web", patch, kind)

    assert images_of(patched) == expected
    assert deployments.get("web") == patched


def test_fields_that_a_patch_removes_are_gone():
    """FAKE-13."""
    client = FakeClient(pod(nodeName="n", hostname="h"))
    patched = (
        client.resource(DYNAMIC_PODS)
        .namespace("ns")
        .patch("p", {"spec": {"nodeName": None}, "metadata": {"labels": {"a": "b"}}})
    )

    assert patched["spec"] == {"hostname": "h"}
    assert patched.metadata.labels == {"a": "b"}


@pytest.mark.parametrize(
    ("patch", "kind", "error"),
    [
        ({}, "application/x", UnsupportedMediaTypeError),
        ({"spec": {}}, PatchKind.STRATEGIC, UnsupportedMediaTypeError),
        (b"{}", PatchKind.JSON, BadRequestError),
        ([{"op": "remove", "path": "/none"}], PatchKind.JSON, InvalidError),
        ([{"op": "replace", "path": "", "value": []}], PatchKind.JSON, BadRequestError),
    ],
)
def test_a_patch_that_cannot_be_applied_is_refused(patch, kind, error):
    """FAKE-13: a strategic merge needs a built-in kind."""
    client = FakeClient(foo("a"))

    with pytest.raises(error):
        client.resource(Foo).namespace("ns").patch("a", patch, kind)


def test_an_object_without_a_kind_takes_no_patch():
    """FAKE-13: and says what it lacks."""
    client = FakeClient()
    client.tracker.create(DYNAMIC_PODS, {"metadata": {"name": "p", "namespace": "ns"}})

    with pytest.raises(BadRequestError, match=r"'p' must say its apiVersion and kind"):
        client.resource(DYNAMIC_PODS).namespace("ns").patch("p", {"spec": {}})


@pytest.mark.parametrize("realism", [Realism.NONE, Realism.OWNERSHIP])
def test_what_is_applied_must_be_an_object(realism):
    """FAKE-14."""
    client = FakeClient(pod(), realism=realism)

    with pytest.raises(BadRequestError, match=r"object.*'x'"):
        client.resource(DYNAMIC_PODS).namespace("ns").patch(
            "p", "x", PatchKind.APPLY, field_manager="me"
        )


# Apply


def test_applying_without_owners_is_a_merge_onto_what_exists():
    """FAKE-14."""
    client = FakeClient(deployment(a="1"), foo("a", replicas=1, labels={"x": "1"}))
    config = {"metadata": {"name": "web", "namespace": "ns"}}
    config |= template_of({"name": "b", "image": "2"})

    applied = client.resource(Deployment).apply(config, field_manager="me")
    other = client.resource(Foo).apply(foo("a", replicas=2), field_manager="me")

    assert images_of(applied) == {"a": "1", "b": "2"}
    assert (other.spec.replicas, other.metadata.labels) == (2, {"x": "1"})
    with pytest.raises(NotFoundError):
        client.resource(Foo).apply(foo("new"), field_manager="me")


def spec_of(replicas: int, name: str = "a") -> dict:
    return {"metadata": {"name": name, "namespace": "ns"}, "spec": {"replicas": replicas}}


def owners_of_replicas(obj: Foo) -> list[str]:
    entries = obj.to_dict()["metadata"]["managedFields"]
    return sorted(e["manager"] for e in entries if "f:replicas" in e["fieldsV1"]["f:spec"])


def test_applying_with_owners_creates_what_is_missing():
    """FAKE-14."""
    client = FakeClient(realism=Realism.OWNERSHIP)

    applied = client.resource(Foo).apply(spec_of(2), field_manager="me")

    assert applied.spec == FooSpec(replicas=2)
    assert owners_of_replicas(applied) == ["me"]


def test_applying_what_another_owns_is_a_conflict_that_names_it():
    """FAKE-14."""
    client = FakeClient(realism=Realism.OWNERSHIP)
    foos = client.resource(Foo)
    foos.apply(spec_of(2), field_manager="me")

    with pytest.raises(ConflictError, match=r'conflict with "me".*spec\.replicas'):
        foos.apply(spec_of(3), field_manager="you")
    assert foos.namespace("ns").get("a").spec.replicas == 2


def test_force_takes_a_field_over():
    """FAKE-14."""
    client = FakeClient(realism=Realism.OWNERSHIP)
    foos = client.resource(Foo)
    foos.apply(spec_of(2), field_manager="me")

    applied = foos.apply(spec_of(3), field_manager="you", force=True)

    assert applied.spec.replicas == 3
    assert owners_of_replicas(applied) == ["you"]


def test_two_may_own_what_they_agree_on():
    """FAKE-14."""
    client = FakeClient(realism=Realism.OWNERSHIP)
    client.resource(Foo).apply(spec_of(2), field_manager="me")

    applied = client.resource(Foo).apply(spec_of(2), field_manager="you")

    assert owners_of_replicas(applied) == ["me", "you"]


def test_every_write_has_an_owner_if_owners_are_wanted():
    """FAKE-14."""
    client = FakeClient(realism=Realism.OWNERSHIP, field_manager="me")
    foos = client.resource(Foo).namespace("ns")
    foos.create(foo("a"))
    foos.patch("a", {"spec": {"replicas": 5}}, field_manager="you")

    with pytest.raises(ConflictError, match=r'"you" using example\.com/v1'):
        foos.apply(spec_of(6), field_manager="third")
