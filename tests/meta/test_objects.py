"""Declared resources: typed header, lazy body, nothing lost on the way back."""

from __future__ import annotations

import copy
import gc
import json
from datetime import UTC, datetime
from typing import ClassVar

import msgspec
import pytest

from clientgo.meta import (
    Codec,
    ManagedFieldsEntry,
    Model,
    ObjectDecodeError,
    ObjectMeta,
    Resource,
    Unstructured,
    deep_copy,
    encode,
    metadata_of,
    resource,
    resource_of,
)
from clientgo.meta.objects.resource import APIObject
from tests.collected import is_visited


class WidgetSpec(Model):
    deployment_name: str
    replicas: int | None = None
    tags: list[str] = []


class WidgetPart(Model):
    name: str
    size: int = 0


class WidgetStatus(Model):
    available_replicas: int = 0
    parts: list[WidgetPart] = []


@resource(group="example.com", version="v1alpha1", plural="widgets", short_names=("wd",))
class Widget(Resource):
    spec: WidgetSpec
    status: WidgetStatus = WidgetStatus()


WIDGET = {
    "apiVersion": "example.com/v1alpha1",
    "kind": "Widget",
    "metadata": {
        "name": "a",
        "namespace": "default",
        "resourceVersion": "7",
        "labels": {"app": "x"},
        "managedFields": [{"manager": "kubectl"}],
    },
    "spec": {"deploymentName": "d", "replicas": 1, "brandNew": {"x": 1}},
    "status": {"availableReplicas": 1, "parts": [{"name": "p", "colour": "red"}, {"name": "q"}]},
    "extra": [1, 2],
}


def decode(plain: object, type_: type = Widget) -> Widget:
    return Codec(type_).decode(msgspec.json.encode(plain))


def test_a_declaration_says_where_the_class_is_served() -> None:
    declared = resource_of(Widget)

    assert declared.api_version == "example.com/v1alpha1"
    assert (declared.kind, declared.plural, declared.singular) == ("Widget", "widgets", "widget")
    assert declared.subresources == ("status",), "a status field declares the subresource"
    assert declared.group_resource == "widgets.example.com"


def test_a_class_without_a_declaration_is_refused_with_what_to_write() -> None:
    class Bare(Resource):
        spec: WidgetSpec

    with pytest.raises(TypeError, match="decorate it with @resource"):
        resource_of(Bare)
    with pytest.raises(TypeError, match="derived from Resource"):
        resource(version="v1", plural="x")(int)  # type: ignore[type-var]


def test_the_body_is_decoded_on_first_access_and_kept() -> None:
    widget = decode(WIDGET)
    assert widget._body is None, "the header alone is decoded"

    spec = widget.spec

    assert spec.deployment_name == "d"
    assert widget.spec is spec


def test_a_missing_field_takes_its_own_copy_of_the_default() -> None:
    first, second = (decode({**WIDGET, "status": None}) for _ in range(2))

    first.status.available_replicas = 5

    assert second.status.available_replicas == 0


def test_fields_that_the_type_does_not_know_survive_a_typed_change() -> None:
    """FIELD-14: a read, change and update keeps what a newer server has set."""
    widget = deep_copy(decode(WIDGET))

    widget.spec.replicas = 3
    widget.status.parts = [
        WidgetPart(name="q", size=1),
        WidgetPart(name="p"),
        WidgetPart(name="r"),
    ]
    widget.metadata.labels["tier"] = "y"

    sent = widget.to_dict()
    assert sent["spec"] == {"deploymentName": "d", "replicas": 3, "brandNew": {"x": 1}}
    assert sent["status"]["parts"] == [
        {"name": "q", "size": 1},
        {"name": "p", "colour": "red"},
        {"name": "r", "size": 0},
    ]
    assert sent["metadata"]["managedFields"] == [{"manager": "kubectl"}]
    assert sent["metadata"]["labels"] == {"app": "x", "tier": "y"}
    assert sent["extra"] == [1, 2]


def test_an_unchanged_object_goes_back_as_it_came() -> None:
    widget = decode(WIDGET)
    widget.spec.replicas  # noqa: B018 - the body is decoded, not changed

    assert widget.to_dict() == WIDGET


def test_the_header_has_its_times_as_datetimes() -> None:
    header = ObjectMeta(creation_timestamp="2026-01-02T03:04:05Z")

    assert header.creation_time == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert header.deletion_time is None


@pytest.mark.parametrize("kind", [Widget, Unstructured])
def test_the_header_tells_which_manager_set_which_fields(kind: type[APIObject]) -> None:
    entry = {
        "manager": "kubectl",
        "operation": "Apply",
        "apiVersion": "v1",
        "time": "2026-01-02T03:04:05Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {}},
        "subresource": "status",
    }
    raw = msgspec.json.encode({**WIDGET, "metadata": {"managedFields": [entry]}})
    obj = Codec(kind).decode(raw)

    expected = ManagedFieldsEntry(
        manager="kubectl",
        operation="Apply",
        api_version="v1",
        time="2026-01-02T03:04:05Z",
        fields_type="FieldsV1",
        fields_v1={"f:spec": {}},
        subresource="status",
    )
    assert obj.metadata.managed_fields == (expected,)
    assert metadata_of(json.loads(raw)).managed_fields == (expected,)
    assert Codec(kind).decode(encode(obj)).metadata.managed_fields == (expected,)


@pytest.mark.parametrize("header", ["{}", '{"managedFields":null}'])
def test_a_header_without_managers_has_none(header: str) -> None:
    metadata = Codec(Widget).decode(f'{{"metadata":{header}}}'.encode()).metadata

    assert metadata.managed_fields == ()
    assert copy.deepcopy(metadata).managed_fields == ()


def test_managers_can_be_left_out_of_what_is_sent_or_replaced() -> None:
    obj = decode(WIDGET)
    obj.metadata.managed_fields = ()
    assert "managedFields" not in obj.to_dict()["metadata"]

    obj.metadata.managed_fields = [ManagedFieldsEntry(manager="me")]
    assert obj.to_dict()["metadata"]["managedFields"] == [{"manager": "me"}]


@pytest.mark.parametrize("managers", [None, []])
@pytest.mark.parametrize("kind", [Widget, Unstructured])
def test_an_empty_list_of_managers_is_left_out_of_what_is_sent(
    kind: type, managers: object
) -> None:
    obj = decode({**WIDGET, "metadata": {"name": "a", "managedFields": managers}}, kind)

    assert obj.to_dict()["metadata"] == {"name": "a"}

    obj.metadata.labels["app"] = "y"
    assert obj.to_dict()["metadata"] == {"name": "a", "labels": {"app": "y"}}


def test_an_object_that_needs_a_lenient_reading_keeps_its_managers() -> None:
    plain = {"metadata": {"generation": "7", "managedFields": [{"manager": "kubectl"}]}}
    obj = Codec(Widget).decode(msgspec.json.encode(plain))

    assert obj.metadata.generation == 7
    assert [entry.manager for entry in obj.metadata.managed_fields] == ["kubectl"]


def test_a_header_does_not_keep_the_page_of_its_list() -> None:
    page = msgspec.json.encode({"metadata": {}, "items": [WIDGET, WIDGET]})
    first, _ = Codec(Widget).decode_list(page).items

    assert gc.get_referents(first.metadata._managed_fields) == []
    assert len(first._raw or b"") < len(page)


def test_a_models_required_field_may_follow_an_optional_one() -> None:
    class Late(Model):
        size: int | None = None
        first_name: str

    class Later(Late):
        other: int

    assert Late(first_name="a").size is None
    assert msgspec.json.encode(Later(first_name="a", other=1)) == (
        b'{"size":null,"firstName":"a","other":1}'
    )
    with pytest.raises(TypeError, match="positional"):
        Late(1, "a")  # type: ignore[misc]


def test_a_model_is_the_default_of_a_field_and_each_object_has_its_own() -> None:
    class Holder(Model):
        shared: ClassVar[WidgetPart] = WidgetPart(name="shared")
        part: WidgetPart = WidgetPart(name="p")

    first, second = Holder(), msgspec.json.decode(b"{}", type=Holder)
    first.part.size = 5

    assert second.part == WidgetPart(name="p")
    assert Holder.shared.name == "shared"


def test_an_object_inside_of_another_is_refused_with_the_type_to_use() -> None:
    wrong = Widget(metadata=ObjectMeta(name="b"), spec=WidgetSpec(deployment_name="d"))
    parts: list[WidgetPart] = [WidgetPart(name="p"), wrong]  # type: ignore[list-item]
    widget = Widget(spec=WidgetSpec(deployment_name="d"), status=WidgetStatus(parts=parts))

    with pytest.raises(TypeError) as refused:
        widget.to_dict()

    assert str(refused.value) == (
        "status.parts holds a Widget, which is an object of its own; "
        "use the type that the field has in WidgetStatus: list[WidgetPart]"
    )


def test_a_field_set_to_none_is_removed() -> None:
    widget = deep_copy(decode(WIDGET))

    widget.spec.replicas = None
    widget.metadata.labels.clear()

    assert "replicas" not in widget.to_dict()["spec"]
    assert "labels" not in widget.to_dict()["metadata"]


def test_a_copy_may_be_changed_and_the_original_stays() -> None:
    original = decode(WIDGET)
    original.spec.tags.append("kept")
    copy = deep_copy(original)

    copy.spec.replicas = 9
    copy.spec.tags.append("new")
    copy.metadata.labels["app"] = "changed"

    assert original.spec.replicas == 1
    assert original.spec.tags == ["kept"]
    assert original.metadata.labels == {"app": "x"}
    assert copy != original


def test_an_object_made_here_is_sent_with_its_type() -> None:
    widget = Widget(metadata=ObjectMeta(name="n"), spec=WidgetSpec(deployment_name="d"))

    assert widget.to_dict() == {
        "apiVersion": "example.com/v1alpha1",
        "kind": "Widget",
        "metadata": {"name": "n"},
        "spec": {"deploymentName": "d", "tags": []},
        "status": {"availableReplicas": 0, "parts": []},
    }


def test_nulls_and_numbers_as_text_are_understood() -> None:
    """FIELD-13: a strict type is no reason to lose an object that says what it means."""
    widget = decode(
        {
            "metadata": {"name": "a", "labels": None},
            "spec": {"deploymentName": "d", "replicas": "3", "tags": None},
        }
    )

    assert (widget.spec.replicas, widget.spec.tags) == (3, [])


def test_a_body_that_does_not_fit_names_the_object_and_the_field() -> None:
    widget = decode({"metadata": {"name": "a", "namespace": "ns"}, "spec": {"replicas": []}})

    with pytest.raises(ObjectDecodeError, match=r"Widget 'ns/a'.*\$\.spec\.replicas"):
        widget.spec  # noqa: B018

    assert widget.to_dict()["spec"] == {"replicas": []}, "it can still be read as it came"


def test_a_body_with_text_that_cannot_be_decoded_names_the_object() -> None:
    broken = b'{"metadata":{"name":"a","namespace":"ns"},"spec":{"deploymentName":"\xff"}}'
    widget = decode({"metadata": {"name": "a", "namespace": "ns"}})
    widget._raw = broken

    with pytest.raises(ObjectDecodeError, match="ns/a"):
        widget.spec  # noqa: B018
    with pytest.raises(ObjectDecodeError, match="ns/a"):
        widget.to_dict()


def test_a_cached_object_gives_the_garbage_collector_nothing_to_scan() -> None:
    event = Codec(Widget).decode_event(
        b'{"type":"ADDED","object":' + msgspec.json.encode(WIDGET) + b"}"
    )

    parts = (event.object, event.object.metadata, event.object.metadata.labels, event.object._raw)
    assert not any(map(is_visited, parts))


def test_a_body_that_was_read_gives_the_garbage_collector_no_model_to_scan() -> None:
    event = Codec(Widget).decode_event(
        b'{"type":"ADDED","object":' + msgspec.json.encode(WIDGET) + b"}"
    )
    widget = event.object

    assert not any(gc.is_tracked(part) for part in (widget.spec, widget.status, widget._body))


def test_a_field_of_an_unstructured_object_is_decoded_when_it_is_read_and_kept() -> None:
    widget = Codec(Unstructured).decode(msgspec.json.encode(WIDGET))

    spec = widget["spec"]

    assert (len(widget), "status" in widget, list(widget)) == (len(WIDGET), True, list(WIDGET))
    undecoded = {name for name, value in widget._body.items() if type(value) is msgspec.Raw}
    assert undecoded == WIDGET.keys() - {"spec"}
    assert widget.get("spec") is spec
    assert deep_copy(widget) == widget == WIDGET


def test_a_broken_field_of_an_unstructured_object_leaves_the_others_readable() -> None:
    widget = Codec(Unstructured).decode(b'{"kind":"W","metadata":{"name":"a"},"spec":{"n":1}}')
    widget._raw = b'{"kind":"W","metadata":{"name":"a"},"spec":{"n":1},"status":"\xff"}'

    assert widget["spec"] == {"n": 1}
    with pytest.raises(ObjectDecodeError, match="W 'a'"):
        widget["status"]


def test_a_subclass_of_a_declared_class_adds_to_its_body() -> None:
    @resource(group="example.com", version="v1", plural="widgets")
    class WidgetV1(Widget):
        data: dict[str, str] = {}

    widget = decode({**WIDGET, "data": {"k": "v"}}, WidgetV1)

    assert widget.data == {"k": "v"}
    assert widget.spec.replicas == 1
    assert widget.api_version == "example.com/v1"


def test_an_unstructured_object_reads_like_its_json_and_has_the_same_header() -> None:
    obj = Codec(Unstructured).decode(msgspec.json.encode(WIDGET))

    assert obj.metadata.labels == {"app": "x"}
    assert obj["spec"]["replicas"] == 1
    assert obj.get("nothing") is None
    assert set(obj) == set(WIDGET)
    assert obj == WIDGET
    with pytest.raises(TypeError):
        obj["spec"] = {}  # type: ignore[index]


def test_the_dict_of_an_unstructured_object_is_the_callers_own() -> None:
    obj = Codec(Unstructured).decode(msgspec.json.encode(WIDGET))

    obj.to_dict()["spec"]["replicas"] = 5  # decoded for the caller

    assert obj["spec"]["replicas"] == 1
    obj.to_dict()["spec"]["replicas"] = 5  # a copy of what was read
    assert obj["spec"]["replicas"] == 1
    assert obj.to_dict() == WIDGET


def test_changed_metadata_of_an_unstructured_copy_is_sent() -> None:
    obj = deep_copy(Unstructured.from_dict(WIDGET))

    obj.metadata.finalizers = ("example.com/f",)

    assert obj.to_dict()["metadata"]["finalizers"] == ["example.com/f"]
    assert obj.to_dict()["metadata"]["managedFields"] == [{"manager": "kubectl"}]


def test_an_unstructured_object_needs_metadata() -> None:
    with pytest.raises(ValueError, match="metadata does not fit"):
        Unstructured.from_dict({"kind": "Widget"})
