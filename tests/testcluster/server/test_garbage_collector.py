"""Objects are deleted with their owners, as the propagation policy says."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from clientgo.testcluster.server.controllers import garbage_collector
from clientgo.testcluster.server.controllers.garbage_collector import GarbageCollector
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


def test_many_references_to_one_owner_are_each_looked_at_once(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were compared with each other: 25,000 of them for a minute."""
    compared: list[Any] = []

    class Reference(dict[str, Any]):
        def __eq__(self, other: object) -> bool:
            compared.append(other)
            return dict.__eq__(self, other)

    references = garbage_collector._references
    monkeypatch.setattr(
        garbage_collector,
        "_references",
        lambda stored: [Reference(item) for item in references(stored)],
    )
    released: list[tuple[str, ...]] = []
    both = threading.Event()
    release = GarbageCollector._release_owners

    async def recorded(collector: GarbageCollector, owners: tuple[str, ...]) -> None:
        released.append(owners)
        both.set()
        await release(collector, owners)

    monkeypatch.setattr(GarbageCollector, "_release_owners", recorded)
    owner = api.create(CONFIGMAPS, configmap("owner"))
    [reference] = owned_by(owner)
    missing = {**reference, "uid": "missing"}
    many = [{**reference, "name": f"name-{number}"} for number in range(50)]
    child = api.create(CONFIGMAPS, configmap("child", ownerReferences=[*many, missing]))
    watch = api.watch(CONFIGMAPS, resourceVersion=child["metadata"]["resourceVersion"])

    left = watch.next()["object"]["metadata"]["ownerReferences"]

    watch.close()
    assert len(left) == 50
    assert compared == []
    assert both.wait(30)
    assert released[0] == (owner["metadata"]["uid"], "missing")


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
