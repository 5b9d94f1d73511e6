from __future__ import annotations

import pytest
from kubernetes.client import V1ObjectMeta, V1OwnerReference, V1Pod

from clientgo.meta import Unstructured, get_controller_of, is_controlled_by, new_controller_ref
from clientgo.meta.objects.accessor import NoMetadataError

OWNER = Unstructured.from_dict(
    {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "rs", "namespace": "ns", "uid": "u1"},
    }
)


def test_an_owner_that_knows_its_kind_is_referred_to_by_it() -> None:
    reference = new_controller_ref(OWNER)

    assert (reference.api_version, reference.kind) == ("apps/v1", "ReplicaSet")
    assert (reference.name, reference.uid) == ("rs", "u1")
    assert reference.controller
    assert reference.block_owner_deletion


def test_an_owner_that_does_not_know_its_kind_needs_to_be_told() -> None:
    nameless = Unstructured.from_dict({"metadata": {"name": "x", "uid": "u"}})

    with pytest.raises(ValueError, match="does not say its kind"):
        new_controller_ref(nameless)


def test_objects_of_the_kubernetes_package_have_controllers_too() -> None:
    references = [
        V1OwnerReference(api_version="v1", kind="Node", name="n", uid="u0"),
        V1OwnerReference(
            api_version="apps/v1", kind="ReplicaSet", name="rs", uid="u1", controller=True
        ),
    ]
    pod = V1Pod(metadata=V1ObjectMeta(name="p", owner_references=references))

    assert is_controlled_by(pod, OWNER)
    assert get_controller_of(V1Pod(metadata=V1ObjectMeta(name="p"))) is None


def test_plain_dicts_have_controllers_too() -> None:
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "u1"}
    child = {"metadata": {"name": "c", "ownerReferences": [reference | {"controller": True}]}}

    assert is_controlled_by(child, OWNER)


def test_what_is_no_object_has_no_controller_to_ask_for() -> None:
    with pytest.raises(NoMetadataError):
        get_controller_of("text")
