"""The scale subresource of custom resources and of built-in kinds."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.server.crds.custom_resources import CustomStrategy
from tests.testcluster.server.fuzz.request_parts import APPLY_PATCH
from tests.testcluster.server.http_api import CRDS, MERGE_PATCH, WIDGETS, Api, widget_crd

SCALE = f"{WIDGETS}/a/scale"
PATHS = {
    "specReplicasPath": ".spec.n",
    "statusReplicasPath": ".status.n",
    "labelSelectorPath": ".status.selector",
}


@pytest.fixture
def scaled(widgets: Api) -> Api:
    """A client for a server whose Widgets have a scale; one Widget is there, with 2 replicas."""
    crd = widget_crd()
    [version] = crd["spec"]["versions"]
    version["schema"]["openAPIV3Schema"] = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    }
    version["subresources"] = {"scale": PATHS}
    with_status = {**version["subresources"], "status": {}}
    changed = [{**version, "subresources": with_status}]
    widgets.patch(f"{CRDS}/widgets.example.com", {"spec": {"versions": changed}})
    widgets.create(WIDGETS, widget({"n": 2}))
    return widgets


def widget(spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "a"},
        "spec": spec,
    }


def scale(replicas: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, "spec": {"replicas": replicas}}


def test_zero_replicas_are_left_out_of_a_scale(scaled: Api) -> None:
    assert scaled.get(SCALE)["spec"] == {"replicas": 2}
    answer = scaled.call("PUT", SCALE, scale(0))
    assert (answer.status, answer.body["spec"]) == (200, {})
    assert scaled.get(f"{WIDGETS}/a")["spec"] == {"n": 0}
    assert scaled.get(SCALE)["spec"] == {}


@pytest.mark.parametrize("replicas", ["1", 2.5, 3.0, 2**31, True, {}])
def test_replicas_are_integers_of_32_bits(scaled: Api, replicas: Any) -> None:
    put = scaled.call("PUT", SCALE, scale(replicas))
    assert (put.status, put.body["reason"]) == (400, "BadRequest")
    patched = scaled.call("PATCH", SCALE, {"spec": {"replicas": replicas}}, MERGE_PATCH)
    assert patched.status == 422
    assert [cause["field"] for cause in patched.body["details"]["causes"]] == ["patch"]


@pytest.mark.parametrize(("replicas", "shown"), [(2**31, -(2**31)), (-(2**63), 0), (2**33 + 5, 5)])
def test_a_scale_shows_the_low_32_bits(scaled: Api, replicas: int, shown: int) -> None:
    """Of a field that an object had before it was made that of the replicas."""
    scaled.patch(f"{WIDGETS}/a", {"spec": {"large": replicas}})
    definition = scaled.get(f"{CRDS}/widgets.example.com")
    definition["spec"]["versions"][0]["subresources"]["scale"]["specReplicasPath"] = ".spec.large"
    assert scaled.call("PUT", f"{CRDS}/widgets.example.com", definition).status == 200

    assert scaled.get(SCALE)["spec"].get("replicas", 0) == shown


def test_negative_replicas_are_an_error_of_the_custom_resource(scaled: Api) -> None:
    answer = scaled.call("PUT", SCALE, scale(-1))
    assert (answer.status, answer.body["details"]["kind"]) == (422, "Widget")
    assert [cause["field"] for cause in answer.body["details"]["causes"]] == [".spec.n"]


def test_a_patch_that_removes_the_replicas_sets_zero(scaled: Api) -> None:
    assert scaled.patch(SCALE, {"spec": {"replicas": None}})["spec"] == {}
    assert scaled.get(f"{WIDGETS}/a")["spec"] == {"n": 0}


def test_a_scale_needs_the_replicas_of_its_object(scaled: Api) -> None:
    scaled.patch(f"{WIDGETS}/a", {"spec": {"n": None}})
    read = scaled.call("GET", SCALE)
    assert (read.status, read.body["reason"]) == (500, "InternalError")
    assert scaled.call("PATCH", SCALE, {"metadata": {}}, MERGE_PATCH).status == 400
    assert scaled.patch(SCALE, {"spec": {"replicas": 3}})["spec"] == {"replicas": 3}


def test_apply_to_the_scale_of_a_custom_resource_fails(scaled: Api) -> None:
    answer = scaled.call("PATCH", SCALE, scale(2), "application/apply-patch+yaml", fieldManager="m")
    assert (answer.status, answer.body.get("reason")) == (500, None)


@pytest.mark.parametrize(
    ("obj", "fields"),
    [
        ({"spec": {"n": 1}, "status": {"n": 1, "selector": "a=b"}}, []),
        ({"spec": {"n": -1}}, [".spec.n"]),
        ({"spec": {"n": 2**31}}, [".spec.n"]),
        ({"spec": {"n": "1"}}, [".spec.n"]),
        ({"spec": {"n": None}}, [".spec.n"]),
        ({"spec": "text"}, [".spec.n"]),
        ({"spec": None}, []),
        ({"spec": {}, "status": {"n": -1, "selector": {}}}, [".status.n", ".status.selector"]),
    ],
)
def test_fields_that_a_scale_shows_are_validated(obj: dict[str, Any], fields: list[str]) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"scale": PATHS},
    }
    strategy = CustomStrategy(version, {})
    assert [cause.field for cause in strategy.validate(obj)] == fields
    in_status = [field for field in fields if field.startswith(".status")]
    assert [cause.field for cause in strategy.validate_status_update(obj, obj)] == in_status


DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def deployment(**spec: Any) -> dict[str, Any]:
    labels = {"app": "a"}
    containers = {"containers": [{"name": "c", "image": "i"}]}
    template = {"metadata": {"labels": labels}, "spec": containers}
    spec |= {"selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": "a"}, "spec": spec}


def test_apply_to_the_scale_of_a_deployment_owns_its_replicas(api: Api) -> None:
    api.create(DEPLOYMENTS, deployment(replicas=1))
    path = f"{DEPLOYMENTS}/a/scale"
    config = {"apiVersion": "autoscaling/v1", "kind": "Scale", **scale(4)}

    conflict = api.call("PATCH", path, config, APPLY_PATCH, fieldManager="m")
    forced = api.call("PATCH", path, config, APPLY_PATCH, fieldManager="m", force="true")
    managers = api.get(f"{DEPLOYMENTS}/a")["metadata"]["managedFields"]

    assert (conflict.status, conflict.body["details"]["causes"][0]["field"]) == (
        409,
        ".spec.replicas",
    )
    assert (forced.status, forced.body["kind"], forced.body["spec"]) == (
        200,
        "Scale",
        {"replicas": 4},
    )
    [owner] = [entry for entry in managers if entry["manager"] == "m"]
    assert (owner["operation"], owner["apiVersion"]) == ("Apply", "apps/v1")
    assert (owner["subresource"], owner["fieldsV1"]) == (
        "scale",
        {"f:spec": {"f:replicas": {}}},
    )


@pytest.mark.parametrize(("replicas", "owners"), [(4, ["scaler"]), (0, [])])
def test_a_scale_takes_the_replicas_without_a_time_and_nobody_owns_zero(
    api: Api, replicas: int, owners: list[str]
) -> None:
    api.create(DEPLOYMENTS, deployment(replicas=1))
    path = f"{DEPLOYMENTS}/a/scale"
    patch = {"spec": {"replicas": replicas}}

    api.call("PATCH", path, patch, MERGE_PATCH, fieldManager="scaler")

    entries = api.get(f"{DEPLOYMENTS}/a")["metadata"]["managedFields"]
    scalers = [entry for entry in entries if "f:replicas" in entry["fieldsV1"]["f:spec"]]
    assert [entry["manager"] for entry in scalers] == owners
    assert [entry.get("time") for entry in scalers] == [None] * len(owners)


def test_a_scale_owns_no_replicas_that_nobody_owned(api: Api) -> None:
    config = {"apiVersion": "apps/v1", "kind": "Deployment", **deployment()}
    path = f"{DEPLOYMENTS}/a"
    api.call("PATCH", path, config, APPLY_PATCH, fieldManager="m")

    api.call("PATCH", f"{path}/scale", {"spec": {"replicas": 4}}, MERGE_PATCH, fieldManager="s")

    found = api.get(path)
    assert found["spec"]["replicas"] == 4
    assert [entry["manager"] for entry in found["metadata"]["managedFields"]] == ["m"]


@pytest.mark.parametrize(("replicas", "left"), [({}, 0), ({"replicas": 4}, 4)])
def test_replicas_that_an_apply_drops_are_0_if_no_other_manager_has_them(
    api: Api, replicas: dict[str, int], left: int
) -> None:
    """Found by reading upstream: a Scale, unlike a Deployment, has no default number."""
    api.create(DEPLOYMENTS, deployment(**replicas))
    path = f"{DEPLOYMENTS}/a/scale"
    config = {"apiVersion": "autoscaling/v1", "kind": "Scale", **scale(4)}
    api.call("PATCH", path, config, APPLY_PATCH, fieldManager="m", force="true")

    dropped = api.call("PATCH", path, config | {"spec": {}}, APPLY_PATCH, fieldManager="m")

    assert dropped.status == 200
    assert dropped.body["spec"].get("replicas", 0) == left
    assert api.get(f"{DEPLOYMENTS}/a")["spec"]["replicas"] == left


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"kind": "Deployment"}, 400),
        ({"spec": {"replicas": "x"}}, 400),
        ({"spec": {"replicas": -1}}, 422),
        ({"metadata": {"name": "b"}, "spec": {"replicas": 1}}, 400),
        ([], 400),
    ],
)
def test_a_wrong_scale_is_not_applied(api: Api, change: Any, status: int) -> None:
    api.create(DEPLOYMENTS, deployment())
    config = {"apiVersion": "autoscaling/v1", "kind": "Scale", **scale(4)}
    body = {**config, **change} if change else change
    path = "/apis/apps/v1/namespaces/default/deployments/a/scale"
    assert api.call("PATCH", path, body, APPLY_PATCH, fieldManager="m").status == status


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("other", "the name of the object (other) does not match the name on the URL (a)"),
        (None, "the name of the object (a based on URL) was undeterminable"),
    ],
)
def test_a_scale_names_the_object_of_the_request(
    scaled: Api, name: str | None, message: str
) -> None:
    body = scale(1)
    body["metadata"] = {"name": name} if name else {}
    answer = scaled.call("PUT", SCALE, body)
    assert (answer.status, message in answer.body["message"]) == (400, True), answer.body
