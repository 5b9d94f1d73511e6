"""Which names of definitions are accepted, and what follows from their changes."""

from __future__ import annotations

from typing import Any

import pytest
import urllib3

from clientgo.testcluster.server.crds.naming import Acceptance, TakenNames, accept_names
from tests.testcluster.server.http_api import CRDS, WIDGETS, Api, widget_crd

NAMES = {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"}


def taken(**names: Any) -> TakenNames:
    found = TakenNames()
    found.add(names)
    return found


def test_free_names_are_accepted() -> None:
    wanted = {**NAMES, "shortNames": ["f"], "categories": ["all"]}
    other = taken(plural="bars", singular="bar", shortNames=["b"], kind="Bar", listKind="BarList")
    assert accept_names(wanted, {}, other) == Acceptance(wanted)


@pytest.mark.parametrize(
    ("other", "reason", "refused"),
    [
        ({"plural": "foos"}, "PluralConflict", "plural"),
        ({"shortNames": ["foos"]}, "PluralConflict", "plural"),
        ({"plural": "foo"}, "SingularConflict", "singular"),
        ({"singular": "f"}, "ShortNamesConflict", "shortNames"),
        ({"kind": "Foo"}, "KindConflict", "kind"),
        ({"listKind": "Foo"}, "KindConflict", "kind"),
        ({"kind": "FooList"}, "ListKindConflict", "listKind"),
    ],
)
def test_a_name_that_another_resource_has_is_refused_and_the_others_are_accepted(
    other: dict[str, Any], reason: str, refused: str
) -> None:
    wanted = {**NAMES, "shortNames": ["f"]}
    acceptance = accept_names(wanted, {}, taken(**other))
    assert acceptance.reason == reason
    assert acceptance.message.endswith(" is already in use")
    assert acceptance.names == {key: value for key, value in wanted.items() if key != refused}


def test_the_last_conflict_gives_the_reason() -> None:
    acceptance = accept_names(NAMES, {}, taken(plural="foos", kind="Foo"))
    assert acceptance.reason == "KindConflict"
    assert acceptance.message == '"Foo" is already in use'


def test_names_that_were_accepted_stay_accepted() -> None:
    wanted = {**NAMES, "shortNames": ["f", "g", "h"]}
    accepted = {**NAMES, "shortNames": ["f"]}
    acceptance = accept_names(
        wanted, accepted, taken(plural="f", kind="Foo", shortNames=["g", "h"])
    )
    assert acceptance.names == accepted
    assert acceptance.message == '["g" is already in use, "h" is already in use]'


def gadget_crd(**names: Any) -> dict[str, Any]:
    crd = widget_crd()
    crd["metadata"]["name"] = "gadgets.example.com"
    crd["spec"]["names"] = {"plural": "gadgets", "kind": "Gadget", **names}
    return crd


def condition(crd: dict[str, Any], kind: str) -> tuple[str, str]:
    """Status and reason of a condition, empty if it is not there yet."""
    for item in crd["status"].get("conditions") or ():
        if item["type"] == kind:
            return item["status"], item["reason"]
    return "", ""


def wait_for(
    api: Api, kind: str, wanted: tuple[str, str], plural: str = "gadgets"
) -> dict[str, Any]:
    """Wait until a definition has the condition; return it."""
    watch = api.watch(CRDS, fieldSelector=f"metadata.name={plural}.example.com")
    for event in watch:
        if condition(event["object"], kind) == wanted:
            watch.close()
            return event["object"]
    raise AssertionError(f"the watch ended before {kind} was {wanted}")


def test_a_name_is_accepted_when_the_definition_that_has_it_is_deleted(widgets: Api) -> None:
    widgets.create(CRDS, gadget_crd(listKind="Widget"))
    crd = wait_for(widgets, "Established", ("False", "NotAccepted"))
    assert condition(crd, "NamesAccepted") == ("False", "ListKindConflict")
    assert "listKind" not in crd["status"]["acceptedNames"]
    widgets.delete(f"{CRDS}/widgets.example.com")
    crd = wait_for(widgets, "Established", ("True", "InitialNamesAccepted"))
    assert crd["status"]["acceptedNames"]["listKind"] == "Widget"


def test_a_changed_short_name_is_served(widgets: Api) -> None:
    def short_names() -> list[str]:
        [resource, _] = widgets.get("/apis/example.com/v1")["resources"]
        found: list[str] = resource.get("shortNames", [])
        return found

    assert short_names() == []
    watch = widgets.watch(CRDS)
    widgets.patch(f"{CRDS}/widgets.example.com", {"spec": {"names": {"shortNames": ["wi"]}}})
    for event in watch:
        if event["object"]["status"]["acceptedNames"].get("shortNames") == ["wi"]:
            break
    watch.close()
    widgets.get(CRDS)
    assert short_names() == ["wi"]


def aggregated_resources(api: Api) -> list[dict[str, Any]]:
    """Return what the aggregated form of discovery says of example.com/v1."""
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    document = urllib3.request("GET", f"{api.url}/apis", headers={"Accept": accept}).json()
    [group] = [item for item in document["items"] if item["metadata"]["name"] == "example.com"]
    found: list[dict[str, Any]] = group["versions"][0]["resources"]
    return found


def test_discovery_names_the_kind_of_custom_resources_in_full(widgets: Api) -> None:
    [resource] = aggregated_resources(widgets)
    kind = {"group": "example.com", "version": "v1", "kind": "Widget"}
    assert resource["responseKind"] == kind
    assert [item["responseKind"] for item in resource["subresources"]] == [kind]


def test_discovery_offers_no_writes_while_a_definition_is_being_deleted(widgets: Api) -> None:
    held = {"metadata": {"name": "held", "finalizers": ["example.com/held"]}}
    widgets.create(WIDGETS, {"apiVersion": "example.com/v1", "kind": "Widget", **held})
    widgets.delete(f"{CRDS}/widgets.example.com")
    wait_for(widgets, "Terminating", ("True", "InstanceDeletionInProgress"), "widgets")
    [resource, status] = widgets.get("/apis/example.com/v1")["resources"]
    assert resource["verbs"] == ["delete", "deletecollection", "get", "list", "watch"]
    assert status["verbs"] == ["get", "patch", "update"]
    [aggregated] = aggregated_resources(widgets)
    assert aggregated["verbs"] == resource["verbs"]
