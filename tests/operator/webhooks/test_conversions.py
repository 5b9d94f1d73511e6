"""Converting objects of one kind."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from clientgo.meta import ObjectMeta, Resource, resource
from clientgo.operator.errors import DeclarationError
from clientgo.operator.webhooks import Webhooks, as_version, conversion
from clientgo.operator.webhooks.conversions import ConversionError, KindConversions
from tests.operator.webhooks.reviews import Foo
from tests.operator.webhooks.versions import (
    FromAlpha,
    FromBeta,
    HubSpec,
    Item,
    JobV1,
    JobV1Alpha1,
    JobV1Beta1,
    job,
)

UNKNOWN = "demo.example.com/unknown"


def conversions() -> KindConversions:
    return KindConversions([FromAlpha(), FromBeta()], [JobV1, JobV1Alpha1, JobV1Beta1])


@pytest.mark.parametrize(
    ("came", "desired", "made"),
    [
        (job("v1alpha1", schedule="5 4"), "v1", job("v1", minute="5", hour="4", extra=[])),
        (job("v1", minute="5", hour="4"), "v1alpha1", job("v1alpha1", schedule="5 4", extra=[])),
        (job("v1alpha1", schedule="5 4"), "v1beta1", job("v1beta1", minute="5")),
        (job("v1beta1", minute="5"), "v1alpha1", job("v1alpha1", schedule="5 0", extra=[])),
    ],
)
def test_every_version_becomes_every_other_through_the_hub(
    came: dict[str, Any], desired: str, made: dict[str, Any]
) -> None:
    """OP-CNV-01"""
    assert conversions().convert(came, desired) == made


def test_an_object_that_has_the_version_is_returned_as_it_is() -> None:
    """OP-CNV-04"""
    came = job("v1alpha1", schedule={"not": "even valid"})

    assert conversions().convert(came, "v1alpha1") is came


def test_an_object_in_another_version_has_the_fields_that_both_declare() -> None:
    """OP-CNV-01"""
    hub = JobV1(
        metadata=ObjectMeta(name="a", labels={"b": "c"}),
        spec=HubSpec(minute="5", hour="4", extra=[Item(name="x")]),
    )

    old = as_version(hub, JobV1Alpha1)
    old.spec.extra[0].name, old.metadata.labels["b"] = "changed", "changed"

    assert type(old) is JobV1Alpha1
    assert old.to_dict()["apiVersion"] == "demo.example.com/v1alpha1"
    assert (old.spec.schedule, old.metadata.name) == ("", "a")
    assert "hour" not in old.to_dict()["spec"]
    assert (hub.spec.extra[0].name, hub.metadata.labels) == ("x", {"b": "c"})


@pytest.mark.parametrize(("has", "wants"), [("v1", "v7"), ("v7", "v1")])
def test_an_undeclared_version_is_an_error(has: str, wants: str) -> None:
    """OP-CNV-04"""
    with pytest.raises(ConversionError, match="no version 'v7' here; there are v1, v1alpha1"):
        conversions().convert(job(has), wants)


def test_fields_that_the_types_do_not_know_survive() -> None:
    """OP-CNV-06"""
    came = job("v1alpha1", schedule="5 4", extra=[{"name": "x", "newer": 1}], newer={"a": [1]})
    came["status"] = {"seen": True}
    came["metadata"]["managedFields"] = [{"manager": "kubectl"}]

    hub = conversions().convert(came, "v1")

    assert hub["spec"] == {
        "minute": "5",
        "hour": "4",
        "extra": [{"name": "x", "newer": 1}],
        "newer": {"a": [1]},
    }
    assert hub["status"] == {"seen": True}
    assert hub["metadata"] == came["metadata"]
    assert conversions().convert(hub, "v1alpha1") == came


def test_unknown_fields_are_kept_in_an_annotation_where_that_is_asked_for() -> None:
    """OP-CNV-06"""
    hub = job("v1", minute="5", hour="0", extra=[], newer=1)

    spoke = conversions().convert(hub, "v1beta1")

    assert spoke["spec"] == {"minute": "5"}
    assert spoke["metadata"]["annotations"] == {UNKNOWN: '{"spec":{"newer":1}}'}
    kept = copy.deepcopy(spoke)
    back = conversions().convert(spoke, "v1")
    assert back == hub
    assert spoke == kept


@pytest.mark.parametrize("text", ["no json", "[1]"])
def test_an_annotation_that_is_not_json_is_an_error(text: str) -> None:
    """OP-CNV-06"""
    spoke = job("v1beta1", minute="5")
    spoke["metadata"]["annotations"] = {UNKNOWN: text}

    with pytest.raises(ConversionError, match="holds no JSON object"):
        conversions().convert(spoke, "v1")


def converter(spoke: type[Resource], hub: type[Resource], make: Any = None) -> Any:
    @conversion(spoke, hub=hub)
    class Converter:
        def to_hub(self, obj: Any) -> Any:
            return make(obj)

        def from_hub(self, obj: Any) -> Any:
            return make(obj)

    return Converter()


def test_labels_and_annotations_may_be_changed_by_a_conversion() -> None:
    """OP-CNV-03"""

    def relabelled(obj: Any) -> JobV1:
        obj.metadata.labels = {"new": "label"}
        obj.metadata.annotations = {"new": "annotation"}
        return JobV1(metadata=obj.metadata)

    made = KindConversions([converter(JobV1Alpha1, JobV1, relabelled)]).convert(
        job("v1alpha1"), "v1"
    )

    assert made["metadata"] == {
        "name": "a",
        "uid": "uid-a",
        "labels": {"new": "label"},
        "annotations": {"new": "annotation"},
    }


def test_other_metadata_may_not_be_changed_by_a_conversion() -> None:
    """OP-CNV-03"""

    def renamed(obj: Any) -> JobV1:
        made = JobV1()
        made.metadata.name = "other"
        return made

    with pytest.raises(ConversionError, match=r"changes metadata\.name"):
        KindConversions([converter(JobV1Alpha1, JobV1, renamed)]).convert(job("v1alpha1"), "v1")


def test_a_converter_that_returns_something_else_is_an_error() -> None:
    with pytest.raises(TypeError, match="must return a JobV1"):
        KindConversions([converter(JobV1Alpha1, JobV1, lambda obj: obj)]).convert(
            job("v1alpha1"), "v1"
        )


def test_a_kind_without_a_hub_is_refused() -> None:
    """OP-CNV-02"""
    webhooks = Webhooks()
    webhooks.convertible(JobV1, JobV1Alpha1)

    with pytest.raises(DeclarationError, match=r"no hub for demo.example.com/v1, Kind=Job"):
        webhooks.conversions()


def test_a_version_without_a_converter_is_refused() -> None:
    """OP-CNV-02"""
    webhooks = Webhooks()
    webhooks.register(FromAlpha)
    webhooks.convertible(JobV1, JobV1Alpha1, JobV1Beta1)

    with pytest.raises(DeclarationError, match=r"no converter for demo.example.com/v1beta1"):
        webhooks.conversions()


def test_two_converters_of_one_version_are_refused() -> None:
    """OP-CNV-02"""
    with pytest.raises(DeclarationError, match=r"two converters for demo.example.com/v1alpha1"):
        KindConversions([FromAlpha(), converter(JobV1Alpha1, JobV1)])


def test_two_hubs_are_refused() -> None:
    """OP-CNV-02"""
    with pytest.raises(DeclarationError, match="two hubs, JobV1 and JobV1Beta1, of v1 and v1beta1"):
        KindConversions([FromAlpha(), converter(JobV1Alpha1, JobV1Beta1)])


def test_a_hub_and_a_spoke_must_be_versions_of_one_kind() -> None:
    """OP-CNV-02, OP-CNV-04"""
    with pytest.raises(DeclarationError, match=r"not two versions of one kind; .* kind="):
        conversion(JobV1Alpha1, hub=Foo)
    with pytest.raises(DeclarationError, match="not two versions of one kind"):
        conversion(JobV1, hub=JobV1)


def test_a_converter_must_convert_both_ways() -> None:
    """OP-CNV-02"""
    with pytest.raises(DeclarationError, match="it needs a method from_hub"):

        @conversion(JobV1Alpha1, hub=JobV1)
        class OneWay:
            def to_hub(self, obj: Any) -> Any: ...


def test_a_default_of_one_version_that_is_not_that_of_another_is_said() -> None:
    """A field that two versions share, with different defaults in Python, keeps its value."""

    @resource(group="demo.example.com", version="v2", plural="jobs", kind="Job")
    class JobV2(Resource):
        retries: int = 6

    @resource(group="demo.example.com", version="v3", plural="jobs", kind="Job")
    class JobV3(Resource):
        retries: int = 1

    @conversion(JobV2, hub=JobV3)
    class Converter:
        def to_hub(self, spoke: JobV2) -> JobV3:
            return JobV3(retries=spoke.retries)

        def from_hub(self, hub: JobV3) -> JobV2:
            return JobV2(retries=hub.retries)

    assert KindConversions([Converter()]).convert(job("v2"), "v3")["retries"] == 6
