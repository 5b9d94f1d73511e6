"""A namespace that is being deleted shows what it waits for."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer
from tests.testcluster.server.http_api import MERGE_PATCH, Api, Watch, configmap

NAMESPACES = "/api/v1/namespaces"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
DELETIONS = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["configmaps"],
    "operations": ["DELETE"],
}


def watch_from(api: Api, created: dict[str, Any]) -> Watch:
    """Watch a namespace since its creation."""
    metadata = created["metadata"]
    selector = f"metadata.name={metadata['name']}"
    return api.watch(
        NAMESPACES, resourceVersion=metadata["resourceVersion"], fieldSelector=selector
    )


def first_conditions(watch: Watch) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the first status with conditions, and its conditions by type."""
    status = next(
        status for event in watch if (status := event["object"]["status"]).get("conditions")
    )
    return status, {item["type"]: item for item in status["conditions"]}


def test_what_is_left_is_shown_and_goes_at_last(api: Api) -> None:
    created = api.create(NAMESPACES, {"metadata": {"name": "ns"}})
    configmaps = f"{NAMESPACES}/ns/configmaps"
    api.create(configmaps, configmap("kept", finalizers=["e.com/x"]))
    api.create(configmaps, configmap("goes"))
    watch = watch_from(api, created)

    api.delete(f"{NAMESPACES}/ns")

    status, conditions = first_conditions(watch)
    assert status["phase"] == "Terminating"
    assert conditions["NamespaceDeletionDiscoveryFailure"]["status"] == "False"
    assert conditions["NamespaceContentRemaining"]["reason"] == "SomeResourcesRemain"
    assert conditions["NamespaceContentRemaining"]["message"] == (
        "Some resources are remaining: configmaps. has 1 resource instances"
    )
    assert conditions["NamespaceFinalizersRemaining"]["message"] == (
        "Some content in the namespace has finalizers remaining: e.com/x in 1 resource instances"
    )
    api.call("PATCH", f"{configmaps}/kept", {"metadata": {"finalizers": None}}, MERGE_PATCH)
    assert next(event for event in watch if event["type"] == "DELETED")
    watch.close()


@pytest.mark.parametrize("restarts", [False, True])
def test_a_refused_deletion_of_content_is_tried_again(
    server: EmbeddedAPIServer, api: Api, *, restarts: bool
) -> None:
    """Found by random requests: the namespace was emptied by the next start of the server."""
    rules = {"matchConstraints": {"resourceRules": [DELETIONS]}}
    refusal = {"spec": {**rules, "validations": [{"expression": "false"}]}}
    api.create(POLICIES, {"metadata": {"name": "p"}, **refusal})
    binding = {"spec": {"policyName": "p", "validationActions": ["Deny"]}}
    api.create(BINDINGS, {"metadata": {"name": "b"}, **binding})
    created = api.create(NAMESPACES, {"metadata": {"name": "ns"}})
    api.create(f"{NAMESPACES}/ns/configmaps", configmap("a"))
    watch = watch_from(api, created)
    api.delete(f"{NAMESPACES}/ns")
    _status, conditions = first_conditions(watch)
    refused = conditions["NamespaceDeletionContentFailure"]
    assert (refused["status"], refused["reason"]) == ("True", "ContentDeletionFailed")
    assert refused["message"] == (
        'Failed to delete all resource types, 1 remaining: configmaps "a" is forbidden: '
        "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed expression: false"
    )
    assert conditions["NamespaceContentRemaining"]["reason"] == "ContentRemoved"
    assert conditions["NamespaceFinalizersRemaining"]["reason"] == "ContentHasNoFinalizers"

    if restarts:
        server.restart()
        watch = watch_from(api, created)
    api.delete(f"{POLICIES}/p")

    assert next(event for event in watch if event["type"] == "DELETED")
    watch.close()


def test_pods_go_first(api: Api) -> None:
    """What pods may need stays until the last of them has gone."""
    created = api.create(NAMESPACES, {"metadata": {"name": "ns"}})
    spec = {"containers": [{"name": "c", "image": "image"}]}
    for name in ("one", "two"):
        kept = {"name": name, "finalizers": [f"example.com/{name}"]}
        api.create(f"{NAMESPACES}/ns/pods", {"metadata": kept, "spec": spec})
    api.create(f"{NAMESPACES}/ns/pods", {"metadata": {"name": "goes"}, "spec": spec})
    first = api.create(f"{NAMESPACES}/ns/configmaps", configmap("a"))
    api.create(f"{NAMESPACES}/ns/secrets", {"metadata": {"name": "s"}})
    watch = watch_from(api, created)

    api.delete(f"{NAMESPACES}/ns")

    _status, conditions = first_conditions(watch)
    assert conditions["NamespaceContentRemaining"]["message"] == (
        "Some resources are remaining: pods. has 2 resource instances"
    )
    for name in ("one", "two"):
        pod = api.get(f"{NAMESPACES}/ns/pods/{name}")["metadata"]
        assert "deletionTimestamp" in pod
        assert api.get(f"{NAMESPACES}/ns/configmaps")["items"][0]["metadata"] == first["metadata"]
        assert len(api.get(f"{NAMESPACES}/ns/secrets")["items"]) == 1
        patch = {"metadata": {"finalizers": None}}
        api.call("PATCH", f"{NAMESPACES}/ns/pods/{name}", patch, MERGE_PATCH)
    assert next(event for event in watch if event["type"] == "DELETED")
    watch.close()


def test_the_kubeconfig_of_plain_http_does_not_verify_tls() -> None:
    with EmbeddedAPIServer() as server:
        [cluster] = server.kubeconfig_data["clusters"]

    assert server.url.startswith("http:")
    assert cluster["cluster"]["insecure-skip-tls-verify"] is True
