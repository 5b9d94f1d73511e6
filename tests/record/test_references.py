"""References name an object as the API does."""

from __future__ import annotations

import pytest

from clientgo.api.apps_v1 import Deployment, DeploymentSpec
from clientgo.api.core_v1 import ObjectReference, PodTemplateSpec
from clientgo.api.meta_v1 import LabelSelector
from clientgo.meta import ObjectMeta, Unstructured
from clientgo.record import NoReferenceError, get_partial_reference, get_reference
from tests.record.builders import pod

_DEPLOYMENT = Deployment(
    metadata=ObjectMeta(name="web", namespace="ns", uid="u1", resource_version="9"),
    spec=DeploymentSpec(selector=LabelSelector(), template=PodTemplateSpec()),
)


def test_a_reference_holds_what_identifies_the_object() -> None:
    """REF-01"""
    assert get_reference(_DEPLOYMENT) == ObjectReference(
        kind="Deployment",
        api_version="apps/v1",
        name="web",
        namespace="ns",
        uid="u1",
        resource_version="9",
    )


def test_a_reference_is_its_own_reference() -> None:
    """REF-01"""
    reference = ObjectReference(kind="Pod", name="p")

    assert get_reference(reference) is reference


def test_none_has_no_reference() -> None:
    """REF-01"""
    with pytest.raises(NoReferenceError, match="pass the object"):
        get_reference(None)


def test_unstructured_objects_and_dicts_carry_their_kind() -> None:
    """REF-02"""
    assert get_reference(pod()) == get_reference(Unstructured.from_dict(pod()))
    assert get_reference(pod()).api_version == "v1"


@pytest.mark.parametrize("said", [{}, {"kind": "Pod"}, {"apiVersion": "v1"}], ids=str)
def test_an_object_that_does_not_say_its_kind_has_no_reference(said: dict[str, str]) -> None:
    """REF-02"""
    with pytest.raises(NoReferenceError, match="set both"):
        get_reference({"metadata": {"name": "p"}, **said})


def test_a_model_of_the_kubernetes_package_must_be_told_its_kind() -> None:
    """REF-02"""
    from kubernetes.client import V1ObjectMeta, V1Pod

    metadata = V1ObjectMeta(name="p", namespace="ns")

    assert get_reference(V1Pod(api_version="v1", kind="Pod", metadata=metadata)).name == "p"
    with pytest.raises(NoReferenceError):
        get_reference(V1Pod(metadata=metadata))


def test_a_list_is_referred_to_by_kind_and_version() -> None:
    """REF-03"""
    pods = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "12"}}

    assert get_reference(pods) == ObjectReference(
        kind="PodList", api_version="v1", resource_version="12"
    )


def test_a_list_of_the_kubernetes_package_is_referred_to_by_kind_and_version() -> None:
    """REF-03"""
    from kubernetes.client import V1ListMeta, V1PodList

    pods = V1PodList(
        api_version="v1", kind="PodList", items=[], metadata=V1ListMeta(resource_version="12")
    )

    assert get_reference(pods).resource_version == "12"
    assert get_reference(pods).name is None


def test_something_without_metadata_has_no_reference() -> None:
    with pytest.raises(NoReferenceError):
        get_reference({"kind": "Pod", "apiVersion": "v1"})


def test_a_partial_reference_leaves_the_given_one_alone() -> None:
    """REF-04"""
    reference = ObjectReference(kind="Pod", name="p")

    partial = get_partial_reference(reference, "spec.containers{web}")

    assert partial.field_path == "spec.containers{web}"
    assert reference.field_path is None
