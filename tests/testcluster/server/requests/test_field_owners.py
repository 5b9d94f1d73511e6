"""Who owns the fields of built-in objects."""

from __future__ import annotations

from typing import Any

from tests.testcluster.server.http_api import CONFIGMAPS, WIDGETS, Api, configmap, widget

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SERVICES = "/api/v1/namespaces/default/services"
PODS = "/api/v1/namespaces/default/pods"
MERGE_PATCH = "application/merge-patch+json"


def fields_of(obj: dict[str, Any], index: int = 0) -> dict[str, Any]:
    fields: dict[str, Any] = obj["metadata"]["managedFields"][index]["fieldsV1"]
    return fields


def deployment() -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    return {
        "metadata": {"name": "a"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }


def test_a_struct_that_is_always_written_is_owned_by_no_client(api: Api) -> None:
    spec = fields_of(api.create(DEPLOYMENTS, deployment()))["f:spec"]

    assert "." not in spec
    assert "." not in spec["f:strategy"]
    assert "." not in spec["f:template"]["f:spec"]["f:containers"]
    assert "." not in spec["f:template"]["f:metadata"]
    assert spec["f:strategy"]["f:rollingUpdate"]["."] == {}
    assert spec["f:template"]["f:metadata"]["f:labels"]["."] == {}


def test_what_the_server_allocates_is_owned_by_no_client(api: Api) -> None:
    service = {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}

    created = api.create(SERVICES, service)

    spec = fields_of(created)["f:spec"]
    assert created["spec"]["clusterIP"]
    assert spec.keys().isdisjoint({"f:clusterIP", "f:clusterIPs", "f:ipFamilies"})
    assert {"f:sessionAffinity", "f:type", "f:internalTrafficPolicy"} <= spec.keys()


def test_what_a_client_removes_and_the_server_keeps_has_no_owner(api: Api) -> None:
    ports = [{"port": 80}]
    service = {"metadata": {"name": "a"}, "spec": {"clusterIP": "None", "ports": ports}}
    created = api.create(SERVICES, service)

    removed = api.patch(f"{SERVICES}/a", {"spec": {"clusterIP": None}})

    assert "f:clusterIP" in fields_of(created)["f:spec"]
    assert removed["spec"]["clusterIP"] == "None"
    assert "f:clusterIP" not in fields_of(removed)["f:spec"]


def test_an_event_owns_only_the_texts_that_it_has(api: Api) -> None:
    involved = {"kind": "Pod", "name": "p", "namespace": "default"}
    event = {"metadata": {"name": "a"}, "involvedObject": involved, "reason": "R"}

    created = api.create("/api/v1/namespaces/default/events", event)

    assert created["reportingComponent"] == ""
    assert fields_of(created).keys() == {"f:involvedObject", "f:reason"}


def test_the_actions_of_a_binding_are_owned_with_their_list(api: Api) -> None:
    bindings = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
    spec = {"policyName": "p", "validationActions": ["Deny"]}

    created = api.create(bindings, {"metadata": {"name": "a"}, "spec": spec})

    assert fields_of(created)["f:spec"]["f:validationActions"] == {".": {}, 'v:"Deny"': {}}


def test_the_counter_of_a_daemon_set_is_owned_by_who_leaves_it_out(api: Api) -> None:
    """The served version has it always, so that a write without it says 0."""
    counter = {"f:annotations": {".": {}, "f:deprecated.daemonset.template.generation": {}}}
    sets = "/apis/apps/v1/namespaces/default/daemonsets"

    created = api.create(sets, deployment())

    assert fields_of(created)["f:metadata"] == counter
    assert created["metadata"]["annotations"].popitem()[1] == "1"


def test_a_first_apply_does_not_meet_an_owner(api: Api) -> None:
    body = {"apiVersion": "apps/v1", "kind": "Deployment"} | deployment()

    applied = api.call(
        "PATCH", f"{DEPLOYMENTS}/a", body, "application/apply-patch+yaml", fieldManager="m"
    )

    assert applied.status == 201
    assert [entry["manager"] for entry in applied.body["metadata"]["managedFields"]] == ["m"]


def test_a_write_to_the_status_keeps_what_its_kind_says(api: Api) -> None:
    api.create(DEPLOYMENTS, deployment())
    spec = {"containers": [{"name": "c", "image": "i"}]}
    api.create(PODS, {"metadata": {"name": "a"}, "spec": spec})
    patch = {"metadata": {"labels": {"x": "y"}}}

    kept = api.patch(f"{DEPLOYMENTS}/a/status", patch)
    changed = api.patch(f"{PODS}/a/status", patch)

    assert "labels" not in kept["metadata"]
    assert [entry.get("subresource") for entry in kept["metadata"]["managedFields"]] == [None]
    assert changed["metadata"]["labels"] == {"x": "y"}


def test_an_invalid_status_does_not_stop_a_change_of_the_spec(api: Api) -> None:
    api.create(DEPLOYMENTS, deployment())
    conditions = [{"type": "B"}]
    api.call(
        "PATCH", f"{DEPLOYMENTS}/a/status", {"status": {"conditions": conditions}}, MERGE_PATCH
    )

    assert api.patch(f"{DEPLOYMENTS}/a", {"spec": {"paused": True}})["spec"]["paused"] is True


def test_pods_are_selected_by_their_host_network(api: Api) -> None:
    for name, host_network in (("host", True), ("own", False)):
        spec = {"containers": [{"name": "c", "image": "i"}], "hostNetwork": host_network}
        api.create(PODS, {"metadata": {"name": name}, "spec": spec})

    for value, name in (("true", "host"), ("false", "own")):
        items = api.get(PODS, fieldSelector=f"spec.hostNetwork={value}")["items"]
        assert [item["metadata"]["name"] for item in items] == [name]


def test_a_create_that_conflicts_has_the_warnings_of_its_kind(api: Api) -> None:
    secret = {
        "metadata": {"name": "a"},
        "type": "kubernetes.io/tls",
        "stringData": {"tls.crt": "x", "tls.key": "y"},
    }
    secrets = "/api/v1/namespaces/default/secrets"

    answers = [api.call("POST", secrets, secret) for _ in range(2)]

    assert [(answer.status, len(answer.warnings)) for answer in answers] == [(201, 1), (409, 1)]


def test_entries_of_an_object_that_does_not_fit_its_type_are_not_kept(api: Api) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    metadata = {"name": "a", "managedFields": [{"manager": "x"}]}
    without_key = [{"namespace": "its name, which is the key, is missing"}]

    created = api.create(accounts, {"metadata": metadata, "secrets": without_key})
    read = api.get(f"{accounts}/a")
    read["metadata"]["managedFields"] = [{"manager": "x"}]
    updated = api.call("PUT", f"{accounts}/a", {**read, "automountServiceAccountToken": True})

    assert updated.status == 200
    assert "managedFields" not in created["metadata"]
    assert "managedFields" not in updated.body["metadata"]


def test_an_empty_list_forgets_the_owners_of_built_in_kinds_only(widgets: Api) -> None:
    widgets.create(CONFIGMAPS, configmap("a"))
    widgets.create(WIDGETS, widget("a"))
    forget: dict[str, Any] = {"metadata": {"managedFields": []}}

    for path, forgets in ((f"{CONFIGMAPS}/a", True), (f"{WIDGETS}/a", False)):
        before = widgets.get(path)["metadata"]
        after = widgets.patch(path, forget)["metadata"]
        assert ("managedFields" not in after) == forgets
        assert (after["resourceVersion"] != before["resourceVersion"]) == forgets
        again = widgets.patch(path, forget)["metadata"]
        assert again["resourceVersion"] == after["resourceVersion"]


def test_a_write_without_the_label_of_a_namespace_leaves_it_to_its_owner(api: Api) -> None:
    created = api.create("/api/v1/namespaces", {"metadata": {"name": "a"}})
    [entry] = created["metadata"]["managedFields"]
    label = "f:kubernetes.io/metadata.name"
    assert entry["fieldsV1"]["f:metadata"]["f:labels"] == {".": {}, label: {}}

    body = {"metadata": {"name": "a"}}
    answer = api.call("PUT", "/api/v1/namespaces/a", body, fieldManager="other")

    assert answer.body == created


def test_a_number_is_owned_also_after_an_object_in_which_it_was_zero(api: Api) -> None:
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"

    owned = [
        "f:value" in fields_of(api.create(path, {"metadata": {"name": name}, "value": value}))
        for name, value in (("none", 0), ("some", 5), ("none-again", 0), ("more", 7))
    ]

    assert owned == [False, True, False, True]
