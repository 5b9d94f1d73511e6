"""Paths, parameters and headers whose bytes are no UTF-8, or not ASCII."""

from __future__ import annotations

import logging

import pytest

from tests.testcluster.server.http_api import CONFIGMAPS, Api, configmap
from tests.testcluster.server.users import ROLE_BINDINGS, ROLES, Users

REPLACED = "\ufffd"
ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "Role",
    "metadata": {"name": REPLACED},
    "rules": [],
}
PARAMETERS = [
    "allowWatchBookmarks", "continue", "dryRun", "fieldManager", "fieldSelector", "fieldValidation",
    "force", "gracePeriodSeconds", "labelSelector", "limit", "orphanDependents", "pretty",
    "propagationPolicy", "resourceVersion", "resourceVersionMatch", "sendInitialEvents",
    "timeoutSeconds",
]  # fmt: skip


@pytest.fixture
def role(api: Api) -> Api:
    """A client of a server with a role whose name is what replaces a byte that is no UTF-8."""
    api.create(ROLES, ROLE)
    return api


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_name_that_is_no_utf_8_is_not_the_name_of_another_object(role: Api, method: str) -> None:
    answer = role.call(method, f"{ROLES}/%ff")

    assert answer.status == 404
    assert answer.body["message"] == 'roles.rbac.authorization.k8s.io "\\xff" not found'
    assert answer.body["details"]["name"] == REPLACED
    assert role.get(f"{ROLES}/%EF%BF%BD")["metadata"]["name"] == REPLACED


@pytest.mark.parametrize(
    ("method", "content_type"),
    [("PUT", "application/json"), ("PATCH", "application/apply-patch+yaml")],
)
def test_no_body_names_an_object_whose_name_is_no_utf_8(
    role: Api, method: str, content_type: str
) -> None:
    answer = role.call(method, f"{ROLES}/%ff", ROLE, content_type, fieldManager="a")

    assert answer.status == 400
    assert answer.body["message"] == (
        f"the name of the object ({REPLACED}) does not match the name on the URL ({REPLACED})"
    )


def test_a_byte_selects_no_other_object(role: Api) -> None:
    assert len(role.get(f"{ROLES}?fieldSelector=metadata.name%3D%EF%BF%BD")["items"]) == 1
    assert role.get(f"{ROLES}?fieldSelector=metadata.name%3D%ff")["items"] == []


def test_a_namespace_that_is_no_utf_8_does_not_exist(api: Api) -> None:
    answer = api.call("POST", "/api/v1/namespaces/%ed%a0%80/configmaps", configmap("a"))

    assert answer.status == 404
    assert answer.body["message"] == 'namespaces "\\xed\\xa0\\x80" not found'
    assert answer.body["details"]["name"] == REPLACED * 3


def test_a_failure_is_shown_in_each_media_type(api: Api) -> None:
    in_yaml = api.call("GET", f"{CONFIGMAPS}/%ff", headers={"Accept": "application/yaml"})

    assert (in_yaml.status, 'configmaps "\\xff" not found' in in_yaml.body) == (404, True)


def test_no_parameter_fails_for_bytes(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for name in PARAMETERS:
            for method, path, body in [
                ("POST", CONFIGMAPS, configmap(name.lower())),
                ("GET", CONFIGMAPS, None),
                ("PATCH", f"{CONFIGMAPS}/{name.lower()}", {"data": {"k": "w"}}),
                ("DELETE", f"{CONFIGMAPS}/{name.lower()}", None),
            ]:
                kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
                address = f"{path}?{name}=%ff&%ff=%ff"
                answer = api.call(method, address, body, kind)
                assert answer.status < 500 or answer.body["reason"], (method, address, answer)
    assert caplog.messages == []


def test_a_manager_that_is_no_utf_8_is_stored_replaced(api: Api) -> None:
    api.create(f"{CONFIGMAPS}?fieldManager=a%ff", configmap("a"))

    assert api.get(f"{CONFIGMAPS}/a")["metadata"]["managedFields"][0]["manager"] == f"a{REPLACED}"


def test_a_program_has_a_name_in_utf_8(api: Api) -> None:
    sent = "José/1.0".encode().decode("latin-1")  # as the client's library writes headers
    api.call("POST", CONFIGMAPS, configmap("a"), headers={"User-Agent": sent})

    assert api.get(f"{CONFIGMAPS}/a")["metadata"]["managedFields"][0]["manager"] == "José"


def test_users_have_names_in_utf_8(users: Users) -> None:
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
    users.call("POST", ROLES, {"metadata": {"name": "reader"}, "rules": [rule]})
    binding = {
        "metadata": {"name": "reader"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "José"}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
    }
    assert users.call("POST", ROLE_BINDINGS, binding).status == 201
    sent = "José".encode().decode("latin-1")  # as the client's library writes headers

    assert users.call("GET", "/api/v1/namespaces/default/pods", user=sent).status == 200
    refused = users.call("GET", "/api/v1/namespaces/%ff/pods", user=sent)
    assert refused.status == 403
    assert 'User "José" cannot list' in refused.body["message"]
    assert 'in the namespace "\\xff"' in refused.body["message"]
