"""Declared resources: typed header, lazy body, nothing lost on the way back."""

from __future__ import annotations

import gc

import msgspec
import pytest

from clientgo.meta import (
    Codec,
    Model,
    ObjectDecodeError,
    ObjectMeta,
    Resource,
    Unstructured,
    deep_copy,
    resource,
    resource_of,
)


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
    widget = decode({"metadata": {"name": "a", "namespace": "ns"}, "spec": {"replicas": 1}})

    with pytest.raises(ObjectDecodeError, match=r"Widget 'ns/a'.*deploymentName.*\$\.spec"):
        widget.spec  # noqa: B018

    assert widget.to_dict()["spec"] == {"replicas": 1}, "it can still be read as it came"


def test_a_cached_object_gives_the_garbage_collector_nothing_to_scan() -> None:
    event = Codec(Widget).decode_event(
        b'{"type":"ADDED","object":' + msgspec.json.encode(WIDGET) + b"}"
    )

    parts = (event.object, event.object.metadata, event.object.metadata.labels, event.object._raw)
    assert not any(gc.is_tracked(part) for part in parts)


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

    obj.to_dict()["spec"]["replicas"] = 5

    assert obj["spec"]["replicas"] == 1


def test_changed_metadata_of_an_unstructured_copy_is_sent() -> None:
    obj = deep_copy(Unstructured.from_dict(WIDGET))

    obj.metadata.finalizers = ("example.com/f",)

    assert obj.to_dict()["metadata"]["finalizers"] == ["example.com/f"]
    assert obj.to_dict()["metadata"]["managedFields"] == [{"manager": "kubectl"}]


def test_an_unstructured_object_needs_metadata() -> None:
    with pytest.raises(ValueError, match="metadata does not fit"):
        Unstructured.from_dict({"kind": "Widget"})
