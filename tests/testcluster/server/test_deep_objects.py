"""Bodies of any depth: a server takes what a real one takes, refuses the rest, and goes on.

The server is another process: an overflow of the stack of C would end it without an error.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import urllib3

from tests.testcluster.server.http_api import CRDS, Api

COMMAND = [sys.executable, "-X", "faulthandler", "-m", "clientgo", "apiserver"]
FREES = "/apis/example.com/v1/namespaces/default/frees"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
JSON, YAML = "application/json", "application/yaml"
PATCHES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
SHAPES = {
    "objects": (b'{"a":', b"}"),
    "arrays": (b"[", b"]"),
    "mixed": (b'[{"b":[1.0],"a":', b',"z":"}"}]'),
}


class Server(Api):
    """A client that shows answers as they are."""

    def send(
        self, method: str, path: str, body: bytes = b"", type_: str = JSON, accept: str = JSON
    ) -> tuple[int, bytes]:
        answer = urllib3.request(
            method,
            self.url + path,
            body=body or None,
            headers={"Content-Type": type_, "Accept": accept},
            retries=False,
            timeout=60,
        )
        return answer.status, answer.data

    def refused(self, *call: Any, **more: Any) -> tuple[int, str]:
        status, body = self.send(*call, **more)
        return status, json.loads(body).get("message", "")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    options = ("--listen", "127.0.0.1:0", "--insecure-loopback")
    with subprocess.Popen([*COMMAND, *options], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        found = re.search(r"listens on (\S+)\. ", program.stdout.readline())
        assert found is not None
        try:
            server = Server(found[1])
            define_frees(server)
            yield server
            assert program.poll() is None, "the server goes on"
        finally:
            program.kill()


def define_frees(server: Server) -> None:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {**anything, "properties": {"spec": anything}}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "frees", "kind": "Free"},
        "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
    }
    watch = server.watch(CRDS)
    server.create(CRDS, {"metadata": {"name": "frees.example.com"}, "spec": spec})
    for event in watch:
        conditions = event["object"]["status"].get("conditions") or ()
        if any((item["type"], item["status"]) == ("Established", "True") for item in conditions):
            break
    watch.close()


def nested(levels: int, shape: str = "objects", core: bytes = b"1") -> bytes:
    start, end = SHAPES[shape]
    steps = levels // (start.count(b"[") + start.count(b"{") - start.count(b"]"))
    return start * steps + core + end * steps


def free(name: str, content: bytes, where: str = "spec") -> bytes:
    head = b'{"apiVersion":"example.com/v1","kind":"Free","metadata":{"name":"%s"},'
    return head % name.encode() + b'"%s":{"any":%s}}' % (where.encode(), content)


def depth(levels: int) -> int:
    """How deep the content of a Free of so many levels is."""
    return levels - 2


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("levels", [100, 202, 990, 10_000])
def test_a_free_form_object_may_have_10000_levels(server: Server, levels: int, shape: str) -> None:
    name = f"{shape}-{levels}"
    content = nested(depth(levels) - (shape == "mixed"), shape)

    status, created = server.send("POST", FREES, free(name, content, "other"))
    _, read = server.send("GET", f"{FREES}/{name}")
    _, listed = server.send("GET", f"{FREES}?fieldSelector=metadata.name={name}")
    watched = server.send(
        "GET",
        f"{FREES}?watch=1&timeoutSeconds=1&sendInitialEvents=true"
        "&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        f"&fieldSelector=metadata.name={name}",
    )[1]

    assert status == 201, created[:500]
    expected = content.replace(b"1.0", b"1")
    for answer in (created, read, listed, watched):
        assert expected in answer
    assert server.send("DELETE", f"{FREES}/{name}")[0] == 200
    assert server.send("GET", f"{FREES}/{name}")[0] == 404


@pytest.mark.parametrize("levels", [10_001, 500_000])
@pytest.mark.parametrize("path", [FREES, CONFIG_MAPS])
@pytest.mark.parametrize("shape", ["objects", "arrays"])
def test_an_object_of_more_levels_is_refused(
    server: Server, path: str, shape: str, levels: int
) -> None:
    status, message = server.refused("POST", path, free("x", nested(depth(levels), shape)))

    assert status == 400
    assert "json parse error: exceeded max depth" in message


BODIES = {
    "objects": nested(9990),
    "arrays": nested(9990, "arrays"),
    "a thousand": nested(1000, "mixed"),
    "many objects": b'{"a":' * 100_000,
    "many arrays": b"[" * 1_000_000,
    "closed": b"]" * 100_000,
    "a sequence": b"- " * 5000,
    "a mapping": b"{a: " * 50_000,
    "a block": b"\n".join(b" " * level + b"a:" for level in range(1200)),
    "an envelope": b"k8s\0" + b"\x12\xff\x0f" * 3000,
}
WRITES = [
    ("POST", FREES),
    ("PUT", f"{FREES}/x"),
    ("PUT", f"{FREES}/x/status"),
    ("PATCH", f"{FREES}/x"),
    ("DELETE", f"{FREES}/x"),
    ("DELETE", FREES),
    ("POST", CONFIG_MAPS),
    ("PATCH", f"{CONFIG_MAPS}/kube-root-ca.crt"),
    ("POST", CRDS),
    ("POST", "/api/v1/namespaces/default/pods/x/eviction"),
    ("POST", "/api/v1/namespaces/default/serviceaccounts/default/token"),
    ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
    ("PUT", "/apis/apps/v1/namespaces/default/deployments/x/scale"),
]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize(("method", "path"), WRITES)
def test_every_write_answers_every_body(server: Server, method: str, path: str, body: str) -> None:
    whole = (JSON, YAML, "application/vnd.kubernetes.protobuf")
    types = PATCHES.values() if method == "PATCH" else whole
    for type_ in types:
        query = "?fieldManager=m" if type_ == PATCHES["apply"] else ""

        status, answer = server.send(method, path + query, BODIES[body], type_)

        assert status, (type_, answer)
        assert b"unexpected error" not in answer, (type_, answer)
        if status >= 300:
            assert json.loads(answer)["message"], (type_, answer)
    assert server.send("GET", "/healthz") == (200, b"ok")


@pytest.mark.parametrize("levels", [150, 250, 3000])
@pytest.mark.parametrize(
    ("member", "answer"),
    [
        (b'"labels":{"a":%s}', 400),
        (b'"annotations":{"a":%s}', 400),
        (b'"name":%s', 400),
        (b'"finalizers":%s', 400),
        (b'"stuff":%s', 201),
        (b'"managedFields":[{"manager":"m","operation":"Update","apiVersion":"example.com/v1",'
         b'"fieldsType":"FieldsV1","fieldsV1":%s}]', 201),
    ],
)  # fmt: skip
def test_the_metadata_may_be_nested_anyhow(
    server: Server, member: bytes, answer: int, levels: int
) -> None:
    metadata = member % nested(levels).replace(b'"a"', b'"f:a"')
    body = b'{"metadata":{"generateName":"m-",%s},"kind":"Free","apiVersion":"example.com/v1"}'

    status, text = server.send("POST", FREES, body % metadata)

    assert status == answer, text[:300]


@pytest.mark.parametrize("levels", [150, 250, 5000])
def test_a_kind_with_a_schema_drops_or_refuses_what_is_deep(server: Server, levels: int) -> None:
    head = b'{"metadata":{"generateName":"c-"},%s}'
    unknown, data = head % b'"stuff":%s', head % b'"data":{"a":%s}'

    assert server.send("POST", CONFIG_MAPS, unknown % nested(levels))[0] == 201
    strict = server.refused(
        "POST", f"{CONFIG_MAPS}?fieldValidation=Strict", unknown % nested(levels)
    )
    assert strict[0] == 400
    assert 'unknown field "stuff"' in strict[1]
    status, message = server.refused("POST", CONFIG_MAPS, data % nested(levels))
    assert (status, "cannot unmarshal object into field data.a" in message) == (400, True)


@pytest.mark.parametrize("levels", [150, 250, 1500, 6000])
class TestPatches:
    """What is patched is what a real server patches, however deep it is."""

    @pytest.fixture
    def path(self, server: Server, levels: int) -> Iterator[str]:
        assert server.send("POST", FREES, free("p", nested(levels)))[0] == 201
        yield f"{FREES}/p"
        server.send("DELETE", f"{FREES}/p")

    def test_a_merge_patch_changes_one_member(self, server: Server, path: str, levels: int) -> None:
        change = nested(levels - 1, core=b'{"b":{"c":2,"d":null},"e":null}')

        status, answer = server.send(
            "PATCH", path, b'{"spec":{"any":%s}}' % change, PATCHES["merge"]
        )

        assert status == 200, answer[:300]
        assert nested(levels - 1, core=b'{"a":1,"b":{"c":2}}') in answer
        assert answer == server.send("GET", path)[1]

    def test_a_merge_patch_beside_it_leaves_it_alone(
        self, server: Server, path: str, levels: int
    ) -> None:
        status, answer = server.send(
            "PATCH", path, b'{"metadata":{"labels":{"a":"b"}}}', PATCHES["merge"]
        )

        assert status == 200
        assert nested(levels) in answer

    def test_a_json_patch_reaches_every_member(
        self, server: Server, path: str, levels: int
    ) -> None:
        where = "/spec/any" + "/a" * (levels - 1)
        steps = [
            {"op": "test", "path": f"{where}/a", "value": 1},
            {"op": "add", "path": f"{where}/b", "value": {"c": 2}},
            {"op": "copy", "from": where, "path": "/spec/copy"},
        ]

        status, answer = server.send("PATCH", path, json.dumps(steps).encode(), PATCHES["json"])

        assert status == 200, answer[:300]
        assert nested(levels - 1, core=b'{"a":1,"b":{"c":2}}') in answer
        assert b'"copy":{"a":1,"b":{"c":2}}' in answer

    def test_a_json_patch_that_makes_it_too_deep_is_refused(
        self, server: Server, path: str, levels: int
    ) -> None:
        where = "/spec/any" + "/a" * (levels - 1) + "/b"
        step = b'[{"op":"add","path":"%s","value":%s}]' % (where.encode(), nested(9900))

        status, message = server.refused("PATCH", path, step, PATCHES["json"])

        assert (status, message) == (400, "the object is nested too deep")
        assert nested(levels) in server.send("GET", path)[1]

    def test_it_is_applied(self, server: Server, path: str, levels: int) -> None:
        mine = free("p", nested(levels, core=b"2"))

        conflict = server.refused("PATCH", f"{path}?fieldManager=m", mine, PATCHES["apply"])
        forced = server.send("PATCH", f"{path}?fieldManager=m&force=true", mine, PATCHES["apply"])

        assert conflict[0] == 409
        assert forced[0] == 200, forced[1][:300]
        assert nested(levels, core=b"2") in forced[1]

    def test_an_equal_update_writes_nothing(self, server: Server, path: str, levels: int) -> None:
        _, body = server.send("GET", path)

        status, answer = server.send("PUT", path, body)

        assert (status, answer) == (200, body)

    def test_it_is_shown_in_every_form(self, server: Server, path: str, levels: int) -> None:
        table = f"{JSON};as=Table;v=v1;g=meta.k8s.io"
        metadata = f"{JSON};as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
        headers = metadata.replace("Metadata", "MetadataList")

        assert json.loads(server.send("GET", path, accept=table)[1])["kind"] == "Table"
        assert json.loads(server.send("GET", FREES, accept=table)[1])["kind"] == "Table"
        assert b'"any"' not in server.send("GET", path, accept=metadata)[1]
        assert b'"any"' not in server.send("GET", FREES, accept=headers)[1]
        for where in (path, FREES):
            status, text = server.send("GET", where, accept=YAML)
            assert (status, text.count(b"a") > levels) == (200, True)


@pytest.mark.parametrize("levels", [150, 250, 900])
def test_yaml_is_read_to_the_depth_of_its_reader(server: Server, levels: int) -> None:
    head = b"apiVersion: example.com/v1\nkind: Free\nmetadata: {generateName: y-}\nspec: "
    flow = head + b"{a: " * levels + b"1" + b"}" * levels
    block = head + b"\n" + b"\n".join(b" " * level + b" a:" for level in range(levels))

    for body in (flow, block):
        status, answer = server.send("POST", FREES, body, YAML)
        assert status == 201, answer[:300]
        assert answer.count(b'"a":') == levels
    status, message = server.refused("POST", FREES, b"spec: " + b"[" * 2000, YAML)
    assert (status, "exceeded maximum nesting depth" in message) == (400, True)
    as_json = free("yj", nested(5000))
    assert server.send("POST", FREES, as_json, YAML)[0] == 201, "JSON is YAML"
    server.send("DELETE", f"{FREES}/yj")


def test_text_of_a_kubernetes_object_is_what_is_stored(server: Server) -> None:
    """Duplicates, floats and texts of the deep parts are read as those of all others."""
    core = b'{"f":1.0,"g":1e3,"h":"\\u00e9\\ud83d\\ude00","n":12345678901234567890,"n":null}'

    status, answer = server.send("POST", FREES, free("text", nested(500, core=core)))

    assert status == 201, answer
    _, found, rest = answer.rpartition(b'{"f"')
    read = msgspec.json.decode(found + rest.partition(b"}")[0] + b"}")
    assert read == {"f": 1, "g": 1000, "h": "é😀", "n": None}
