"""Service accounts, on a server that makes and demands them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer
from tests.testcluster.server.http_api import Api

NAMESPACES = "/api/v1/namespaces"
DEFAULT = f"{NAMESPACES}/default"
PODS = f"{DEFAULT}/pods"
TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"


@pytest.fixture
def accounts() -> Iterator[Api]:
    with EmbeddedAPIServer(service_accounts=True) as server:
        yield Api(server.url)


def pod(**spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i"}]
    return {"metadata": {"name": "a"}, "spec": {"containers": containers, **spec}}


@pytest.mark.parametrize("name", ["default", "kube-system", "mine"])
def test_each_namespace_has_an_account_and_the_authority(accounts: Api, name: str) -> None:
    if name == "mine":
        accounts.create(NAMESPACES, {"metadata": {"name": name}})

    account = accounts.get(f"{NAMESPACES}/{name}/serviceaccounts/default")
    authority = accounts.get(f"{NAMESPACES}/{name}/configmaps/kube-root-ca.crt")

    assert account["metadata"]["namespace"] == name
    assert authority["data"] == {"ca.crt": ""}


def test_they_come_back_if_a_client_removes_them(accounts: Api) -> None:
    path = f"{DEFAULT}/configmaps/kube-root-ca.crt"
    accounts.delete(path)
    accounts.delete(f"{DEFAULT}/serviceaccounts/default")
    restored = accounts.get(path)
    accounts.patch(path, {"data": {"ca.crt": "forged"}})

    assert accounts.get(path)["data"] == restored["data"]
    assert accounts.get(f"{DEFAULT}/serviceaccounts/default")


def test_a_namespace_with_an_account_can_be_deleted(accounts: Api) -> None:
    accounts.create(NAMESPACES, {"metadata": {"name": "mine"}})
    watch = accounts.watch(NAMESPACES, fieldSelector="metadata.name=mine")
    accounts.delete(f"{NAMESPACES}/mine")
    deleted = next(event for event in watch if event["type"] == "DELETED")
    watch.close()

    assert deleted["object"]["metadata"]["name"] == "mine"


def test_a_pod_runs_as_the_default_account_and_reads_its_token(accounts: Api) -> None:
    spec = accounts.create(PODS, pod())["spec"]
    mount = spec["containers"][0]["volumeMounts"][0]
    [volume] = spec["volumes"]

    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    assert mount["mountPath"] == TOKEN_PATH
    assert mount["name"] == volume["name"]
    assert [next(iter(source)) for source in volume["projected"]["sources"]] == [
        "serviceAccountToken",
        "configMap",
        "downwardAPI",
    ]


def test_a_pod_may_go_without_a_token(accounts: Api) -> None:
    assert "volumes" not in accounts.create(PODS, pod(automountServiceAccountToken=False))["spec"]


def test_a_pod_without_containers_is_refused_like_without_accounts(accounts: Api) -> None:
    answer = accounts.call("POST", PODS, {"metadata": {"name": "a"}, "spec": {}})
    assert (answer.status, answer.body["details"]["causes"][0]["field"]) == (422, "spec.containers")


def test_an_account_that_does_not_exist_is_refused(accounts: Api) -> None:
    answer = accounts.call("POST", PODS, pod(serviceAccountName="none"))

    assert answer.status == 403
    assert 'serviceaccount "none" not found' in answer.body["message"]


def test_a_pod_pulls_with_the_secrets_of_its_account(accounts: Api) -> None:
    secrets = [{"name": "registry"}]
    body = {"metadata": {"name": "puller"}, "imagePullSecrets": secrets}
    accounts.create(f"{DEFAULT}/serviceaccounts", body)

    spec = accounts.create(PODS, pod(serviceAccountName="puller"))["spec"]

    assert spec["imagePullSecrets"] == secrets


def test_other_servers_have_no_accounts(api: Api) -> None:
    assert api.get("/api/v1/serviceaccounts")["items"] == []
    assert "serviceAccountName" not in api.create(PODS, pod())["spec"]


def test_aggregated_servers_find_how_users_are_known(accounts: Api) -> None:
    path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"

    assert accounts.get(path)["metadata"]["namespace"] == "kube-system"
