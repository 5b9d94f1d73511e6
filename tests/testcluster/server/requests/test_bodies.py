"""Bodies as clients send them: media types, odd documents, fields that are set twice."""

from __future__ import annotations

import pytest

from clientgo.testcluster.server.http.bodies import parse_json
from tests.testcluster.server.http_api import CONFIGMAPS, WIDGETS, Answer, Api, configmap, widget

YAML = "application/yaml"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
SECRETS = "/api/v1/namespaces/default/secrets"

TWICE = b"""\
metadata:
  name: b
  labels: {a: "1"}
  name: a
data: {k: v}
"""


def post(api: Api, body: bytes, content_type: str, **query: str) -> Answer:
    return api.call("POST", CONFIGMAPS, body, content_type, **query)


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json;charset=latin1", 201),
        ("APPLICATION/JSON", 201),
        ('application/json; a="b c"', 201),
        ("application/json; bogus", 415),
        ("application/json;;x", 415),
        ("json", 415),
        ("*/*", 415),
        ("application/apply-patch+yaml", 415),
    ],
)
def test_a_content_type_is_read_with_its_parameters(
    api: Api, content_type: str, status: int
) -> None:
    assert post(api, b'{"metadata":{"name":"a"}}', content_type).status == status
    assert api.call("DELETE", f"{CONFIGMAPS}/a", b"{}", content_type).status == (
        200 if status == 201 else 415
    )


@pytest.mark.parametrize("parameters", ["; " + " " * 30_000, ";  " * 10_000, "; a=b" * 6_000])
def test_a_long_content_type_is_read_quickly(api: Api, parameters: str) -> None:
    assert post(api, b"{}", f"application/json{parameters}@").status == 415


@pytest.mark.parametrize(("body", "content_type"), [(b"null", "application/json"), (b"#", YAML)])
def test_null_is_an_object_without_fields(widgets: Api, body: bytes, content_type: str) -> None:
    built_in = post(widgets, body, content_type)
    custom = widgets.call("POST", WIDGETS, body, content_type)

    assert built_in.body["details"]["causes"][0]["field"] == "metadata.name"
    assert (custom.status, "Object 'Kind' is missing" in custom.body["message"]) == (400, True)


def test_the_first_document_counts(api: Api) -> None:
    body = b"---\nmetadata: {name: a}\n---\nmetadata: {name: b}\n"

    assert post(api, body, YAML).body["metadata"]["name"] == "a"


def test_a_key_that_yaml_sets_twice_gives_a_warning_with_its_line(api: Api) -> None:
    answer = post(api, TWICE, YAML)
    as_json = post(api, b'{"metadata": {"name": "b"},\n"data": {}, "data": {}}', YAML)

    assert answer.body["metadata"]["name"] == "a"
    assert answer.warnings == ('299 - "line 4: key \\"name\\" already set in map"',)
    assert as_json.warnings == ('299 - "line 2: key \\"data\\" already set in map"',)
    assert post(api, TWICE, YAML, fieldValidation="Ignore").warnings == ()
    assert post(api, TWICE, YAML, fieldValidation="Strict").status == 400


def test_an_applied_configuration_is_read_in_the_same_way(api: Api) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\n" + TWICE
    path, apply = f"{CONFIGMAPS}/a", "application/apply-patch+yaml"

    warned = api.call("PATCH", path, body, apply, fieldManager="m")
    refused = api.call("PATCH", path, body, apply, fieldManager="m", fieldValidation="Strict")

    assert "line 6: key" in warned.warnings[0]
    assert (refused.status, refused.body["reason"]) == (400, "BadRequest")


def test_the_name_of_an_applied_object_may_come_from_the_stored_one(api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a"))
    body = b'{"apiVersion": "v1", "kind": "ConfigMap", "metadata": null, "data": {"x": "1"}}'
    apply = "application/apply-patch+yaml"

    named = api.call("PATCH", f"{CONFIGMAPS}/a", body, apply, fieldManager="m")
    unnamed = api.call("PATCH", f"{CONFIGMAPS}/b", body, apply, fieldManager="m")

    assert (named.status, named.body["data"]["x"]) == (200, "1")
    assert unnamed.status == 400


def test_base64_may_have_line_breaks(api: Api) -> None:
    created = api.create(SECRETS, {"metadata": {"name": "a"}, "data": {"k": "aGV\nsbG8\r\n="}})
    binary = configmap("a") | {"binaryData": {"b": "aGk=\n"}}

    assert created["data"] == {"k": "aGVsbG8="}
    assert api.create(CONFIGMAPS, binary)["binaryData"] == {"b": "aGk="}
    for wrong in ("a b=", "aGk", "a-_="):
        body = {"metadata": {"name": "b"}, "data": {"k": wrong}}
        assert api.call("POST", SECRETS, body).status == 400, wrong


@pytest.mark.parametrize(
    ("time", "stored"),
    [
        ("2026-01-02T03:04:05.000000Z", "2026-01-02T03:04:05.000000Z"),
        ("2026-01-02T03:04:05.123456+01:00", "2026-01-02T02:04:05.123456Z"),
        ("2026-01-02T03:04:05Z", None),
        ("2026-01-02T03:04:05.123Z", None),
        ("2026-01-02", None),
        ("", None),
    ],
)
def test_the_times_of_a_lease_have_six_decimals(api: Api, time: str, stored: str | None) -> None:
    body = {"metadata": {"name": "a"}, "spec": {"renewTime": time}}

    answer = api.call("POST", LEASES, body)

    assert answer.status == (400 if stored is None else 201)
    if stored:
        assert answer.body["spec"]["renewTime"] == stored


@pytest.mark.parametrize(
    ("time", "status"),
    [
        ("2026-01-02T03:04:05Z", 201),
        ("2026-01-02T03:04:05.7+02:00", 201),
        ("2026-01-02T03:04Z", 400),
        ("yesterday", 400),
    ],
)
def test_a_time_is_rfc_3339(api: Api, time: str, status: int) -> None:
    events = "/api/v1/namespaces/default/events"
    event = {
        "metadata": {"name": "a"},
        "involvedObject": {"namespace": "default"},
        "firstTimestamp": time,
    }

    answer = api.call("POST", events, event)

    assert answer.status == status
    if status == 201:
        assert answer.body["firstTimestamp"].endswith(":04:05Z")
    assert api.call("POST", CONFIGMAPS, configmap("t", creationTimestamp=time)).status == status


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (LEASES, {"spec": {"holderIdentity": "x"}}),
        ("/api/v1/namespaces/default/services", {"spec": {"ports": [{"port": 80}]}}),
        ("/apis/rbac.authorization.k8s.io/v1/clusterroles", {"rules": []}),
    ],
)
def test_some_kinds_are_created_by_an_update(api: Api, path: str, body: dict[str, object]) -> None:
    named = body | {"metadata": {"name": "a", "resourceVersion": "7"}}

    created = api.call("PUT", f"{path}/a", named)
    other = body | {"metadata": {"name": "b", "uid": "x"}}

    assert created.status == 201
    assert api.call("PUT", f"{path}/b", other).status == 409


def test_other_kinds_are_not_created_by_an_update(api: Api) -> None:
    assert api.call("PUT", f"{CONFIGMAPS}/a", configmap("a")).status == 404


# -- another kind than the path's


def test_an_update_of_another_kind_is_refused_after_its_version(widgets: Api) -> None:
    stored = widgets.create(WIDGETS, widget("a"))
    version = stored["metadata"]["resourceVersion"]
    other = widget("a") | {"kind": "Other"}

    without = widgets.call("PUT", f"{WIDGETS}/a", other)
    other["metadata"]["resourceVersion"] = version
    with_version = widgets.call("PUT", f"{WIDGETS}/a", other)

    assert without.body["details"]["kind"] == "widgets"
    assert with_version.body["details"] | {"causes": []} == {
        "name": "a",
        "group": "example.com",
        "kind": "Other",
        "causes": [],
    }
    assert [cause["field"] for cause in with_version.body["details"]["causes"]] == ["kind"]
    assert widgets.get(f"{WIDGETS}/a")["kind"] == "Widget"


def test_a_patch_to_another_version_is_invalid(widgets: Api) -> None:
    widgets.create(WIDGETS, widget("a"))
    merge = "application/merge-patch+json"

    changed = widgets.call("PATCH", f"{WIDGETS}/a", {"apiVersion": "apps/v9"}, merge)
    removed = widgets.call("PATCH", f"{WIDGETS}/a", {"apiVersion": None}, merge)

    details = changed.body["details"]
    assert (changed.status, details["group"], details["kind"]) == (422, "apps", "Widget")
    assert [cause["field"] for cause in details["causes"]] == ["apiVersion"]
    assert (removed.status, removed.body["reason"]) == (500, "InternalError")


def test_a_strategic_patch_can_not_change_the_kind(api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a"))
    patch = {"kind": "Other", "data": {"x": "1"}}

    answer = api.call("PATCH", f"{CONFIGMAPS}/a", patch, "application/strategic-merge-patch+json")

    assert (answer.status, answer.body["kind"]) == (200, "ConfigMap")
    assert api.call("PATCH", f"{CONFIGMAPS}/a", patch, "application/merge-patch+json").status == 422


# -- patches


@pytest.mark.parametrize(
    ("body", "content_type", "problem"),
    [
        (b'{"data":{"a":"1"},"data":{}}', "merge-patch", 'duplicate field "data"'),
        (b'{"data":{"a":"1","a":"2"}}', "strategic-merge-patch", 'duplicate field "data.a"'),
        (b'{"bogus":1}', "merge-patch", 'unknown field "bogus"'),
        (
            b'[{"op":"add","path":"/data","value":{},"x":1}]',
            "json-patch",
            'json patch unknown field "[0].x"',
        ),
        (
            b'[{"op":"add","path":"/data","value":{},"value":{}}]',
            "json-patch",
            'json patch duplicate field "[0].value"',
        ),
    ],
)
def test_strict_validation_of_a_patch_refuses_the_patch(
    api: Api, body: bytes, content_type: str, problem: str
) -> None:
    api.create(CONFIGMAPS, configmap("a"))
    path, kind = f"{CONFIGMAPS}/a", f"application/{content_type}+json"

    warned = api.call("PATCH", path, body, kind)
    refused = api.call("PATCH", path, body, kind, fieldValidation="Strict")

    escaped = problem.replace('"', '\\"')
    assert (warned.status, warned.warnings) == (200, (f'299 - "{escaped}"',))
    assert refused.status == 422
    assert problem in refused.body["message"]
    assert [cause["field"] for cause in refused.body["details"]["causes"]] == ["patch"]


@pytest.mark.parametrize("body", [b"{}", b"[1]", b'[{"op": 5}]', b'[{"op":"add","path":[]}]'])
def test_what_is_no_json_patch_is_refused_once_the_object_is_found(api: Api, body: bytes) -> None:
    kind = "application/json-patch+json"
    assert api.call("PATCH", f"{CONFIGMAPS}/a", body, kind).status == 404
    api.create(CONFIGMAPS, configmap("a"))
    assert api.call("PATCH", f"{CONFIGMAPS}/a", body, kind).status == 400


def test_the_type_of_a_patch_is_checked_first(api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a"))

    answer = api.call("PATCH", f"{CONFIGMAPS}/a", {}, "text/plain", force="true")

    assert answer.status == 415
    assert api.call("PATCH", f"{CONFIGMAPS}/a", {}, "Application/Merge-Patch+JSON").status == 415


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"null", 200),
        (b'{"kind":"DeleteOptions","apiVersion":"any/v1"}', 200),
        (b'{"apiVersion":"a/b/c"}', 400),
        (b'{"kind":"Pod"}', 400),
        (b'{"APIVERSION":"v1","KIND":"ConfigMap"}', 400),
        (b'{"kind":"Pod","Kind":"DeleteOptions"}', 200),
        (b'{"dryRun":"All"}', 400),
        (b"[]", 400),
    ],
)
def test_the_options_of_a_deletion_are_read_leniently(api: Api, body: bytes, status: int) -> None:
    api.create(CONFIGMAPS, configmap("a"))

    assert api.call("DELETE", f"{CONFIGMAPS}/a", body).status == status


def test_json_is_utf_8(api: Api) -> None:
    text = '{"metadata":{"name":"a"},"data":{"k":"ü"}}'

    for encoded in (text.encode("utf-16"), text.encode("utf-8-sig"), text.encode("utf-32")):
        assert post(api, encoded, "application/json").status == 400
    broken = text.encode().replace("ü".encode(), b"\xff")
    assert post(api, broken, "application/json").body["data"] == {"k": "�"}


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        (b'{"a": 1, "a": 2}', ["a"]),
        (b'{"a" : ":", "b": [{"c\\u003a": ":", "d"\n: 1, "d":2}]}', ["b[0].d"]),
        (b'{"a": 1.0, "b": {"a": 1, "a": 1e3}}', ["b.a"]),
        (b'{"a": "\\ud800", "a": "\\u003a"}', ["a"]),
        (b'{"a:": ":", "b": "\\":\\"", "c": {"a:": 1.0}}', []),
        (b'{"a": "\\u003a", "b": 12345678901234567890123}', []),
        (b'[1, ":", null]', []),
    ],
)
def test_a_field_that_occurs_twice_is_found_by_its_path(body: bytes, paths: list[str]) -> None:
    assert parse_json(body)[1] == tuple(f'duplicate field "{path}"' for path in paths)


def test_yaml_that_expands_is_a_bad_request(api: Api) -> None:
    lines = [
        "a0: &a0 [x]",
        *(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)),
    ]
    for content_type, method, path in (
        (YAML, "POST", CONFIGMAPS),
        ("application/apply-patch+yaml", "PATCH", f"{CONFIGMAPS}/a?fieldManager=m"),
    ):
        answer = api.call(method, path, "\n".join(lines).encode(), content_type)
        assert answer.status == 400
        assert "excessive aliasing" in answer.body["message"]
