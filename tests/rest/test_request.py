"""Building requests, and what becomes of their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from clientgo.meta import (
    AlreadyExistsError,
    Codec,
    ConflictError,
    ForbiddenError,
    InternalServerError,
    NotFoundError,
    StatusError,
    TooManyRequestsError,
    UnauthorizedError,
    Unstructured,
)
from clientgo.rest import Impersonation, Request, RequestError, RestClient, RestConfig
from clientgo.testing.scripted_server import (
    ScriptedServer,
    answer,
    answer_json,
    answer_status,
    watch_begin,
    watch_end,
)


@pytest.fixture(name="server")
def _server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        server.on("*", answer_json({}))
        yield server


def client_of(server: ScriptedServer, **config: Any) -> RestClient:
    return RestClient(RestConfig(server=server.url, **config), api_path="/apis/apps/v1")


def path_of(build: Callable[[RestClient], Request]) -> str:
    client = RestClient(RestConfig(server="https://host/prefix"), api_path="/apis/apps/v1")
    return build(client).url.removeprefix("https://host")


@pytest.mark.parametrize(
    ("build", "path"),
    [
        (lambda c: c.get().resource("foos"), "/prefix/apis/apps/v1/foos"),
        (lambda c: c.get().namespace("").resource("foos"), "/prefix/apis/apps/v1/foos"),
        (
            lambda c: c.get().namespace("ns").resource("foos").name("a"),
            "/prefix/apis/apps/v1/namespaces/ns/foos/a",
        ),
        (
            lambda c: c.put().resource("foos").name("a").subresource("status"),
            "/prefix/apis/apps/v1/foos/a/status",
        ),
        (
            lambda c: c.get().resource("foos").name("a").subresource("proxy", "x"),
            "/prefix/apis/apps/v1/foos/a/proxy/x",
        ),
        (
            lambda c: c.get().resource("roles").name("system:a b"),
            "/prefix/apis/apps/v1/roles/system:a%20b",
        ),
        (lambda c: c.get().absolute_path("/healthz"), "/prefix/healthz"),
        (
            lambda c: c.get().absolute_path("/x").query("a", "1").query("a", "ü"),
            "/prefix/x?a=1&a=%C3%BC",
        ),
        (lambda c: c.get().absolute_path("/x").timeout(32), "/prefix/x?timeout=32s"),
    ],
)
def test_the_url_is_put_together_from_its_parts(build, path):
    assert path_of(build) == path


@pytest.mark.parametrize(
    ("build", "problem"),
    [
        (lambda r: r.name(""), "name of the object is empty"),
        (lambda r: r.name("a").name("b"), "name is already 'a'"),
        (lambda r: r.resource("a").resource("b"), "resource is already 'a'"),
        (lambda r: r.namespace("a").namespace("b"), "namespace is already 'a'"),
        (lambda r: r.subresource("a").subresource("b"), "subresource is already 'a'"),
        (lambda r: r.name("."), "cannot be a name"),
        (lambda r: r.name(".."), "cannot be a name"),
        (lambda r: r.name("a/b"), "cannot be a name"),
        (lambda r: r.name("a%2fb"), "cannot be a name"),
        (lambda r: r.namespace("a/b"), "cannot be a namespace"),
        (lambda r: r.resource("a/b"), "cannot be a resource"),
        (lambda r: r.subresource("status", ".."), "cannot be a subresource"),
        (lambda r: r.name("").name("a/b"), "name of the object is empty"),
    ],
)
def test_a_mistake_in_building_is_kept_until_sending(server, build, problem):
    """REST-16: builder errors are sticky, the first one counts, nothing goes out."""
    request = build(client_of(server).get())

    for send in (
        request.do,
        request.do_raw,
        request.stream,
        lambda: request.watch(Codec(Unstructured)),
    ):
        with pytest.raises(RequestError, match=problem):
            send()
    assert server.requests == []


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_an_object_in_a_namespace_needs_the_namespace(server, method):
    """REST-16: preflight."""
    request = client_of(server).request(method).namespace("").resource("foos").name("a")

    with pytest.raises(RequestError, match="'a' needs a namespace"):
        request.do()
    assert server.requests == []


def test_creating_in_no_namespace_is_refused_before_sending(server):
    """REST-16: preflight."""
    with pytest.raises(RequestError, match="creating in foos needs a namespace"):
        client_of(server).post().namespace("").resource("foos").body(b"{}").do()


def test_the_answer_comes_back_with_status_headers_and_body(server):
    server.on("*", answer_json({"a": 1}, 201, headers=[("X-Thing", "x")]))

    result = client_of(server).post().resource("foos").body(b"{}").do()

    assert (result.status, result.body, result.headers["X-Thing"]) == (201, b'{"a":1}', "x")
    request = server.requests[0]
    assert (request.method, request.body) == ("POST", b"{}")
    assert request.headers["content-type"] == "application/json"


@pytest.mark.parametrize("code", [200, 201, 202, 204, 206])
def test_codes_from_200_to_206_are_success(server, code):
    """REST-17."""
    server.on("*", answer(code))

    assert client_of(server).get().resource("foos").do().status == code


@pytest.mark.parametrize("code", [207, 226, 299, 300, 304])
def test_no_other_code_is(server, code):
    """REST-17."""
    server.on("*", answer(code))

    with pytest.raises(StatusError) as caught:
        client_of(server).get().resource("foos").do()
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("code", "reason", "error"),
    [
        (401, "Unauthorized", UnauthorizedError),
        (403, "Forbidden", ForbiddenError),
        (404, "NotFound", NotFoundError),
        (409, "Conflict", ConflictError),
        (409, "AlreadyExists", AlreadyExistsError),
        (429, "TooManyRequests", TooManyRequestsError),
    ],
)
def test_a_status_in_the_answer_becomes_the_error(server, code, reason, error):
    """REST-17: a Status body wins."""
    server.on("*", answer_status(code, reason, "no way"))

    with pytest.raises(error, match=r"no way \(GET http://.*/apis/apps/v1/foos") as caught:
        client_of(server).get().resource("foos").do()
    assert (caught.value.code, caught.value.reason, caught.value.message) == (
        code,
        reason,
        "no way",
    )
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "code", [300, 302, 400, 401, 403, 404, 405, 406, 409, 410, 413, 415, 422, 500, 502, 503, 504]
)
def test_an_answer_without_a_status_becomes_a_generic_error(server, code):
    """REST-17."""
    server.on("*", answer(code, b"<html>", content_type="text/html"))

    with pytest.raises(StatusError, match="<html>") as caught:
        client_of(server).get().resource("foos").do()
    assert caught.value.code == code


def test_a_generic_conflict_of_a_post_means_that_the_object_exists(server):
    """REST-17."""
    server.on("*", answer(409))

    with pytest.raises(AlreadyExistsError):
        client_of(server).post().resource("foos").do()
    with pytest.raises(ConflictError):
        client_of(server).put().resource("foos").do()


def test_a_generic_error_keeps_2048_bytes_of_text_and_the_retry_time(server):
    """REST-17."""
    server.on(
        "*", answer(500, b"x" * 5000, content_type="text/plain", headers=[("Retry-After", "7")])
    )

    with pytest.raises(InternalServerError) as caught:
        client_of(server).get().resource("foos").max_retries(0).do()
    assert caught.value.message.count("x") == 2048
    assert caught.value.retry_after == 7.0


def test_binary_bodies_of_generic_errors_are_left_out(server):
    """REST-17."""
    server.on("*", answer(500, b"\x00\x01", content_type="application/octet-stream"))

    with pytest.raises(InternalServerError) as caught:
        client_of(server).get().resource("foos").do()
    assert caught.value.message == "the server failed in itself"


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (401, "check the credentials"),
        (403, "grant the verb"),
        (404, "a custom resource needs its CRD"),
    ],
)
def test_a_refusal_says_what_to_do(server, code, advice):
    server.on("*", answer(code))

    with pytest.raises(StatusError, match=advice):
        client_of(server).get().resource("foos").do()


@pytest.mark.parametrize(
    ("subresources", "advice"),
    [
        (("status",), "its CRD does not declare the subresource status"),
        (("scale",), "its CRD does not declare the subresource scale"),
        (("log",), ""),
        ((), ""),
    ],
)
def test_a_subresource_that_is_not_declared_is_considered(server, subresources, advice):
    """A server answers as if the object were not there."""
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound"}
    server.on("*", answer_json({**status, "details": {"name": "a"}, "message": "a"}, 404))
    request = client_of(server).request("PUT").resource("foos").name("a")

    with pytest.raises(NotFoundError) as caught:
        request.subresource(*subresources).do()
    assert advice in str(caught.value)
    assert ("CRD" in str(caught.value)) == bool(advice)


def test_a_stream_hands_out_the_body_as_it_arrives(server):
    server.on("*", answer(body=b"line 1\nline 2\n", content_type="text/plain"))

    with client_of(server).get().resource("pods").name("a").subresource("log").stream() as log:
        assert b"".join(log) == b"line 1\nline 2\n"


def test_a_refused_stream_or_watch_leaves_nothing_open(server):
    """LWT-01."""
    server.on("*", answer_status(403, "Forbidden"))
    client = client_of(server)

    with pytest.raises(ForbiddenError):
        client.get().resource("foos").stream()
    with pytest.raises(ForbiddenError):
        client.get().resource("foos").watch(Codec(Unstructured))
    client.close()
    server.wait_for_open_connections(0)


def test_the_configured_timeout_is_a_query_parameter(server):
    """REST-14."""
    client_of(server, timeout=90.5).get().resource("foos").do()

    assert server.requests[0].query == {"timeout": "1m30.5s"}


def test_a_watch_sends_its_timeout_too(server):
    """REST-14: for a watch it is the parameter alone."""
    server.on("*", watch_begin() + watch_end())

    client_of(server).get().resource("foos").timeout(300).watch(Codec(Unstructured)).read()

    assert server.requests[0].query == {"timeout": "5m0s"}


def test_a_header_of_the_request_replaces_that_of_the_client(server):
    """REST-19: the user agent is set only where the request has none."""
    client = client_of(server, user_agent="mine/1")
    client.get().resource("foos").do()
    client.get().resource("foos").header("User-Agent", "other/2").header(
        "Accept", "text/plain"
    ).do()

    assert [r.headers["user-agent"] for r in server.requests] == ["mine/1", "other/2"]
    assert [r.headers["accept"] for r in server.requests] == ["application/json", "text/plain"]


def test_impersonation_is_sent_with_every_value(server):
    config = Impersonation(
        user="jane", uid="u1", groups=("dev", "ops"), extra={"acme.com/scope": ("a", "b")}
    )
    client_of(server, impersonate=config).get().resource("foos").header("X-A", "b").do()

    lines = [line for line in server.requests[0].header_lines if line[0].startswith("impersonate")]
    assert lines == [
        ("impersonate-user", "jane"),
        ("impersonate-uid", "u1"),
        ("impersonate-group", "dev"),
        ("impersonate-group", "ops"),
        ("impersonate-extra-acme.com%2fscope", "a"),
        ("impersonate-extra-acme.com%2fscope", "b"),
    ]
    assert server.requests[0].headers["x-a"] == "b"


def test_queries_reach_the_server_unharmed(server):
    value = "a=b,c!=d e&f/ü"
    client_of(server).get().resource("foos").query("labelSelector", value).do()

    assert server.requests[0].query == {"labelSelector": value}


def test_the_body_can_be_read_only_once_and_is_sent_in_chunks(server):
    client_of(server).post().resource("foos").body(iter([b'{"a":', b"1}"])).do()

    assert msgspec.json.decode(server.requests[0].body) == {"a": 1}
