"""Admission reviews as bytes: whatever comes, a review goes back."""

from __future__ import annotations

import logging
import threading
from typing import Any

import msgspec
import pytest

from clientgo.meta import Model, Resource, resource
from clientgo.operator.webhooks import (
    AdmissionContext,
    AdmissionRequest,
    AdmissionResponse,
    Denied,
    default,
    mutate_raw,
    validate,
)
from clientgo.testing import FakeClock
from tests.background import Background
from tests.cache.metrics import RecordingProvider
from tests.operator.webhooks.reviews import Foo, Verdict, body, foo, review, verdict_in
from tests.operator.webhooks.serving import Asked

PANICS = ("controller_runtime_webhook_panics_total",)


@validate(Foo)
def allow(obj: Foo, old: Foo | None, ctx: AdmissionContext) -> None:
    pass


@validate(Foo)
def explode(obj: Foo, old: Foo | None, ctx: AdmissionContext) -> None:
    raise ZeroDivisionError("boom")


def refusal(content: bytes, **call: Any) -> Verdict:
    answer = Asked(allow).call(content, **call)
    assert answer.status == 200
    verdict = verdict_in(answer.body)
    assert not verdict.allowed
    return verdict


@pytest.mark.parametrize("version", ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"])
def test_the_answer_has_the_version_and_the_uid_of_the_question(version: str) -> None:
    """OP-WHK-06"""
    answer = Asked(allow).call(body(review("CREATE", foo(), uid="abc"), version))

    verdict = verdict_in(answer.body)
    assert (verdict.api_version, verdict.response["uid"]) == (version, "abc")


def test_an_allowed_review_says_code_200() -> None:
    """OP-WHK-06"""
    verdict = Asked(allow).ask(review("CREATE", foo()))

    assert (verdict.allowed, verdict.code) == (True, 200)


def test_a_review_that_does_not_say_its_version_is_answered_as_v1() -> None:
    """OP-WHK-06"""
    answer = Asked(allow).call(msgspec.json.encode({"request": review("CREATE", foo())}))

    assert verdict_in(answer.body).api_version == "admission.k8s.io/v1"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no json",
        b"[]",
        b'"\xff"',
        b'{"request": 3}',
        b'{"kind": "AdmissionReview"}',
        msgspec.json.encode({"kind": "Pod", "apiVersion": "v1", "request": review()}),
        body(review("CREATE", foo()), "admission.k8s.io/v3"),
    ],
)
def test_a_body_that_is_no_review_is_refused_with_400_in_a_review(content: bytes) -> None:
    """OP-WHK-08"""
    assert refusal(content).code == 400


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/yaml"])
def test_another_content_type_is_refused_with_400(content_type: str) -> None:
    """OP-WHK-08"""
    assert refusal(body(review("CREATE", foo())), content_type=content_type).code == 400


def test_a_content_type_may_have_parameters() -> None:
    """OP-WHK-08"""
    verdict = Asked(allow).ask(
        review("CREATE", foo()), content_type="Application/JSON; charset=utf-8"
    )

    assert verdict.allowed


def test_a_body_that_is_too_large_is_refused_with_413() -> None:
    """OP-WHK-08"""
    assert refusal(b"", is_too_large=True).code == 413


@pytest.mark.parametrize("operation", ["", "PATCH", "create"])
def test_an_unknown_operation_is_refused_with_400(operation: str) -> None:
    """OP-WHK-09"""
    verdict = Asked(allow).ask(review(operation, foo()))

    assert (verdict.allowed, verdict.code) == (False, 400)
    assert verdict.response["uid"] == "u-1"


def test_a_handler_that_fails_refuses_with_500_and_is_counted_and_the_next_call_works(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """OP-WHK-07, OP-MET-08"""
    metrics = RecordingProvider()
    asked = Asked(explode, metrics=metrics)

    with caplog.at_level(logging.ERROR, "clientgo.operator.webhooks"):
        first = asked.ask(review("CREATE", foo()))
    second = asked.ask(review("DELETE", None, foo()))

    assert (first.allowed, first.code, first.status.reason) == (False, 500, "InternalError")
    assert "ZeroDivisionError: boom" in first.status.message
    assert second.allowed
    assert metrics.values[PANICS] == [1.0]
    assert "Traceback" in caplog.text


def test_a_refusal_is_no_bug() -> None:
    """OP-MET-08"""
    metrics = RecordingProvider()

    @validate(Foo)
    def deny(obj: Foo, old: Foo | None, ctx: AdmissionContext) -> None:
        raise Denied("no")

    Asked(deny, metrics=metrics).ask(review("CREATE", foo()))

    assert metrics.values[PANICS] == []


@pytest.mark.parametrize(
    ("said", "limit"), [("", 9.0), ("5s", 4.0), ("30s", 29.0), ("1000ms", 0.5), ("nonsense", 9.0)]
)
def test_a_handler_gets_a_second_less_than_the_caller_waits(said: str, limit: float) -> None:
    """OP-WHK-15"""
    clock = FakeClock()
    release = threading.Event()

    @validate(Foo)
    def hang(obj: Foo, old: Foo | None, ctx: AdmissionContext) -> None:
        release.wait(30)

    asked = Asked(hang, clock=clock)
    call = Background(lambda: asked.ask(review("CREATE", foo()), timeout=said))
    clock.wait_for_waiters(1)
    clock.step(limit - 0.01)
    assert call.is_running
    clock.step(0.01)
    verdict = call.result()
    release.set()

    assert (verdict.allowed, verdict.code, verdict.status.reason) == (False, 504, "Timeout")
    assert f"within {limit:g} s" in verdict.status.message


def test_the_decision_is_logged_with_the_uid(caplog: pytest.LogCaptureFixture) -> None:
    """OP-WHK-21"""

    @validate(Foo)
    def deny(obj: Foo, old: Foo | None, ctx: AdmissionContext) -> None:
        raise Denied("no such thing")

    with caplog.at_level(logging.DEBUG, "clientgo.operator.webhooks"):
        Asked(allow).ask(review("CREATE", foo(), uid="u-yes"))
        Asked(deny).ask(review("CREATE", foo(), uid="u-no"))

    lines = [record.getMessage() for record in caplog.records]
    assert any("is allowed" in line and "u-yes" in line for line in lines)
    assert any("is denied" in line and "u-no" in line and "no such" in line for line in lines)


def test_a_raw_handler_gets_the_request_and_answers_for_itself() -> None:
    @mutate_raw(
        "/pods",
        name="pods.demo.example.com",
        groups=[""],
        versions=["v1"],
        resources=["pods"],
    )
    def relabel(request: AdmissionRequest) -> AdmissionResponse:
        return AdmissionResponse.change(request, foo(replicas=9))

    verdict = Asked(relabel).ask(review("CREATE", foo()))

    assert verdict.patch == [{"op": "add", "path": "/spec/replicas", "value": 9}]


def test_a_raw_handler_that_returns_nothing_is_reported_as_a_bug() -> None:
    """OP-WHK-07"""

    @mutate_raw("/x", name="x.demo.example.com", groups=[""], versions=["v1"], resources=["pods"])
    def nothing(request: AdmissionRequest) -> None:
        pass

    verdict = Asked(nothing).ask(review("CREATE", foo()))

    assert verdict.code == 500
    assert "must return an AdmissionResponse, not None" in verdict.status.message


def test_the_handler_knows_of_a_dry_run() -> None:
    """OP-WHK-14"""
    seen: list[bool] = []

    @default(Foo)
    def look(obj: Foo, ctx: AdmissionContext) -> None:
        seen.append(ctx.dry_run)

    Asked(look).ask(review("CREATE", foo(), dryRun=True))

    assert seen == [True]


class AnySpec(Model):
    any: Any = None


@resource(group="demo.example.com", version="v1", plural="foos", kind="Foo")
class AnyFoo(Resource):
    spec: AnySpec = AnySpec()


EVERYTHING: Any = {
    "name": "raw.example.com",
    "groups": ["*"],
    "versions": ["*"],
    "resources": ["*"],
}

SHAPES = {"objects": (b'{"a":', b"}"), "arrays": (b"[", b"]"), "mixed": (b'[1,{"a":', b',"b":0}]')}


def review_with(levels: int, shape: str, member: str = "object") -> bytes:
    """A review whose object has so many levels, in a member of its spec."""
    start, end = SHAPES[shape]
    inner = levels - 2
    steps = inner // (start.count(b"[") + start.count(b"{"))
    nested = start * steps + b"1" + end * steps
    request = review("UPDATE", foo(), foo(), uid="abc-1") | {member: foo(any="DEEP")}
    return body(request).replace(b'"DEEP"', nested)


@mutate_raw("/raw", **EVERYTHING)
def look_at_nothing(request: AdmissionRequest) -> AdmissionResponse:
    return AdmissionResponse.allow()


@default(AnyFoo)
def change_all(obj: AnyFoo, ctx: AdmissionContext) -> None:
    deepest = obj.spec.any
    while isinstance(deepest, dict) and isinstance(deepest["a"], dict):
        deepest = deepest["a"]
    if isinstance(deepest, dict):
        deepest["b"] = 2
    obj.metadata.labels["a"] = "b"


@validate(AnyFoo)
def compare(obj: AnyFoo, old: AnyFoo | None, ctx: AdmissionContext) -> None:
    assert obj != old


@pytest.mark.parametrize("levels", [202, 1000, 5000, 12_000])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("member", ["object", "oldObject", "options"])
@pytest.mark.parametrize("handler", [look_at_nothing, change_all, compare])
def test_an_object_of_more_than_200_levels_is_refused_with_its_uid(
    handler: Any, member: str, shape: str, levels: int
) -> None:
    """OP-WHK-08: with another uid an API server would take it for a failed call. Also handlers
    that do not look at the object get none that others can't follow."""
    answer = Asked(handler).call(review_with(levels, shape, member))

    verdict = verdict_in(answer.body)
    assert (verdict.allowed, verdict.code, verdict.response["uid"]) == (False, 400, "abc-1")
    assert "nested levels, and an object may have 200" in verdict.status.message


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("handler", [look_at_nothing, change_all, compare])
def test_an_object_of_200_levels_is_reviewed(handler: Any, shape: str) -> None:
    verdict = verdict_in(Asked(handler).call(review_with(200, shape)).body)

    assert verdict.allowed, verdict.status.message


@pytest.mark.parametrize("levels", [2000, 20_000])
def test_an_answer_that_is_no_json_is_a_refusal(levels: int) -> None:
    """A failed call would let the object pass where the failurePolicy is Ignore."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    changes = ({"op": "add", "path": "/x", "value": object() if levels == 2000 else value},)

    @mutate_raw("/raw", **EVERYTHING)
    def nonsense(request: AdmissionRequest) -> AdmissionResponse:
        return AdmissionResponse(allowed=True, patch=changes)

    verdict = Asked(nonsense).ask(review("UPDATE", foo(), foo(), uid="abc-1"))

    assert (verdict.allowed, verdict.code, verdict.response["uid"]) == (False, 500, "abc-1")
