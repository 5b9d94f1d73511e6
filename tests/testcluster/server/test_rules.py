"""What a policy rule allows, and which rules are missing."""

from __future__ import annotations

import pytest

from clientgo.testcluster.server.auth.authorization.rules import PolicyRule, missing_rules


def rule(
    verbs: str, resources: str = "", group: str = "", names: str = "", paths: str = ""
) -> PolicyRule:
    groups = (group,) if resources else ()
    return PolicyRule(
        tuple(verbs.split()),
        groups,
        tuple(resources.split()),
        tuple(names.split()),
        tuple(paths.split()),
    )


@pytest.mark.parametrize(
    ("resources", "resource", "subresource", "allowed"),
    [
        ("pods", "pods", "", True),
        ("pods", "pods", "log", False),
        ("pods/log", "pods", "log", True),
        ("pods/log", "pods", "", False),
        ("*/scale", "deployments", "scale", True),
        ("*/scale", "deployments", "", False),
        ("*", "deployments", "scale", True),
    ],
)
def test_a_resource_is_apart_from_its_subresources(
    resources: str, resource: str, subresource: str, allowed: bool
) -> None:
    found = rule("get", resources).allows_resource("get", "", resource, subresource)

    assert found is allowed


@pytest.mark.parametrize(
    ("paths", "path", "allowed"),
    [
        ("/healthz", "/healthz", True),
        ("/healthz", "/healthz/ping", False),
        ("/healthz/*", "/healthz/ping", True),
        ("/healthz*", "/healthz", True),
        ("*", "/metrics", True),
    ],
)
def test_a_path_ends_in_a_star_at_most(paths: str, path: str, allowed: bool) -> None:
    assert rule("get", paths=paths).allows_path("get", path) is allowed


@pytest.mark.parametrize(
    ("held", "wanted", "missing"),
    [
        ([rule("*", "*", "*")], rule("get list", "pods"), []),
        ([rule("get", "pods")], rule("get list", "pods"), [rule("list", "pods")]),
        ([rule("get", "pods"), rule("list", "pods")], rule("get list", "pods"), []),
        ([rule("get", "pods")], rule("get", "pods/log"), [rule("get", "pods/log")]),
        ([rule("get", "*/log")], rule("get", "pods/log"), []),
        ([rule("get", "pods", names="a")], rule("get", "pods"), [rule("get", "pods")]),
        ([rule("get", "pods", names="a b")], rule("get", "pods", names="b"), []),
        ([rule("get", "pods")], rule("get", "pods", names="b"), []),
        ([rule("get", "pods", "apps")], rule("get", "pods"), [rule("get", "pods")]),
        ([rule("get", paths="/a/*")], rule("get", paths="/a/b"), []),
        ([rule("get", paths="/a/b")], rule("get", paths="/a/*"), [rule("get", paths="/a/*")]),
        ([rule("get", "pods")], rule("*", "pods"), [rule("*", "pods")]),
    ],
)
def test_what_is_missing_is_found_verb_by_verb(
    held: list[PolicyRule], wanted: PolicyRule, missing: list[PolicyRule]
) -> None:
    assert missing_rules(held, [wanted]) == missing


def test_a_rule_is_shown_as_a_real_server_shows_it() -> None:
    shown = str(rule("get list", "pods", names="a"))

    assert shown == (
        '{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["get" "list"]}'
    )
