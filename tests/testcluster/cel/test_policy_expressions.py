"""What expressions of admission policies can do beyond others: make objects, ask an authorizer."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.cel import DYN, STRING, CelCompileError, CelEvaluationError, Environment
from clientgo.testcluster.cel.library.authorizers import (
    AUTHORIZER,
    Access,
    AccessDecision,
    AuthorizerValue,
)
from clientgo.testcluster.cel.values import ObjectValue

POLICY = Environment(
    {"object": DYN, "authorizer": AUTHORIZER},
    {"Object": None, "Patch": {"op": STRING, "value": DYN}},
)


def value_of(expression: str, **values: Any) -> Any:
    return POLICY.compile(expression).evaluate(values)


def test_an_object_has_the_fields_of_its_literal() -> None:
    made = value_of("Object{spec: Object.spec{n: object.n + 1}, tags: ['a']}", object={"n": 1})
    assert made == {"spec": {"n": 2}, "tags": ["a"]}
    assert isinstance(made, ObjectValue)
    assert made["spec"].cel_type.name == "Object.spec"
    assert str(POLICY.compile("[Patch{op: 'add'}]").result_type) == "list(Patch)"


def test_an_optional_field_is_left_out_if_its_value_is_absent() -> None:
    expression = "Object{?a: object.?a, ?b: object.?b, `in`: 1}"
    assert value_of(expression, object={"a": 1}) == {"a": 1, "in": 1}


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("Other{a: 1}", "undeclared reference to 'Other'"),
        ("Patch.part{}", "undeclared reference to 'Patch.part'"),
        ("Patch{path: ''}", "undefined field 'path'"),
        ("Patch{op: 1}", "expected type 'string' but found 'int'"),
        ("Object{a 1}", "mismatched input"),
        ("Object{1: 1}", "expecting IDENTIFIER"),
        ("object.f(){a: 1}", "mismatched input '{'"),
    ],
)
def test_an_object_that_is_not_declared_so_does_not_compile(expression: str, problem: str) -> None:
    with pytest.raises(CelCompileError) as refused:
        POLICY.compile(expression)
    assert problem in str(refused.value)


def test_an_authorizer_is_asked_what_the_expression_describes() -> None:
    asked: list[Access] = []

    def authorize(access: Access) -> AccessDecision:
        asked.append(access)
        return AccessDecision(access.verb == "get", "why not")

    authorizer = AuthorizerValue(authorize)
    pods = "authorizer.group('').resource('pods').subresource('status').namespace('a').name('b')"
    assert value_of(f"{pods}.check('get').allowed()", authorizer=authorizer) is True
    assert value_of(f"{pods}.check('list').reason()", authorizer=authorizer) == "why not"
    selected = f"{pods}.fieldSelector('a=b').labelSelector('c').check('get').errored()"
    assert value_of(selected, authorizer=authorizer) is False
    assert value_of("authorizer.path('/x').check('get').error()", authorizer=authorizer) == ""
    account = (
        "authorizer.serviceAccount('ns', 'sa').group('g').resource('r').check('get').allowed()"
    )
    assert value_of(account, authorizer=authorizer) is True
    assert asked[0] == Access("get", "", "", "pods", "status", "a", "b")
    assert asked[-2] == Access("get", path="/x")
    assert asked[-1] == Access("get", group="g", resource="r", account=("ns", "sa"))


@pytest.mark.parametrize(
    "expression",
    [
        "authorizer.path(' ')",
        "authorizer.group('').resource('')",
        "authorizer.serviceAccount('Upper', 'a')",
        "authorizer.serviceAccount('a', 'not@valid')",
    ],
)
def test_a_description_that_makes_no_sense_is_an_error(expression: str) -> None:
    with pytest.raises(CelEvaluationError):
        value_of(expression, authorizer=AuthorizerValue(lambda _: AccessDecision(True)))


def test_a_key_is_escaped_for_the_path_of_a_patch() -> None:
    assert value_of("jsonpatch.escapeKey('a/b~c')") == "a~1b~0c"
