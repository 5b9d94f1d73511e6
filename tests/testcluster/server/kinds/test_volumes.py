"""What volumes, claims and StorageClasses may have."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testcluster.server.http_api import Api
from tests.testcluster.server.kinds.causes import (
    CLAIM,
    CLAIMS,
    VOLUMES,
    Causes,
    Object,
    causes,
    change,
    named,
)

STORAGE = "/apis/storage.k8s.io/v1"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (CLAIM, []),
        ({**CLAIM, "accessModes": []}, [("spec.accessModes", "Required")]),
        ({**CLAIM, "accessModes": ["X"]}, [("spec.accessModes", "NotSupported")]),
        (
            {**CLAIM, "accessModes": ["ReadWriteOncePod", "ReadWriteOnce"]},
            [("spec.accessModes", "Forbidden")],
        ),
        ({**CLAIM, "resources": {}}, [("spec.resources[storage]", "Required")]),
        (
            {**CLAIM, "resources": {"requests": {"storage": "0"}}},
            [("spec.resources[storage]", "Invalid")],
        ),
        ({**CLAIM, "volumeMode": "X"}, [("spec.volumeMode", "NotSupported")]),
        ({**CLAIM, "storageClassName": "A b"}, [("spec.storageClassName", "Invalid")]),
    ],
)
def test_claims(shared: Api, spec: Object, expected: Causes) -> None:
    assert causes(shared, CLAIMS, {"spec": spec}) == expected


def test_a_claim_names_its_source_in_both_fields(shared: Api) -> None:
    source = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}
    other = {"apiGroup": "example.com", "kind": "Backup", "name": "b"}

    def created(**fields: Any) -> Object:
        answer = shared.call("POST", CLAIMS, named(spec={**CLAIM, **fields}), dryRun="All")
        spec: Object = answer.body["spec"]
        return spec

    assert created(dataSource=source)["dataSourceRef"] == source
    assert created(dataSourceRef=source)["dataSource"] == source
    assert "dataSource" not in created(dataSource=other)
    assert "dataSource" not in created(dataSourceRef=other)


def test_a_claim_is_fixed_but_for_its_volume(api: Api) -> None:
    api.create(CLAIMS, named(spec=CLAIM))
    path = f"{CLAIMS}/a"

    assert change(api, path, {"spec": {"accessModes": ["ReadOnlyMany"]}}) == [("spec", "Forbidden")]
    assert change(api, path, {"spec": {"volumeName": "v"}}) == []
    assert change(api, path, {"spec": {"volumeName": "w"}}) == [("spec", "Forbidden")]
    larger = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    assert change(api, path, larger) == [("spec", "Forbidden")]
    api.patch(f"{path}/status", {"status": {"phase": "Bound"}})
    assert change(api, path, larger) == []


VOLUME: Object = {
    "capacity": {"storage": "1Gi"},
    "accessModes": ["ReadWriteOnce"],
    "nfs": {"server": "s", "path": "/"},
}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (VOLUME, []),
        ({**VOLUME, "nfs": None}, [("spec", "Required")]),
        (
            {**VOLUME, "csi": {"driver": "d", "volumeHandle": "h"}},
            [("spec.csi", "Forbidden")],
        ),
        (
            {**VOLUME, "capacity": {}},
            [("spec.capacity", "NotSupported"), ("spec.capacity", "Required")],
        ),
        ({**VOLUME, "capacity": {"cpu": "1"}}, [("spec.capacity", "NotSupported")]),
        (
            {**VOLUME, "nfs": None, "local": {"path": "/x"}},
            [("spec.nodeAffinity", "Required")],
        ),
        (
            {**VOLUME, "persistentVolumeReclaimPolicy": "X"},
            [("spec.persistentVolumeReclaimPolicy", "NotSupported")],
        ),
    ],
)
def test_volumes(shared: Api, spec: Object, expected: Causes) -> None:
    assert causes(shared, VOLUMES, {"spec": spec}) == expected


def test_a_volume_says_since_when_it_has_its_phase(api: Api) -> None:
    created = api.create(VOLUMES, named(spec=VOLUME))["status"]
    moved = change(api, f"{VOLUMES}/a", {"spec": {"nfs": {"path": "/other"}}})
    mode = change(api, f"{VOLUMES}/a", {"spec": {"volumeMode": "Block"}})

    assert created["phase"] == "Pending"
    assert created["lastPhaseTransitionTime"]
    assert moved == [("spec.persistentvolumesource", "Forbidden")]
    assert mode == [("volumeMode", "Invalid")]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"provisioner": "example.com/p"}, []),
        ({"provisioner": ""}, [("provisioner", "Required")]),
        ({"provisioner": "a b"}, [("provisioner", "Invalid")]),
        ({"provisioner": "p", "reclaimPolicy": "Recycle"}, [("reclaimPolicy", "NotSupported")]),
        ({"provisioner": "p", "parameters": {"": "x"}}, [("parameters", "Invalid")]),
    ],
)
def test_storage_classes(shared: Api, body: Object, expected: Causes) -> None:
    assert causes(shared, f"{STORAGE}/storageclasses", body) == expected
