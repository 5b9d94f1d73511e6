"""Defaulting webhooks: typed object in, JSON patch out."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from clientgo.meta import ObjectMeta
from clientgo.operator.webhooks import AdmissionContext, Denied, default
from tests.operator.webhooks.reviews import Foo, FooSpec, FooStatus, foo, review
from tests.operator.webhooks.serving import Asked


@default(Foo)
def three_replicas(obj: Foo, ctx: AdmissionContext) -> None:
    if obj.spec.replicas is None:
        obj.spec.replicas = 3


@pytest.mark.parametrize("operation", ["CREATE", "UPDATE"])
def test_what_the_handler_changes_comes_back_as_a_patch(operation: str) -> None:
    """OP-WHK-03"""
    came = foo(image="nginx")

    verdict = Asked(three_replicas).ask(review(operation, came, came))

    assert verdict.allowed
    assert verdict.patch == [{"op": "add", "path": "/spec/replicas", "value": 3}]


def test_an_object_that_needs_nothing_gets_no_patch() -> None:
    """OP-WHK-03"""
    verdict = Asked(three_replicas).ask(review("CREATE", foo(replicas=0)))

    assert verdict.allowed
    assert "patch" not in verdict.response
    assert "patchType" not in verdict.response


@pytest.mark.parametrize("operation", ["DELETE", "CONNECT"])
def test_other_operations_are_allowed_untouched(operation: str) -> None:
    """OP-WHK-03"""
    asked: list[Foo] = []

    @default(Foo)
    def remember(obj: Foo, ctx: AdmissionContext) -> None:
        asked.append(obj)

    verdict = Asked(remember).ask(review(operation, None, foo()))

    assert (verdict.allowed, asked) == (True, [])


def test_a_new_object_may_be_returned() -> None:
    """OP-WHK-03"""

    @default(Foo)
    def replace(obj: Foo, ctx: AdmissionContext) -> Foo:
        return Foo(metadata=obj.metadata, spec=FooSpec(replicas=7))

    came = foo(image="nginx", unknown={"kept": [1]})

    verdict = Asked(replace).ask(review("CREATE", came))

    assert verdict.applied_to(came)["spec"] == {"replicas": 7, "unknown": {"kept": [1]}}


def test_fields_that_the_type_does_not_know_are_never_removed() -> None:
    """OP-WHK-04"""
    came = foo(newer={"field": [1, 2]}) | {"extra": {"a": None}}
    came["metadata"] |= {"managedFields": [{"manager": "kubectl"}], "newer": True}

    verdict = Asked(three_replicas).ask(review("CREATE", came))

    assert [step["op"] for step in verdict.patch] == ["add"]
    assert verdict.applied_to(came) == came | {"spec": came["spec"] | {"replicas": 3}}


def test_unknown_fields_are_removed_where_that_is_asked_for() -> None:
    """OP-WHK-04"""

    @default(Foo, remove_unknown=True)
    def strict(obj: Foo, ctx: AdmissionContext) -> None:
        obj.spec.replicas = 1

    came = foo(typo=1)
    came["metadata"]["managedFields"] = [{"manager": "kubectl"}]

    result = Asked(strict).ask(review("CREATE", came)).applied_to(came)

    assert result["spec"] == {"replicas": 1}
    assert result["metadata"] == came["metadata"]


def test_a_default_of_the_python_type_is_no_change() -> None:
    """OP-WHK-03"""
    came = foo()
    del came["spec"]

    @default(Foo)
    def nothing(obj: Foo, ctx: AdmissionContext) -> Foo:
        return obj

    assert Asked(nothing).ask(review("CREATE", came)).patch == []


def test_a_status_that_the_handler_sets_is_left_out_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """OP-WHK-16"""

    @default(Foo)
    def sets_status(obj: Foo, ctx: AdmissionContext) -> None:
        obj.status.ready = 1
        obj.spec.replicas = 2

    came = foo()
    with caplog.at_level(logging.WARNING, "clientgo.operator.webhooks"):
        verdict = Asked(sets_status).ask(review("CREATE", came))

    assert verdict.applied_to(came) == came | {"spec": {"replicas": 2}}
    assert "set the status of Foo default/a" in caplog.text


def test_a_review_of_the_status_itself_may_change_it() -> None:
    """OP-WHK-16"""

    @default(Foo, path="/status", resources=["foos/status"])
    def sets_status(obj: Foo, ctx: AdmissionContext) -> None:
        obj.status.ready = 1

    came = foo() | {"status": {"ready": 0}}

    verdict = Asked(sets_status).ask(review("UPDATE", came, came, subResource="status"))

    assert verdict.applied_to(came)["status"] == {"ready": 1}


def test_a_null_counts_as_absent_and_is_not_touched_elsewhere() -> None:
    """OP-WHK-03, OP-WHK-04"""
    came = foo(replicas=None, image=None) | {"status": {}}
    came["metadata"]["creationTimestamp"] = None  # as API servers send it on create

    verdict = Asked(three_replicas).ask(review("CREATE", came))

    assert verdict.patch == [{"op": "replace", "path": "/spec/replicas", "value": 3}]


def test_metadata_may_be_changed() -> None:
    @default(Foo)
    def label(obj: Foo, ctx: AdmissionContext) -> None:
        obj.metadata.labels["team/x"] = ctx.user.username

    verdict = Asked(label).ask(review("CREATE", foo()))

    assert verdict.applied_to(foo())["metadata"]["labels"] == {"team/x": "jane"}


def test_a_defaulter_may_refuse() -> None:
    @default(Foo)
    def refuse(obj: Foo, ctx: AdmissionContext) -> None:
        raise Denied("not today")

    verdict = Asked(refuse).ask(review("CREATE", foo()))

    assert (verdict.allowed, verdict.code) == (False, 403)


@pytest.mark.parametrize("nonsense", [42, {"spec": {}}, FooStatus()])
def test_a_handler_that_returns_something_else_is_reported_as_a_bug(nonsense: Any) -> None:
    """OP-WHK-07"""

    @default(Foo)
    def wrong(obj: Foo, ctx: AdmissionContext) -> Any:
        return nonsense

    verdict = Asked(wrong).ask(review("CREATE", foo()))

    assert (verdict.allowed, verdict.code) == (False, 500)
    assert "a defaulter of Foo must return None or a Foo, not" in verdict.status.message


def test_objects_of_another_kind_and_objects_that_do_not_fit_are_refused() -> None:
    """OP-WHK-08"""
    other = {"group": "apps", "version": "v1", "kind": "Deployment"}
    asked = Asked(three_replicas)

    mismatch = asked.ask(review("CREATE", foo(), kind=other))
    misfit = asked.ask(review("CREATE", foo(replicas={"a": 1})))
    missing = asked.ask(review("CREATE", None))

    assert [verdict.code for verdict in (mismatch, misfit, missing)] == [400, 400, 400]
    assert "not for apps/v1, Kind=Deployment" in mismatch.status.message
    assert "spec.replicas" in misfit.status.message


def test_the_handler_can_be_called_directly() -> None:
    """OP-GEN-25"""
    obj = Foo(metadata=ObjectMeta(name="a"))

    three_replicas(obj, None)  # type: ignore[arg-type]

    assert obj.spec.replicas == 3
