"""Conversion reviews as bytes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clientgo.observe.serving import Response
from clientgo.operator.errors import DeclarationError
from clientgo.operator.webhooks import Webhooks, conversion, default
from clientgo.operator.webhooks.conversions import ConversionError
from clientgo.operator.webhooks.endpoint import CallLimiter
from tests.cache.metrics import RecordingProvider
from tests.operator.webhooks.reviews import Foo
from tests.operator.webhooks.serving import call_of
from tests.operator.webhooks.versions import FromAlpha, FromBeta, JobV1, JobV1Alpha1, job

PANICS = ("controller_runtime_conversion_webhook_panics_total",)
V1 = "demo.example.com/v1"


def post(content: bytes, *converters: Any, metrics: Any = None) -> Response:
    webhooks = Webhooks()
    webhooks.register(*(converters or (FromAlpha, FromBeta)))
    endpoints = webhooks.endpoints(CallLimiter(), metrics or RecordingProvider())
    return endpoints["/convert"](call_of(content))


def convert(
    objects: list[Any], desired: str = V1, *converters: Any, metrics: Any = None
) -> dict[str, Any]:
    review = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": {"uid": "u-1", "desiredAPIVersion": desired, "objects": objects},
    }
    answer = post(msgspec.json.encode(review), *converters, metrics=metrics)
    assert answer.status == 200
    content = msgspec.json.decode(answer.body)
    assert (content["apiVersion"], content["kind"]) == (review["apiVersion"], review["kind"])
    response: dict[str, Any] = content["response"]
    assert response["uid"] == "u-1"
    return response


def test_all_objects_come_back_in_their_order() -> None:
    """OP-CNV-01, OP-CNV-03"""
    names = [f"job-{number}" for number in range(20)]

    response = convert(
        [job(["v1alpha1", "v1beta1", "v1"][i % 3], name) for i, name in enumerate(names)]
    )

    assert response["result"] == {"status": "Success"}
    assert [obj["metadata"]["name"] for obj in response["convertedObjects"]] == names
    assert {obj["apiVersion"] for obj in response["convertedObjects"]} == {V1}


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        (job("v7"), "no version 'v7'"),
        (job("v1alpha1", schedule={"a": 1}), "spec.schedule"),
        (job("v1alpha1") | {"kind": "Pod"}, "no conversions for Pod"),
        (job("v1alpha1") | {"apiVersion": "other/v1"}, "'other' cannot become"),
        ({}, "cannot become"),
    ],
)
def test_one_object_that_cannot_be_converted_fails_all(bad: dict[str, Any], complaint: str) -> None:
    """OP-CNV-03, OP-CNV-04"""
    response = convert([job("v1alpha1"), bad])

    assert response["convertedObjects"] == []
    assert response["result"]["status"] == "Failure"
    assert complaint in response["result"]["message"]


@pytest.mark.parametrize("answer", [ZeroDivisionError("boom"), ConversionError("no"), object()])
@pytest.mark.parametrize(
    ("metadata", "name"),
    [
        ({"name": "bad", "namespace": "team"}, "Job team/bad: "),
        ({"generateName": "bad-"}, "Job bad-: "),
        ({}, "Job without a name: "),
    ],
)
def test_the_object_that_cannot_be_converted_is_named(
    metadata: dict[str, str], name: str, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-CNV-07: to the client, and in the log."""

    @conversion(JobV1Alpha1, hub=JobV1)
    class Picky:
        def to_hub(self, spoke: JobV1Alpha1) -> JobV1:
            if not spoke.metadata.name.startswith("job-"):
                if isinstance(answer, Exception):
                    raise answer
                return answer  # type: ignore[no-any-return]
            return JobV1()

        def from_hub(self, hub: JobV1) -> JobV1Alpha1:
            raise AssertionError

    objects = [job("v1alpha1", f"job-{number}") for number in range(9)]
    response = convert([*objects, job("v1alpha1") | {"metadata": metadata}], V1, Picky)

    message = response["result"]["message"]
    assert message.startswith(name)
    assert f"conversion of 10 objects to {V1} failed (review u-1): {message}" in caplog.messages


@pytest.mark.parametrize("content", [b"", b"no json", b"[]", b"{}", b'{"request": 1}'])
def test_a_body_that_is_no_review_is_answered_with_400(content: bytes) -> None:
    """OP-CNV-03"""
    assert post(content).status == 400


def test_a_converter_that_fails_is_a_failure_and_counted() -> None:
    """OP-CNV-03, OP-MET-08"""

    @conversion(JobV1Alpha1, hub=JobV1)
    class Broken:
        def to_hub(self, spoke: JobV1Alpha1) -> JobV1:
            raise ZeroDivisionError("boom")

        def from_hub(self, hub: JobV1) -> JobV1Alpha1:
            raise AssertionError

    metrics = RecordingProvider()

    response = convert([job("v1alpha1")], V1, Broken, metrics=metrics)

    assert response["result"]["status"] == "Failure"
    assert "ZeroDivisionError: boom" in response["result"]["message"]
    assert metrics.values[PANICS] == [1.0]


def test_the_path_of_conversions_cannot_be_that_of_another_webhook() -> None:
    """OP-WHK-02, OP-CNV-01"""
    webhooks = Webhooks()
    webhooks.register(FromAlpha, default(Foo, path="/convert")(lambda obj, ctx: None))

    with pytest.raises(DeclarationError, match="/convert is the path of conversions"):
        webhooks.endpoints(CallLimiter())


@pytest.mark.parametrize(("start", "end"), [(b'{"a":', b"}"), (b"[", b"]")])
@pytest.mark.parametrize("levels", [201, 1000, 5000, 12_000])
def test_an_object_of_more_than_200_levels_is_a_bad_request(
    start: bytes, end: bytes, levels: int
) -> None:
    """OP-CNV-03"""
    inner = start * (levels - 1) + b"1" + end * (levels - 1)
    answer = post(b'{"request":{"objects":[{"a":' + inner + b"}]}}")

    assert answer.status == 400
    assert b"nested levels, and an object may have 200" in answer.body


@pytest.mark.parametrize("unknown_in", ["spec", "status"])
def test_an_object_of_200_levels_is_converted(unknown_in: str) -> None:
    value: Any = 1
    for _ in range(197):
        value = {"a": value}
    obj = job("v1alpha1")
    obj.setdefault(unknown_in, {})["unknown"] = {"deep": value}

    response = convert([obj])

    assert response["result"] == {"status": "Success"}
    assert response["convertedObjects"][0][unknown_in]["unknown"] == {"deep": value}
