"""Objects are deleted with their owners, as the propagation policy says."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.controllers.owner_graph import (
    Node,
    OwnerGraph,
    OwnerReference,
    OwnerState,
)
from clientgo.testing.operator import eventually
from tests.testcluster.server.http_api import (
    CONFIGMAPS,
    CRDS,
    WIDGETS,
    Api,
    configmap,
    widget,
    widget_crd,
)

ADMISSION = "/apis/admissionregistration.k8s.io/v1/validatingadmission"


def owned_by(*owners: dict[str, Any], blocks: bool = False) -> list[dict[str, Any]]:
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": blocks,
        }
        for owner in owners
    ]


def deleted_names(api: Api, count: int, version: str) -> list[str]:
    watch = api.watch(CONFIGMAPS, resourceVersion=version)
    names = []
    for event in watch:
        if event["type"] == "DELETED":
            names.append(event["object"]["metadata"]["name"])
        if len(names) == count:
            watch.close()
            return names
    return names


def test_dependents_follow_their_owner(api: Api) -> None:
    owner = api.create(CONFIGMAPS, configmap("owner"))
    child = api.create(CONFIGMAPS, configmap("child", ownerReferences=owned_by(owner)))
    last = api.create(CONFIGMAPS, configmap("grandchild", ownerReferences=owned_by(child)))

    api.delete(f"{CONFIGMAPS}/owner")

    version = last["metadata"]["resourceVersion"]
    assert deleted_names(api, 3, version) == ["owner", "child", "grandchild"]


def test_a_dependent_stays_while_one_owner_does(api: Api) -> None:
    one, two = (api.create(CONFIGMAPS, configmap(name)) for name in ("one", "two"))
    child = api.create(CONFIGMAPS, configmap("child", ownerReferences=owned_by(one, two)))
    watch = api.watch(CONFIGMAPS, resourceVersion=child["metadata"]["resourceVersion"])

    api.delete(f"{CONFIGMAPS}/one")

    assert watch.next()["type"] == "DELETED"
    released = watch.next()["object"]["metadata"]
    assert [item["name"] for item in released["ownerReferences"]] == ["two"]
    watch.close()


def test_a_foreground_deletion_ends_with_the_owner(api: Api) -> None:
    owner = api.create(CONFIGMAPS, configmap("owner"))
    child = api.create(CONFIGMAPS, configmap("child", ownerReferences=owned_by(owner, blocks=True)))

    api.delete(f"{CONFIGMAPS}/owner", {"propagationPolicy": "Foreground"})

    version = child["metadata"]["resourceVersion"]
    assert deleted_names(api, 2, version) == ["child", "owner"]


def test_orphans_lose_their_owner_and_stay(api: Api) -> None:
    owner = api.create(CONFIGMAPS, configmap("owner"))
    child = api.create(CONFIGMAPS, configmap("child", ownerReferences=owned_by(owner)))

    api.delete(f"{CONFIGMAPS}/owner", {"propagationPolicy": "Orphan"})

    assert deleted_names(api, 1, child["metadata"]["resourceVersion"]) == ["owner"]
    assert "ownerReferences" not in api.get(f"{CONFIGMAPS}/child")["metadata"]


def test_an_object_whose_owner_can_not_be_asked_for_stays_until_its_kind_is_served(
    api: Api,
) -> None:
    owner = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "o", "uid": "u"}
    never = {"metadata": {"name": "never", "uid": "v"}}
    child = api.create(CONFIGMAPS, configmap("child", ownerReferences=[owner]))
    later = api.create(CONFIGMAPS, configmap("later", ownerReferences=owned_by(never)))

    assert deleted_names(api, 1, later["metadata"]["resourceVersion"]) == ["later"]
    assert api.get(f"{CONFIGMAPS}/child") == child

    api.create(CRDS, widget_crd())
    assert deleted_names(api, 2, child["metadata"]["resourceVersion"]) == ["later", "child"]


def test_an_object_whose_owner_never_was_is_collected(api: Api) -> None:
    nobody = {"metadata": {"name": "nobody", "uid": "00000000-0000-0000-0000-000000000000"}}

    child = api.create(CONFIGMAPS, configmap("child", ownerReferences=owned_by(nobody)))

    assert deleted_names(api, 1, child["metadata"]["resourceVersion"]) == ["child"]


def test_many_references_are_each_looked_at_once(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """They were compared with each other: 25,000 of them for a minute."""
    asked: list[str] = []
    state_of_owner = OwnerGraph.state_of_owner

    def recorded(graph: OwnerGraph, node: Node, reference: OwnerReference) -> OwnerState:
        asked.append(reference.uid)
        return state_of_owner(graph, node, reference)

    monkeypatch.setattr(OwnerGraph, "state_of_owner", recorded)
    owner = api.create(CONFIGMAPS, configmap("owner"))
    [reference] = owned_by(owner)
    missing = [{**reference, "uid": f"missing-{number}"} for number in range(50)]
    child = api.create(CONFIGMAPS, configmap("child", ownerReferences=[reference, *missing]))
    watch = api.watch(CONFIGMAPS, resourceVersion=child["metadata"]["resourceVersion"])

    left = watch.next()["object"]["metadata"]["ownerReferences"]

    watch.close()
    assert left == [reference]
    uids = [item["uid"] for item in (reference, *missing)]
    assert asked[:102] == uids + uids


# -- owners are found by kind, namespace and name as well as by uid


def another_namespace(api: Api) -> str:
    api.create("/api/v1/namespaces", {"metadata": {"name": "other"}})
    return "/api/v1/namespaces/other"


def events_about(api: Api, name: str, namespace: str) -> list[dict[str, Any]]:
    events = api.get(f"/api/v1/namespaces/{namespace}/events")["items"]
    return [event for event in events if event["involvedObject"]["name"] == name]


def test_a_child_in_another_namespace_than_its_owner_is_deleted(api: Api) -> None:
    owner = api.create(CONFIGMAPS, configmap("owner"))
    other = another_namespace(api)
    kept = api.create(f"{other}/configmaps", configmap("kept"))
    references = owned_by(owner)

    child = api.create(f"{other}/configmaps", configmap("child", ownerReferences=references))
    both = [*references, *owned_by(kept)]
    api.create(f"{other}/configmaps", configmap("second", ownerReferences=both))

    watch = api.watch(f"{other}/configmaps", resourceVersion=child["metadata"]["resourceVersion"])
    assert (
        next(event for event in watch if event["type"] == "DELETED")["object"]["metadata"]["name"]
        == "child"
    )
    watch.close()
    eventually(
        lambda: (
            api.get(f"{other}/configmaps/second")["metadata"]["ownerReferences"] == owned_by(kept)
        )
    )
    eventually(lambda: bool(events_about(api, "child", "other")))
    [event] = events_about(api, "child", "other")
    uid = owner["metadata"]["uid"]
    assert event["reason"] == "OwnerRefInvalidNamespace"
    assert event["message"] == (
        f"ownerRef [v1/ConfigMap, namespace: other, name: owner, uid: {uid}] "
        'does not exist in namespace "other"'
    )
    assert event["source"] == {"component": "garbage-collector-controller"}


def test_a_child_of_the_cluster_is_never_deleted_for_an_owner_in_a_namespace(api: Api) -> None:
    owner = api.create(CONFIGMAPS, configmap("owner"))
    [gone] = owned_by({"metadata": {"name": "gone", "uid": "gone"}})
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    references = [*owned_by(owner, blocks=True), gone]
    child = api.create(roles, {"metadata": {"name": "child", "ownerReferences": references}})
    eventually(lambda: bool(events_about(api, "child", "default")))

    api.delete(f"{CONFIGMAPS}/owner")

    wait_for_the_collector(api)
    assert api.get(f"{roles}/child") == child


def wait_for_the_collector(api: Api) -> None:
    """Return when the collector has looked at everything that was written before."""
    owner = {"metadata": {"name": "never", "uid": "never"}}
    api.create(CONFIGMAPS, configmap("probe", ownerReferences=owned_by(owner)))
    eventually(lambda: api.call("GET", f"{CONFIGMAPS}/probe").status == 404)


@pytest.mark.parametrize(
    ("wrong", "stays"),
    [
        ({}, True),
        ({"name": "another"}, False),
        ({"kind": "Secret"}, False),
        ({"uid": "another"}, False),
        ({"apiVersion": "v2"}, True),
        ({"apiVersion": "apps/v1"}, True),
    ],
)
def test_an_owner_is_what_all_of_its_reference_says(
    api: Api, wrong: dict[str, str], stays: bool
) -> None:
    """Nothing is known of the owner if its kind is not served, so the child stays."""
    owner = api.create(CONFIGMAPS, configmap("owner"))
    [reference] = owned_by(owner)

    api.create(CONFIGMAPS, configmap("child", ownerReferences=[reference | wrong]))

    wait_for_the_collector(api)
    assert (api.call("GET", f"{CONFIGMAPS}/child").status == 200) is stays


def test_an_owner_is_found_in_each_version_of_its_kind(api: Api) -> None:
    path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
    target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
    spec = {"scaleTargetRef": target, "maxReplicas": 2}
    owner = api.create(path, {"metadata": {"name": "owner"}, "spec": spec})
    for version in ("v1", "v2"):
        reference = owned_by(owner)[0] | {
            "apiVersion": f"autoscaling/{version}",
            "kind": "HorizontalPodAutoscaler",
        }
        api.create(CONFIGMAPS, configmap(f"child-{version}", ownerReferences=[reference]))

    wait_for_the_collector(api)
    assert len(api.get(CONFIGMAPS)["items"]) == 2

    last = api.delete(f"{path}/owner")
    assert last["status"] == "Success"
    eventually(lambda: not api.get(CONFIGMAPS)["items"])


def test_events_are_not_collected(api: Api) -> None:
    path = "/api/v1/namespaces/default/events"
    owner = {"metadata": {"name": "never", "uid": "never"}}
    event = {
        "metadata": {"name": "e", "ownerReferences": owned_by(owner)},
        "involvedObject": {"namespace": "default"},
    }
    api.create(path, event)

    wait_for_the_collector(api)

    assert api.get(f"{path}/e")["metadata"]["name"] == "e"


# -- owners that wait


@pytest.mark.parametrize("length", [2, 3, 4])
def test_a_circle_of_owners_ends(api: Api, length: int) -> None:
    created = [api.create(CONFIGMAPS, configmap(f"c{number}")) for number in range(length)]
    for number, obj in enumerate(created):
        references = owned_by(created[number - 1], blocks=True)
        patch = {"metadata": {"ownerReferences": references}}
        api.patch(f"{CONFIGMAPS}/{obj['metadata']['name']}", patch)

    api.delete(f"{CONFIGMAPS}/c0", {"propagationPolicy": "Foreground"})

    eventually(lambda: not api.get(CONFIGMAPS)["items"])


def test_a_foreground_deletion_ends_from_the_leaves(api: Api) -> None:
    owner = api.create(CONFIGMAPS, configmap("owner"))
    child = api.create(CONFIGMAPS, configmap("child", ownerReferences=owned_by(owner, blocks=True)))
    leaf = api.create(CONFIGMAPS, configmap("leaf", ownerReferences=owned_by(child, blocks=True)))

    api.delete(f"{CONFIGMAPS}/owner", {"propagationPolicy": "Foreground"})

    version = leaf["metadata"]["resourceVersion"]
    assert deleted_names(api, 3, version) == ["leaf", "child", "owner"]


def waiting_owner(api: Api) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return an owner that waits for a child, which a finalizer keeps."""
    owner = api.create(CONFIGMAPS, configmap("owner"))
    references = owned_by(owner, blocks=True)
    child = configmap("child", ownerReferences=references, finalizers=["example.com/f"])
    api.create(CONFIGMAPS, child)
    api.delete(f"{CONFIGMAPS}/owner", {"propagationPolicy": "Foreground"})
    eventually(lambda: "deletionTimestamp" in api.get(f"{CONFIGMAPS}/child")["metadata"])
    assert "deletionTimestamp" in api.get(f"{CONFIGMAPS}/owner")["metadata"]
    return owner, child


@pytest.mark.parametrize("change", [{"blockOwnerDeletion": False}, None])
def test_an_owner_goes_when_its_child_blocks_it_no_longer(
    api: Api, change: dict[str, Any] | None
) -> None:
    owner, _ = waiting_owner(api)
    references = [] if change is None else [owned_by(owner)[0] | change]

    api.patch(f"{CONFIGMAPS}/child", {"metadata": {"ownerReferences": references}})

    eventually(lambda: api.call("GET", f"{CONFIGMAPS}/owner").status == 404)
    assert api.call("GET", f"{CONFIGMAPS}/child").status == 200


def test_an_owner_waits_for_its_child_after_a_start_too(tmp_path: Path) -> None:
    """Definitions are restored first, before what blocks their deletion."""
    with EmbeddedAPIServer(data_dir=tmp_path) as server:
        api = Api(server.url)
        owner = api.create(CRDS, widget_crd())
        path = f"{CRDS}/{owner['metadata']['name']}"
        reference = owned_by(owner, blocks=True)[0] | {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
        }
        kept = {"ownerReferences": [reference], "finalizers": ["example.com/f"]}
        api.create(CONFIGMAPS, configmap("child", **kept))
        api.delete(path, {"propagationPolicy": "Foreground"})
        eventually(lambda: "deletionTimestamp" in api.get(f"{CONFIGMAPS}/child")["metadata"])

    with EmbeddedAPIServer(data_dir=tmp_path) as server:
        api = Api(server.url)
        wait_for_the_collector(api)
        assert "foregroundDeletion" in api.get(path)["metadata"]["finalizers"]

        api.patch(f"{CONFIGMAPS}/child", {"metadata": {"finalizers": None}})
        eventually(lambda: api.call("GET", path).status == 404)


def test_a_new_child_of_an_owner_that_waits_goes_too(api: Api) -> None:
    owner, _ = waiting_owner(api)
    late = configmap("late", ownerReferences=owned_by(owner, blocks=True))

    created = api.create(CONFIGMAPS, late)

    assert deleted_names(api, 1, created["metadata"]["resourceVersion"]) == ["late"]


def test_a_child_with_another_owner_leaves_the_owner_that_waits(api: Api) -> None:
    owner, _ = waiting_owner(api)
    kept = api.create(CONFIGMAPS, configmap("kept"))
    both = [*owned_by(owner, blocks=True), *owned_by(kept)]

    api.create(CONFIGMAPS, configmap("second", ownerReferences=both))

    eventually(
        lambda: api.get(f"{CONFIGMAPS}/second")["metadata"]["ownerReferences"] == owned_by(kept)
    )


def test_the_collector_does_not_orphan_what_clients_orphan_by_default(api: Api) -> None:
    """A Job of a CronJob that is deleted goes with its pods."""
    path = "/apis/batch/v1/namespaces/default/jobs"
    owner = api.create(CONFIGMAPS, configmap("owner"))
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "image"}]}}
    metadata = {"name": "job", "ownerReferences": owned_by(owner)}
    job = api.create(path, {"metadata": metadata, "spec": {"template": template}})
    reference = owned_by(job)[0] | {"apiVersion": "batch/v1", "kind": "Job"}
    child = api.create(CONFIGMAPS, configmap("child", ownerReferences=[reference]))

    api.delete(f"{CONFIGMAPS}/owner")

    version = child["metadata"]["resourceVersion"]
    assert deleted_names(api, 2, version) == ["owner", "child"]


REFUSED = {
    "apiGroups": ["", "example.com"],
    "apiVersions": ["*"],
    "resources": ["*"],
    "operations": ["UPDATE", "DELETE"],
}


def refuse_changes_of(api: Api, name: str) -> None:
    """Let admission refuse changes of objects of a name, until the policy ``p`` is deleted."""
    spec = {
        "matchConstraints": {"resourceRules": [REFUSED]},
        "validations": [{"expression": f"oldObject.metadata.name != '{name}'"}],
    }
    api.create(f"{ADMISSION}policies", {"metadata": {"name": "p"}, "spec": spec})
    binding = {"policyName": "p", "validationActions": ["Deny"]}
    api.create(f"{ADMISSION}policybindings", {"metadata": {"name": "b"}, "spec": binding})


@pytest.mark.parametrize(
    ("deleted", "propagation", "event"),
    [
        (["one", "two"], "Background", "DELETED"),
        (["one"], "Background", "MODIFIED"),
        (["one", "two"], "Orphan", "MODIFIED"),
        (["one", "two"], "Foreground", "DELETED"),
    ],
)
def test_what_admission_refuses_is_tried_again(
    api: Api, deleted: list[str], propagation: str, event: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "clientgo.testcluster.server")
    owners = [api.create(CONFIGMAPS, configmap(name)) for name in ("one", "two")]
    references = owned_by(*owners, blocks=True)
    child = api.create(CONFIGMAPS, configmap("child", ownerReferences=references))
    refuse_changes_of(api, "child")
    selector = {"fieldSelector": "metadata.name=child"}
    watch = api.watch(CONFIGMAPS, resourceVersion=child["metadata"]["resourceVersion"], **selector)
    for name in deleted:
        api.delete(f"{CONFIGMAPS}/{name}", {"propagationPolicy": propagation})
    eventually(lambda: "garbage collector: default/child" in caplog.text)

    api.delete(f"{ADMISSION}policies/p")

    assert next(seen["type"] for seen in watch if seen["type"] == event)
    watch.close()


def test_a_definition_goes_when_admission_refuses_its_objects_no_longer(
    api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "clientgo.testcluster.server")
    definition = api.create(CRDS, widget_crd())
    eventually(lambda: api.call("GET", WIDGETS).status == 200)
    api.create(WIDGETS, widget("kept"))
    refuse_changes_of(api, "kept")
    watch = api.watch(CRDS, resourceVersion=definition["metadata"]["resourceVersion"])
    api.delete(f"{CRDS}/{definition['metadata']['name']}")
    eventually(lambda: "keeps default/kept" in caplog.text)

    api.delete(f"{ADMISSION}policies/p")

    assert next(seen for seen in watch if seen["type"] == "DELETED")
    watch.close()
