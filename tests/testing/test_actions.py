from __future__ import annotations

import pytest

from clientgo.meta import BadRequestError
from clientgo.testing.fakes.actions import Action, Verb, action_of
from tests.testing.builders import FOOS, PODS

_COLLECTION = "http://fake/apis/example.com/v1/namespaces/ns/foos"


def asked(method: str, url: str, body: bytes = b"", content_type: str = "") -> Action:
    return action_of(method, url, body, content_type)


@pytest.mark.parametrize(
    ("method", "url", "short"),
    [
        ("GET", _COLLECTION, "list foos ns"),
        ("GET", f"{_COLLECTION}?watch=true", "watch foos ns"),
        ("GET", f"{_COLLECTION}/a", "get foos ns/a"),
        ("GET", "http://fake/apis/example.com/v1/foos", "list foos"),
        ("PUT", f"{_COLLECTION}/a/status", "update foos/status ns/a"),
        ("PATCH", f"{_COLLECTION}/a", "patch foos ns/a"),
        ("DELETE", f"{_COLLECTION}/a", "delete foos ns/a"),
        ("DELETE", _COLLECTION, "delete-collection foos ns"),
        ("POST", f"{_COLLECTION}/a/eviction", "create foos/eviction ns/a"),
        ("GET", "http://fake/api/v1/namespaces/ns", "get namespaces ns"),
        ("PUT", "http://fake/api/v1/namespaces/ns/finalize", "update namespaces/finalize ns"),
        ("GET", "http://fake/apis/rbac/v1/roles/system%3Aa", "get roles system:a"),
        ("GET", "http://fake/version", "get /version"),
    ],
)
def test_a_request_says_what_is_asked(method, url, short):
    assert str(asked(method, url)) == short


def test_a_creation_is_named_by_its_body():
    action = asked("POST", _COLLECTION, b'{"metadata":{"name":"a"}}')

    assert action == Action(
        Verb.CREATE, FOOS, namespace="ns", name="a", body={"metadata": {"name": "a"}}
    )


def test_the_query_is_the_options_and_the_content_type_is_the_kind_of_patch():
    action = asked("PATCH", f"{_COLLECTION}/a?fieldManager=me", b"{}", "application/x-patch+json")

    assert action.options == {"fieldManager": "me"}
    assert action.patch_kind == "application/x-patch+json"


def test_a_body_that_is_no_json_is_a_bad_request():
    with pytest.raises(BadRequestError, match="no JSON"):
        asked("POST", _COLLECTION, b"a: 1")


@pytest.mark.parametrize(
    ("subresource", "verb", "resource", "expected"),
    [
        ("", "update", "pods", True),
        ("", "UPDATE", "Pods", True),
        ("", "*", "*", True),
        ("", "update", "*", True),
        ("", "create", "pods", False),
        ("", "update", "nodes", False),
        ("", "update", "pods/status", False),
        ("status", "update", "pods", True),
        ("status", "update", "pods/status", True),
        ("status", "update", "pods/scale", False),
        ("status", "update", "status", False),
    ],
)
def test_an_action_matches_a_verb_and_a_resource(subresource, verb, resource, expected):
    """FAKE-04: a plural is also its subresources, plural/sub only that one; case is ignored."""
    action = Action(Verb.UPDATE, PODS, "ns", "p", subresource)

    assert action.matches(verb, resource) is expected
