"""What a real API server sets and refuses by default."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testcluster.server.http_api import Answer, Api

DEFAULT = "/api/v1/namespaces/default"
PODS = f"{DEFAULT}/pods"
CLAIMS = f"{DEFAULT}/persistentvolumeclaims"
PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"
RUNTIMES = "/apis/node.k8s.io/v1/runtimeclasses"
STORAGE = "/apis/storage.k8s.io/v1/storageclasses"
INGRESSES = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
INGRESS_CLASSES = "/apis/networking.k8s.io/v1/ingressclasses"


def named(name: str, **body: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, **body}


def post_pod(api: Api, name: str = "a", **spec: Any) -> Answer:
    containers = [{"name": "c", "image": "i"}]
    return api.call("POST", PODS, named(name, spec={"containers": containers, **spec}))


def message(answer: Answer) -> str:
    assert answer.status == 403, answer.body
    return str(answer.body["message"])


# -- priority


def test_a_pod_has_the_priority_of_its_class(api: Api) -> None:
    api.create(PRIORITIES, named("high", value=7, preemptionPolicy="Never"))

    spec = post_pod(api, priorityClassName="high").body["spec"]

    assert (spec["priority"], spec["preemptionPolicy"]) == (7, "Never")


def test_a_pod_without_class_has_the_default_class(api: Api) -> None:
    before = post_pod(api, "before").body["spec"]
    api.create(PRIORITIES, named("usual", value=3, globalDefault=True))
    after = post_pod(api, "after").body["spec"]

    assert "priorityClassName" not in before
    assert before["priority"] == 0
    assert (after["priorityClassName"], after["priority"]) == ("usual", 3)


def test_a_priority_class_that_does_not_exist_is_refused(api: Api) -> None:
    refusal = message(post_pod(api, priorityClassName="none"))

    assert refusal == 'pods "a" is forbidden: no PriorityClass with name none was found'


def test_a_priority_that_is_not_of_the_class_is_refused(api: Api) -> None:
    assert "must not be provided" in message(post_pod(api, priority=5))


def test_there_is_one_default_priority_class(api: Api) -> None:
    api.create(PRIORITIES, named("usual", value=3, globalDefault=True))
    second = api.call("POST", PRIORITIES, named("second", value=4, globalDefault=True))

    assert "usual is already marked as default" in message(second)
    api.delete(f"{PRIORITIES}/usual")
    api.create(PRIORITIES, named("second", value=4, globalDefault=True))


# -- runtime classes


def test_a_runtime_class_adds_what_its_pods_need(api: Api) -> None:
    scheduling = {"nodeSelector": {"arch": "x"}}
    overhead = {"podFixed": {"cpu": "250m"}}
    runtime = named("gv", handler="gv", overhead=overhead, scheduling=scheduling)
    api.create(RUNTIMES, runtime)

    spec = post_pod(api, runtimeClassName="gv", nodeSelector={"disk": "ssd"}).body["spec"]

    assert spec["overhead"] == {"cpu": "250m"}
    assert spec["nodeSelector"] == {"arch": "x", "disk": "ssd"}
    conflict = post_pod(api, "b", runtimeClassName="gv", nodeSelector={"arch": "y"})
    assert "nodeSelector[arch]" in message(conflict)


def test_a_runtime_class_that_does_not_exist_is_refused(api: Api) -> None:
    refusal = message(post_pod(api, runtimeClassName="none"))

    assert refusal.endswith('pod rejected: RuntimeClass "none" not found')


@pytest.mark.parametrize("runtime_class", [{}, {"runtimeClassName": "plain"}])
def test_overhead_that_no_runtime_class_says_is_refused(
    api: Api, runtime_class: dict[str, Any]
) -> None:
    api.create(RUNTIMES, named("plain", handler="plain"))

    refused = post_pod(api, overhead={"cpu": "1"}, **runtime_class)

    assert refused.status == 403
    assert "Overhead set without corresponding RuntimeClass" in message(refused)


# -- limit ranges

LIMITS = "/api/v1/namespaces/default/limitranges"
OF_CONTAINER = {
    "type": "Container",
    "default": {"cpu": "500m"},
    "defaultRequest": {"cpu": "100m", "memory": "1Mi"},
    "min": {"cpu": "50m"},
    "max": {"cpu": "1"},
    "maxLimitRequestRatio": {"cpu": "5"},
}
OF_POD = {"type": "Pod", "max": {"cpu": "1500m"}}
OF_CLAIM = {
    "type": "PersistentVolumeClaim",
    "min": {"storage": "1Gi"},
    "max": {"storage": "2Gi"},
}


def test_a_limit_range_gives_the_containers_of_a_new_pod_its_defaults(api: Api) -> None:
    api.create(LIMITS, named("limits", spec={"limits": [OF_CONTAINER]}))
    first = [{"name": "f", "image": "i", "resources": {"requests": {"cpu": "200m"}}}]

    pod = post_pod(api, initContainers=first).body

    expected = {"requests": {"cpu": "100m", "memory": "1Mi"}, "limits": {"cpu": "500m"}}
    assert pod["spec"]["containers"][0]["resources"] == expected
    assert pod["status"]["qosClass"] == "Burstable"
    assert pod["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
        "LimitRanger plugin set: cpu, memory request for container c; cpu limit for container c; "
        "memory request for init container f; cpu limit for init container f"
    )


@pytest.mark.parametrize(
    ("item", "resources", "expected"),
    [
        (
            OF_CONTAINER,
            {"limits": {"cpu": "2"}},
            "maximum cpu usage per Container is 1, but limit is 2",
        ),
        (
            OF_CONTAINER,
            {"requests": {"cpu": "10m"}},
            "[minimum cpu usage per Container is 50m, but request is 10m, "
            "cpu max limit to request ratio per Container is 5, but provided ratio is 50.000000]",
        ),
        (OF_POD, {"limits": {"cpu": "2"}}, "maximum cpu usage per Pod is 1500m, but limit is 2"),
        (OF_POD, {}, "maximum cpu usage per Pod is 1500m.  No limit is specified"),
    ],
)
def test_a_pod_outside_of_a_limit_range_is_refused(
    api: Api, item: dict[str, Any], resources: dict[str, Any], expected: str
) -> None:
    api.create(LIMITS, named("limits", spec={"limits": [item]}))

    refused = post_pod(api, containers=[{"name": "c", "image": "i", "resources": resources}])

    assert message(refused) == f'pods "a" is forbidden: {expected}'


@pytest.mark.parametrize(("size", "status"), [("1Mi", 403), ("1Gi", 201), ("3Gi", 403)])
def test_a_claim_outside_of_a_limit_range_is_refused(api: Api, size: str, status: int) -> None:
    api.create(LIMITS, named("limits", spec={"limits": [OF_CLAIM]}))
    claim = {**CLAIM, "resources": {"requests": {"storage": size}}}

    assert api.call("POST", CLAIMS, named("a", spec=claim)).status == status


# -- volumes

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
DEFAULT_STORAGE = {"storageclass.kubernetes.io/is-default-class": "true"}


def storage_class(name: str, annotations: dict[str, str]) -> dict[str, Any]:
    return {"metadata": {"name": name, "annotations": annotations}, "provisioner": "example.com/p"}


def test_a_claim_without_class_gets_the_default_class(api: Api) -> None:
    before = api.create(CLAIMS, named("before", spec=CLAIM))
    api.create(STORAGE, storage_class("other", {}))
    api.create(STORAGE, storage_class("usual", DEFAULT_STORAGE))
    after = api.create(CLAIMS, named("after", spec=CLAIM))
    none = api.create(CLAIMS, named("none", spec={**CLAIM, "storageClassName": ""}))

    assert "storageClassName" not in before["spec"]
    assert after["spec"]["storageClassName"] == "usual"
    assert none["spec"]["storageClassName"] == ""


def test_a_claim_stays_until_nobody_protects_it(api: Api) -> None:
    claim = api.create(CLAIMS, named("a", spec=CLAIM))
    deleted = api.delete(f"{CLAIMS}/a")

    assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    assert deleted["metadata"]["deletionTimestamp"]
    api.patch(f"{CLAIMS}/a", {"metadata": {"finalizers": None}})
    assert api.call("GET", f"{CLAIMS}/a").status == 404


def test_a_namespace_takes_its_claims_along(api: Api) -> None:
    api.create("/api/v1/namespaces", named("n"))
    claims = CLAIMS.replace("default", "n")
    api.create(claims, named("a", spec=CLAIM))
    watch = api.watch("/api/v1/namespaces", fieldSelector="metadata.name=n")
    api.delete("/api/v1/namespaces/n")
    ended = next(event for event in watch if event["type"] == "DELETED")
    watch.close()

    assert ended["object"]["metadata"]["name"] == "n"


# -- ingresses, nodes, certificate requests


def test_an_ingress_without_class_gets_the_default_class(api: Api) -> None:
    annotations = {"ingressclass.kubernetes.io/is-default-class": "true"}
    body = {"metadata": {"name": "usual", "annotations": annotations}}
    api.create(INGRESS_CLASSES, {**body, "spec": {"controller": "example.com/c"}})
    backend = {"service": {"name": "s", "port": {"number": 80}}}

    ingress = api.create(INGRESSES, named("a", spec={"defaultBackend": backend}))

    assert ingress["spec"]["ingressClassName"] == "usual"


def test_a_new_node_is_not_ready(api: Api) -> None:
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    node = api.create("/api/v1/nodes", named("a"))
    freed = api.patch("/api/v1/nodes/a", {"spec": {"taints": None}})

    assert node["spec"]["taints"] == [taint]
    assert "taints" not in freed["spec"]


def test_a_certificate_request_says_who_made_it(api: Api) -> None:
    spec = {"request": "eA==", "signerName": "example.com/s", "usages": ["client auth"]}
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

    created = api.create(path, named("a", spec={**spec, "username": "mallory"}))

    assert created["spec"]["username"] == "clientgo"


# -- evictions

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


def evict(api: Api, name: str, **options: Any) -> Answer:
    body = named(name, apiVersion="policy/v1", kind="Eviction", deleteOptions=options)
    return api.call("POST", f"{PODS}/{name}/eviction", body)


def guarded_pods(api: Api, allowed: int, *names: str, observed: int = 1) -> None:
    """Create running pods, and a budget that allows some disruptions."""
    for name in names:
        pod = {"containers": [{"name": "c", "image": "i"}]}
        labels = {"app": "x"}
        api.create(PODS, {"metadata": {"name": name, "labels": labels}, "spec": pod})
        ready = {"type": "Ready", "status": "True"}
        api.patch(f"{PODS}/{name}/status", {"status": {"phase": "Running", "conditions": [ready]}})
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}
    api.create(BUDGETS, named("b", spec=spec))
    status = {
        "observedGeneration": observed,
        "disruptionsAllowed": allowed,
        "currentHealthy": len(names),
        "desiredHealthy": 1,
        "expectedPods": len(names),
    }
    api.patch(f"{BUDGETS}/b/status", {"status": status})


def test_a_budget_allows_as_many_evictions_as_it_says(api: Api) -> None:
    guarded_pods(api, 1, "a", "b")

    assert evict(api, "a").status == 201
    refused = evict(api, "b")

    assert (refused.status, refused.body["reason"]) == (429, "TooManyRequests")
    assert refused.body["details"]["causes"][0]["reason"] == "DisruptionBudget"
    assert [item["metadata"]["name"] for item in api.get(PODS)["items"]] == ["b"]
    status = api.get(f"{BUDGETS}/b")["status"]
    assert status["disruptionsAllowed"] == 0
    assert list(status["disruptedPods"]) == ["a"]


def test_a_budget_that_no_controller_has_seen_says_when_to_retry(api: Api) -> None:
    guarded_pods(api, 5, "a", observed=0)

    refused = evict(api, "a")

    assert refused.status == 429
    assert refused.body["details"]["retryAfterSeconds"] == 10


def test_a_dry_run_uses_no_disruption(api: Api) -> None:
    guarded_pods(api, 1, "a")

    assert evict(api, "a", dryRun=["All"]).status == 201
    assert api.get(f"{BUDGETS}/b")["status"]["disruptionsAllowed"] == 1
    assert api.get(f"{PODS}/a")


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
def test_a_pod_that_does_not_run_needs_no_budget(api: Api, phase: str) -> None:
    guarded_pods(api, 0, "a")
    api.patch(f"{PODS}/a/status", {"status": {"phase": phase}})

    assert evict(api, "a").status == 201


def test_a_pod_that_is_not_ready_needs_no_budget_while_enough_are(api: Api) -> None:
    guarded_pods(api, 0, "a", "b")
    api.patch(f"{PODS}/a/status", {"status": {"conditions": None}})

    assert evict(api, "a").status == 201
    assert evict(api, "b").status == 429


def test_the_eviction_must_name_its_pod(api: Api) -> None:
    post_pod(api)

    assert api.call("POST", f"{PODS}/a/eviction", {}).status == 400


# -- quotas


QUOTAS = f"{DEFAULT}/resourcequotas"


def quota(api: Api, **spec: Any) -> None:
    api.create(QUOTAS, named("q", spec=spec))


def using(*, cpu: str = "300m") -> list[dict[str, Any]]:
    resources = {"requests": {"cpu": cpu, "memory": "64Mi"}}
    return [{"name": "c", "image": "i", "resources": resources}]


def test_an_amount_of_a_quota_may_have_many_digits(api: Api) -> None:
    quota(api, hard={"count/leases.coordination.k8s.io": 10**30, "requests.memory": 10**30})


def test_objects_above_the_count_of_a_quota_are_refused(api: Api) -> None:
    quota(api, hard={"count/leases.coordination.k8s.io": "1", "pods": "1"})
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    api.create(leases, named("a"))
    lease = api.call("POST", leases, named("b"))
    post_pod(api)
    pod = post_pod(api, "b")

    assert message(lease) == (
        'leases.coordination.k8s.io "b" is forbidden: exceeded quota: q, '
        "requested: count/leases.coordination.k8s.io=1, "
        "used: count/leases.coordination.k8s.io=1, limited: count/leases.coordination.k8s.io=1"
    )
    assert message(pod) == (
        'pods "b" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1'
    )


def test_what_is_deleted_or_has_ended_uses_nothing(api: Api) -> None:
    quota(api, hard={"pods": "1"})
    post_pod(api)
    api.delete(f"{PODS}/a")
    assert post_pod(api, "b").status == 201
    api.patch(f"{PODS}/b/status", {"status": {"phase": "Succeeded"}})
    assert post_pod(api, "c").status == 201
    assert post_pod(api, "d").status == 403


def test_the_requests_of_pods_are_added_up(api: Api) -> None:
    quota(api, hard={"requests.cpu": "1", "memory": "128Mi"})
    post_pod(api, containers=using())
    post_pod(api, "b", containers=using())
    third = post_pod(api, "c", containers=using(cpu="500m"))

    assert message(third).endswith(
        "exceeded quota: q, requested: memory=64Mi,requests.cpu=500m, "
        "used: memory=128Mi,requests.cpu=600m, limited: memory=128Mi,requests.cpu=1"
    )


def test_a_pod_says_what_it_needs_of_a_limited_resource(api: Api) -> None:
    quota(api, hard={"limits.cpu": "1", "requests.memory": "1Gi"})

    assert message(post_pod(api)).endswith(
        "failed quota: q: must specify limits.cpu for: c; requests.memory for: c"
    )


@pytest.mark.parametrize(
    ("scope", "refused"),
    [
        ({"scopes": ["BestEffort"]}, True),
        ({"scopes": ["NotBestEffort"]}, False),
        ({"scopes": ["NotTerminating"]}, True),
        ({"scopes": ["Terminating"]}, False),
        (
            {
                "scopeSelector": {
                    "matchExpressions": [
                        {"scopeName": "PriorityClass", "operator": "In", "values": ["x"]}
                    ]
                }
            },
            False,
        ),
    ],
)
def test_a_quota_limits_the_pods_of_its_scopes(
    api: Api, scope: dict[str, Any], refused: bool
) -> None:
    quota(api, hard={"pods": "0"}, **scope)
    assert (post_pod(api).status == 403) is refused


def test_a_service_that_becomes_a_load_balancer_needs_quota(api: Api) -> None:
    services = f"{DEFAULT}/services"
    quota(api, hard={"services.loadbalancers": "0", "services.nodeports": "1"})
    api.create(services, named("a", spec={"ports": [{"port": 80}]}))
    change = {"spec": {"type": "LoadBalancer"}}
    answer = api.call("PATCH", f"{services}/a", change, "application/merge-patch+json")

    assert "requested: services.loadbalancers=1, used: services.loadbalancers=0" in message(answer)


def test_claims_share_the_storage_of_a_quota(api: Api) -> None:
    quota(api, hard={"requests.storage": "3Gi"})
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
    api.create(CLAIMS, named("a", spec=spec))

    assert message(api.call("POST", CLAIMS, named("b", spec=spec))).endswith(
        "requested: requests.storage=2Gi, used: requests.storage=2Gi, limited: requests.storage=3Gi"
    )
