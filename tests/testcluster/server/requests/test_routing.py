"""Paths and methods: what is served, and how the rest is refused."""

from __future__ import annotations

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer
from tests.testcluster.server.http_api import (
    CONFIGMAPS,
    MERGE_PATCH,
    WIDGETS,
    Answer,
    Api,
    configmap,
    widget,
)


def refusal(answer: Answer) -> tuple[int, str]:
    """Return the code and the form of a refusal: a Status or plain text."""
    if isinstance(answer.body, dict):
        assert answer.body["kind"] == "Status"
        return answer.status, "Status"
    return answer.status, answer.body or ""


@pytest.mark.parametrize(
    "path",
    [
        "/api/v2/namespaces/default/configmaps",
        "/api/bogus",
        "/api/v1//namespaces/default/configmaps",
        "/api/v1/bogus",
        "/api/v1/namespaces/default/nodes",
        "/api/v1/configmaps/a",
        "/api/v1/namespaces/default/configmaps/a/bogus",
        "/api/v1/namespaces/default/configmaps/a/b/c",
        "/apis/apps/v2",
        "/apis/apps/v1/namespaces/default",
    ],
)
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_an_unknown_path_of_a_built_in_group_is_a_status(api: Api, method: str, path: str) -> None:
    assert refusal(api.call(method, path)) == (404, "Status")


@pytest.mark.parametrize(
    "path", ["/apis/other.example.com/v1/things", "/apis/example.com/v2/widgets", "/bogus"]
)
def test_an_unknown_path_elsewhere_is_plain_text(widgets: Api, path: str) -> None:
    assert refusal(widgets.call("GET", path)) == (404, "404 page not found\n")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PATCH", CONFIGMAPS),
        ("PUT", f"{CONFIGMAPS}/"),
        ("POST", f"{CONFIGMAPS}/a"),
        ("OPTIONS", CONFIGMAPS),
        ("POST", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/configmaps"),
        ("GET", "/api/v1/namespaces/default/bindings"),
        ("PATCH", "/api/v1/namespaces//configmaps"),
        ("DELETE", "/api/v1/nodes/a/status"),
        ("PUT", "/api/v1/watch/namespaces/default/configmaps/a"),
        ("POST", "/api"),
        ("PUT", "/api/"),
        ("POST", "/apis/apps/v1"),
        ("BOGUS", CONFIGMAPS),
    ],
)
def test_an_unsupported_method_of_a_known_path_is_405(api: Api, method: str, path: str) -> None:
    assert refusal(api.call(method, path)) == (405, "Status")


def test_only_custom_resources_answer_head(widgets: Api) -> None:
    assert widgets.call("HEAD", CONFIGMAPS).status == 405
    assert widgets.call("HEAD", WIDGETS).status == 200


@pytest.mark.parametrize("method", ["GET", "POST", "BOGUS"])
@pytest.mark.parametrize("path", ["/apis", "/apis/apps", "/apis/apps/", "/apis/example.com"])
def test_the_documents_of_groups_do_not_look_at_the_method(
    widgets: Api, method: str, path: str
) -> None:
    assert widgets.call(method, path).body["kind"] in ("APIGroup", "APIGroupList")


def test_custom_resources_have_no_routes(widgets: Api) -> None:
    everywhere = "/apis/example.com/v1/widgets"

    assert widgets.call("GET", everywhere).status == 200
    for method in ("POST", "PUT", "DELETE", "BOGUS"):
        assert refusal(widgets.call(method, everywhere))[1] == "404 page not found\n", method
    assert widgets.call("POST", f"{WIDGETS}/other", widget("a")).status == 201
    assert refusal(widgets.call("PUT", WIDGETS, widget("a"))) == (400, "Status")
    assert refusal(widgets.call("PATCH", WIDGETS, {}, "text/plain")) == (415, "Status")
    assert refusal(widgets.call("PATCH", WIDGETS, {}, MERGE_PATCH)) == (400, "Status")
    assert refusal(widgets.call("BOGUS", WIDGETS)) == (405, "Status")


def test_an_empty_namespace_is_that_of_no_object(api: Api) -> None:
    path = "/api/v1/namespaces//configmaps"

    created = api.call("POST", path, configmap("a"))

    assert api.call("GET", path).status == 200
    assert (created.status, created.body["details"]["causes"][0]["field"]) == (
        422,
        "metadata.namespace",
    )
    assert api.call("DELETE", path).body["message"] == "Namespace parameter required."


def test_the_old_watch_path_watches(api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a"))
    api.create(CONFIGMAPS, configmap("b"))
    path = "/api/v1/watch/namespaces/default/configmaps"

    with_name = api.watch(f"{path}/b", timeoutSeconds="1")

    assert [event["object"]["metadata"]["name"] for event in with_name] == ["b"]
    assert {"a", "b"} <= {
        event["object"]["metadata"]["name"] for event in api.watch(path, timeoutSeconds="1")
    }


@pytest.mark.parametrize(
    ("timeout", "status"), [("1s", 200), ("1h2m0.5s", 200), ("0", 200), ("1", 400), ("bogus", 400)]
)
def test_a_timeout_is_a_duration(api: Api, timeout: str, status: int) -> None:
    assert api.call("GET", CONFIGMAPS, timeout=timeout).status == status
    assert api.call("GET", CONFIGMAPS, watch="1", timeoutSeconds="1", timeout=timeout).status == 200


@pytest.mark.parametrize("path", ["/version", "/healthz", "/apis", "/nowhere"])
def test_a_bad_timeout_is_refused_whatever_the_path_is(api: Api, path: str) -> None:
    answer = api.call("GET", path, timeout="3x")

    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
    assert answer.body["message"] == (
        'invalid timeout specified in the request URL - time: unknown unit "x" in duration "3x"'
    )


def test_a_bad_timeout_is_refused_before_credentials_are_checked() -> None:
    with EmbeddedAPIServer(token="right") as server:
        assert Api(server.url).call("GET", CONFIGMAPS, timeout="x").status == 400
        assert Api(server.url).call("GET", CONFIGMAPS, timeout="1s").status == 401


def test_what_takes_long_has_no_timeout(api: Api) -> None:
    for path in ("log", "exec", "attach", "portforward", "proxy"):
        pod = f"/api/v1/namespaces/default/pods/a/{path}"
        assert api.call("GET", pod, timeout="x").status != 400, path


def test_a_long_timeout_is_read_quickly(api: Api) -> None:
    for timeout in ("1" * 30_000, "1h" * 15_000 + "x", "." * 30_000):
        assert api.call("GET", CONFIGMAPS, timeout=timeout).status == 400


def test_an_export_is_refused(api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a"))

    assert api.call("GET", f"{CONFIGMAPS}/a", export="true").status == 400
    assert api.call("GET", f"{CONFIGMAPS}/a", export="false").status == 200


@pytest.mark.parametrize("kind", ["endpoints", "componentstatuses"])
def test_clients_of_deprecated_kinds_are_warned(api: Api, kind: str) -> None:
    (warning,) = api.call("GET", f"/api/v1/{kind}").warnings

    assert " is deprecated in v1." in warning


@pytest.mark.parametrize(
    "subresource", ["exec", "attach", "log", "portforward", "proxy", "proxy/index.html"]
)
def test_what_needs_a_running_pod_says_why_it_is_missing(api: Api, subresource: str) -> None:
    pods = "/api/v1/namespaces/default/pods"
    api.create(
        pods,
        {
            "metadata": {"name": "a"},
            "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
        },
    )

    answer = api.call("GET", f"{pods}/a/{subresource}")

    assert (answer.status, answer.body["reason"]) == (501, "NotImplemented")
    assert "runs no pods" in answer.body["message"]
    assert api.call("GET", f"{pods}/b/{subresource}").status == 404


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("name", ["a", "a:80", "http:a:80", "https:a:", "http:a:web"])
def test_a_proxy_is_of_a_name_with_scheme_and_port(api: Api, method: str, name: str) -> None:
    services = "/api/v1/namespaces/default/services"
    api.create(services, {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}})

    assert api.call(method, f"{services}/{name}/proxy/x").status == 501
    assert api.call(method, f"{services}/{name.replace('a', 'b')}/proxy").status == 404


def test_an_eviction_and_a_binding_are_of_the_pod_in_the_path(api: Api) -> None:
    pod = "/api/v1/namespaces/default/pods/a"
    for subresource in ("eviction", "binding"):
        answer = api.call("POST", f"{pod}/{subresource}", {"metadata": {"name": "b"}})
        assert refusal(answer) == (400, "Status")
        assert answer.body["message"].startswith("name in URL does not match")


# -- pages about the server


def test_the_root_lists_the_paths(widgets: Api) -> None:
    paths = widgets.get("/")["paths"]

    assert paths == sorted(paths)
    assert {"/api/v1", "/apis/apps/v1", "/apis/example.com", "/healthz/etcd", "/metrics"} <= set(
        paths
    )
    for path in paths:
        assert widgets.call("GET", path).status == 200, path


def test_health_names_the_checks_of_a_real_server(api: Api) -> None:
    pages = {name: api.call("GET", f"/{name}", verbose="1").body for name in ("livez", "readyz")}
    checks = {name: page.splitlines()[:-1] for name, page in pages.items()}

    assert [len(found) for found in checks.values()] == [35, 37]
    assert set(checks["livez"]) - set(checks["readyz"]) == {"[+]loopback-serving-certificate ok"}
    assert set(checks["readyz"]) - set(checks["livez"]) == {
        "[+]etcd-readiness ok",
        "[+]informer-sync ok",
        "[+]shutdown ok",
    }
    assert "[+]autoregister-completion ok" in checks["livez"]
    assert "[+]poststarthook/start-apiextensions-controllers ok" in checks["livez"]


def test_the_version_has_every_field(api: Api) -> None:
    version = api.get("/version/")

    assert (version["major"], version["minor"], version["emulationMinor"]) == ("1", "36", "36")
    assert version["platform"].startswith("linux/") or "/" in version["platform"]
    assert version["minCompatibilityMinor"] == "35"


def test_health_is_told_check_by_check(api: Api) -> None:
    assert api.call("GET", "/livez/ping").body == "ok"
    assert api.call("GET", "/readyz/etcd").body == "ok"
    assert api.call("GET", "/readyz/informer-sync").body == "ok"
    assert api.call("GET", "/livez/informer-sync").status == 404
    assert api.call("POST", "/healthz/bogus").status == 404
    verbose = api.call("GET", "/healthz", verbose="", exclude="etcd").body
    lines = verbose.splitlines()
    assert lines[:2] == ["[+]ping ok", "[+]log ok"]
    assert lines[-1] == "healthz check passed"
    assert "[+]etcd excluded: ok" in lines
    assert api.call("GET", "/livez/poststarthook/crd-informer-synced").body == "ok"
    assert "no matches for" in api.call("GET", "/livez", verbose="", exclude="x").body


def test_the_metrics_count_objects(api: Api) -> None:
    for name in "abc":
        api.create(CONFIGMAPS, configmap(name))

    answer = api.call("GET", "/metrics")

    line = 'apiserver_resource_objects{group="",resource="configmaps"} '
    counts = [text for text in answer.body.splitlines() if text.startswith(line)]
    assert int(counts[0].removeprefix(line)) >= 3
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")


def test_a_missing_component_status_is_reported_by_its_singular_name(api: Api) -> None:
    answer = api.call("GET", "/api/v1/componentstatuses/none")
    assert answer.body["message"] == 'componentstatus "none" not found'
    assert answer.body["details"] == {"name": "none", "kind": "componentstatus"}
