"""Modules of typed classes are made from OpenAPI schemas."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from clientgo.codegen.openapi_types import generate_modules
from clientgo.meta import Codec

_ROOT = Path(__file__).parents[2]
_APPS = "io.k8s.api.apps.v1"


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _document(**widget_properties: Any) -> dict[str, Any]:
    """A document with one kind, apps/v1 Widget, and a part that it may refer to."""
    required = [name for name, schema in widget_properties.items() if schema.pop("need", False)]
    kind = {
        "type": "object",
        "properties": {"apiVersion": {"type": "string"}, **widget_properties},
        "required": required,
        "x-kubernetes-group-version-kind": [{"group": "apps", "version": "v1", "kind": "Widget"}],
    }
    part = {"type": "object", "properties": {"size": {"type": "integer", "default": 0}}}
    gvk = {"group": "apps", "version": "v1", "kind": "Widget"}
    path = "/apis/apps/v1/namespaces/{namespace}/widgets"
    return {
        "components": {"schemas": {f"{_APPS}.Widget": kind, f"{_APPS}.Part": part}},
        "paths": {path: {"post": {"x-kubernetes-group-version-kind": gvk}}},
    }


def _widget(document: dict[str, Any]) -> Any:
    module = ModuleType("generated_widget")
    sys.modules[module.__name__] = module
    exec(generate_modules([document])["apps_v1"], module.__dict__)
    return module.Widget  # type: ignore[attr-defined]


def test_an_optional_field_is_none_and_a_required_one_must_be_given() -> None:
    widget = _widget(_document(a={"type": "string", "need": True}, b={"type": "integer"}))

    assert widget(a="x").b is None
    with pytest.raises(TypeError, match="'a'"):
        widget(b=1)


def test_a_required_list_that_came_as_null_is_empty() -> None:
    widget = _widget(_document(a={"type": "array", "items": {"type": "string"}, "need": True}))

    assert Codec(widget).decode(b'{"metadata":{"name":"w"},"a":null}').a == []


def test_a_struct_with_an_empty_default_is_always_there() -> None:
    widget = _widget(_document(part={"allOf": [_ref(f"{_APPS}.Part")], "default": {}}))

    assert widget().part.size is None


def test_the_zero_values_that_a_part_requires_are_filled_in() -> None:
    document = _document(part={"allOf": [_ref(f"{_APPS}.Part")], "default": {}})
    document["components"]["schemas"][f"{_APPS}.Part"]["required"] = ["size"]

    assert _widget(document)().part.size == 0


def test_a_part_without_a_zero_value_is_required() -> None:
    document = _document(part={"allOf": [_ref(f"{_APPS}.Part")], "default": {}})
    document["components"]["schemas"][f"{_APPS}.Part"]["required"] = ["size"]
    del document["components"]["schemas"][f"{_APPS}.Part"]["properties"]["size"]["default"]

    with pytest.raises(TypeError, match="'part'"):
        _widget(document)()


def test_a_kind_within_another_object_is_decoded_with_its_body() -> None:
    document = _document(name={"type": "string"}, child={"allOf": [_ref(f"{_APPS}.Widget")]})

    widget = Codec(_widget(document)).decode(b'{"metadata":{"name":"w"},"child":{"name":"c"}}')

    assert type(widget.child).__name__ == "EmbeddedWidget"
    assert widget.child.name == "c"


def test_a_schema_that_is_not_understood_is_named() -> None:
    with pytest.raises(ValueError, match=r"apps\.v1\.Widget\.odd\[\].*'null'"):
        generate_modules([_document(odd={"type": "array", "items": {"type": "null"}})])


def test_a_reference_to_nothing_is_named() -> None:
    with pytest.raises(ValueError, match="Missing"):
        generate_modules([_document(odd=_ref(f"{_APPS}.Missing"))])


def test_what_is_committed_is_what_the_generator_writes() -> None:
    """SAMPLE-22."""
    check = [sys.executable, _ROOT / "hack/update-codegen", "--check"]

    done = subprocess.run(check, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
