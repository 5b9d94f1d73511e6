"""Schemas of other people's kinds become typed classes."""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from msgspec import structs

import clientgo.api
from clientgo.codegen.crd import custom_resource_definition
from clientgo.codegen.layout import laid_out
from clientgo.codegen.schema_types import Kind, types_module
from clientgo.codegen.schemas.type_schema import resource_schema
from clientgo.codegen.type_sources import kinds_of_openapi, openapi_definitions
from clientgo.meta import APIResource, Codec, resource_of
from clientgo.testcluster.schema import SchemaError, StructuralSchema
from clientgo.testcluster.schema.openapi import openapi_documents
from tests.codegen.drawn_schemas import SCHEMAS, objects, values_of
from tests.codegen.loading import FOOS, load, text_of, typed
from tests.codegen.schema_essence import essence

Schema = dict[str, Any]
_ROOT = Path(__file__).parents[2]
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]


def _of_spec(spec: Schema) -> Schema:
    return {"type": "object", "properties": {"spec": spec}}


def _field(schema: Schema, *, required: bool = True) -> str:
    """The line that declares a field of this schema."""
    root = {"type": "object", "properties": {"value": schema}}
    if required:
        root["required"] = ["value"]
    lines = text_of(root).splitlines()
    return next(line.strip() for line in lines if line.startswith("    value: "))


@pytest.mark.parametrize(
    ("schema", "line"),
    [
        ({"type": "string"}, "value: str"),
        ({"type": "integer", "format": "int64"}, "value: int"),
        ({"type": "integer", "format": "int32"}, "value: Int32"),
        ({"type": "number", "format": "double"}, "value: float"),
        ({"type": "string", "format": "date-time"}, "value: Time"),
        ({"type": "string", "format": "byte"}, "value: bytes"),
        ({"type": "string", "format": "ipv4"}, "value: Annotated[str, Format('ipv4')]"),
        ({"type": "string", "enum": ["a", "b"]}, "value: Literal['a', 'b']"),
        (
            {"type": "integer", "minimum": 1, "maximum": 9, "exclusiveMaximum": True},
            "value: Annotated[int, Meta(ge=1, lt=9)]",
        ),
        ({"x-kubernetes-int-or-string": True}, "value: int | str"),
        (
            {
                "x-kubernetes-int-or-string": True,
                "anyOf": [{"type": "integer"}, {"type": "string"}],
            },
            "value: int | str",
        ),
        (
            {"x-kubernetes-int-or-string": True, "minimum": 0, "pattern": "%$"},
            "value: Annotated[int, Meta(ge=0)] | Annotated[str, Meta(pattern='%$')]",
        ),
        ({"x-kubernetes-preserve-unknown-fields": True}, "value: Any"),
        (
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "value: dict[str, Any]",
        ),
        (
            {"type": "object", "additionalProperties": {"type": "string", "maxLength": 3}},
            "value: dict[str, Annotated[str, Meta(max_length=3)]]",
        ),
        ({"type": "array", "items": {"type": "integer"}}, "value: list[int]"),
        (
            {"type": "array", "items": {"type": "integer", "nullable": True}},
            "value: list[int | None]",
        ),
        (
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "value: Annotated[list[str], ListType.SET]",
        ),
        ({"type": "integer", "nullable": True}, "value: Annotated[int | None, NULLABLE]"),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, "value: FooValue"),
        # What Python would read otherwise is written down for the schema only.
        (
            {"type": "string", "pattern": "[[:alpha:]]"},
            "value: Annotated[str, Meta(extra_json_schema={'pattern': '[[:alpha:]]'})]",
        ),
        (
            {"type": "integer", "minimum": 0.5},
            "value: Annotated[int, Meta(extra_json_schema={'minimum': 0.5})]",
        ),
    ],
    ids=str,
)
def test_a_schema_has_a_type(schema: Schema, line: str) -> None:
    assert _field(schema) == line


@pytest.mark.parametrize(
    ("schema", "line"),
    [
        ({"type": "integer"}, "value: int | None = None"),
        ({"type": "integer", "minimum": 1}, "value: Annotated[int, Meta(ge=1)] | None = None"),
        ({"type": "integer", "default": 3}, "value: int = 3"),
        ({"type": "integer", "default": 0}, "value: Annotated[int, Default(0)] = 0"),
        ({"type": "string", "enum": ["a"], "default": "a"}, "value: Literal['a'] = 'a'"),
        ({"x-kubernetes-preserve-unknown-fields": True}, "value: Any = None"),
        (
            {"type": "array", "items": {"type": "string"}, "default": ["x"]},
            "value: Annotated[list[str] | None, Default(['x'])] = None",
        ),
        (
            {"type": "object", "properties": {"a": {"type": "integer", "default": 1}}}
            | {"default": {}},
            "value: Annotated[FooValue, Default({})] = field(default_factory=FooValue)",
        ),
        (
            {"type": "object", "properties": {"a": {"type": "integer"}}, "default": {"a": 1}},
            "value: Annotated[FooValue | None, Default({'a': 1})] = None",
        ),
    ],
    ids=str,
)
def test_a_field_that_may_be_absent_reads_as_its_default_or_none(schema: Schema, line: str) -> None:
    assert _field(schema, required=False) == line


def test_descriptions_become_docstrings() -> None:
    spec = {
        "type": "object",
        "description": "What is wanted.",
        "properties": {"size": {"type": "integer", "description": 'How "big" it is.\n\nIn cm.'}},
    }

    text = text_of(_of_spec(spec))

    assert '    """What is wanted."""\n' in text
    assert '    """How "big" it is.\n\n    In cm.\n    """\n' in text


def test_a_kind_whose_name_is_taken_keeps_it_on_the_wire() -> None:
    resource = APIResource(group="e.com", version="v1", kind="None", plural="nones")

    (kind,) = load(text_of({"type": "object"}, resource)).RESOURCES

    assert kind.__name__ == "None2"
    assert resource_of(kind).kind == "None"


@pytest.mark.parametrize(
    "kind", ["Rule", "Scale", "Format", "Resource", "Any", "Quantity", "APIModel", "ObjectMeta"]
)
def test_a_class_named_like_what_a_module_imports_keeps_its_name(kind: str) -> None:
    rule = {"rule": f"self.amount != '{kind}'"}
    spec = {
        "type": "object",
        "x-kubernetes-validations": [rule],
        "properties": {
            "amount": {"type": "string", "maxLength": 5, "format": "uuid", "description": kind},
            "nested": {"type": "object", "properties": {"x": {"type": "string"}}},
            "free": {"x-kubernetes-preserve-unknown-fields": True},
        },
    }
    schema = {"type": "object", "properties": {"spec": spec}}
    resource = structs.replace(FOOS, kind=kind, plural=f"{kind.lower()}s")
    text = text_of(schema, resource)
    (made,) = load(text).RESOURCES

    assert made.__name__ == kind
    assert f"class {kind}SpecNested(" in text
    assert "kind=" not in text
    (version,) = custom_resource_definition(made)["spec"]["versions"]
    written = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert written["x-kubernetes-validations"] == [rule]
    assert written["properties"]["amount"]["description"] == kind


INTEGER_OR_STRING: Schema = {
    "x-kubernetes-int-or-string": True,
    "anyOf": [{"type": "integer"}, {"type": "string"}],
}


@pytest.mark.parametrize(
    ("member", "regenerated"),
    [
        ({"type": "integer", "format": "int64"}, {"type": "integer"}),
        ({"type": "number", "format": "double"}, {"type": "number"}),
        ({"type": "integer", "format": "int32"}, {"type": "integer", "format": "int32"}),
        ({"type": "number", "format": "float"}, {"type": "number", "format": "float"}),
        (INTEGER_OR_STRING, {"x-kubernetes-int-or-string": True}),
        ({"type": "string", "default": "x"}, {"type": "string", "default": "x"}),
    ],
)
def test_a_regenerated_definition_leaves_out_only_what_the_page_says(
    member: Schema, regenerated: Schema
) -> None:
    spec = {"type": "object", "properties": {"a": member}, "required": ["a"]}
    made = typed({"type": "object", "properties": {"spec": spec}})

    written = resource_schema(made)["properties"]["spec"]

    assert written["properties"] == {"a": regenerated}
    assert written.get("required", []) == ([] if "default" in member else ["a"])


def test_text_from_a_definition_is_never_code() -> None:
    hostile = '"""\nraise SystemExit\n"""\\'
    resource = APIResource(group=hostile, version=hostile, kind="Foo", plural=hostile)
    field = {"type": "string", "description": hostile, "enum": [hostile], "default": hostile}
    schema = {"type": "object", "description": hostile, "properties": {"a'\u202e": field}}

    module = load(types_module([Kind(resource, schema)], source=hostile))

    assert module.Foo().a == hostile
    assert resource_of(module.Foo).group == hostile
    assert module.Foo.__doc__.split() == hostile.split()


def test_fields_whose_names_collide_are_all_there() -> None:
    properties = {name: {"type": "integer"} for name in ("fooBar", "foo-bar", "foo_bar", "$", "%")}
    spec: Any = {"type": "object", "properties": properties}
    body = {"spec": dict(zip(properties, range(5), strict=True))}

    foo = Codec(typed(_of_spec(spec))).decode(json.dumps({"metadata": {}, **body}).encode())

    assert sorted(getattr(foo.spec, name) for name in foo.spec.__struct_fields__) == [0, 1, 2, 3, 4]
    assert foo.to_dict()["spec"] == body["spec"]


def test_a_name_that_no_class_can_have_stays_in_the_object() -> None:
    spec = {"type": "object", "properties": {'a"b': {"type": "string"}, "c": {"type": "string"}}}
    raw = {"metadata": {"name": "x"}, "spec": {'a"b': "kept", "c": "read"}}

    foo = Codec(typed(_of_spec(spec))).decode(json.dumps(raw).encode())

    assert foo.spec.c == "read"
    assert foo.to_dict()["spec"] == raw["spec"]


# -- schemas by chance


def _drawn(data: st.DataObject) -> Schema:
    root = _of_spec(data.draw(SCHEMAS | objects(SCHEMAS)))
    try:
        StructuralSchema.parse(root)
    except SchemaError:
        assume(False)  # a default that does not fit, or a keyword where it must not be
    return root


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_whatever_the_schema_allows_the_type_decodes(data: st.DataObject) -> None:
    root = _drawn(data)
    sent = {"spec": data.draw(values_of(root["properties"]["spec"]))}
    schema = StructuralSchema.parse(root)
    stored = schema.default(schema.prune(sent)[0])
    assume(not schema.validate(stored))
    raw = json.dumps({"metadata": {"name": "a"}, **stored}).encode()

    foo = Codec(typed(root)).decode(raw)

    assert foo.spec is not None or "spec" not in stored or stored["spec"] is None
    assert foo.to_dict()["spec"] == stored["spec"] if "spec" in stored else True


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_definition_made_of_the_types_says_what_the_schema_said(data: st.DataObject) -> None:
    root = _drawn(data)

    again = resource_schema(typed(root))

    assert essence(again) == essence(root)
    StructuralSchema.parse(again)


# -- schemas of realistic size


_GROUPS = [info.name for info in pkgutil.iter_modules(clientgo.api.__path__)]


@pytest.mark.parametrize("group", _GROUPS)
def test_the_schemas_of_the_built_in_kinds_survive_the_way_to_types_and_back(group: str) -> None:
    for kind in getattr(importlib.import_module(f"clientgo.api.{group}"), "RESOURCES", ()):
        if kind.__name__ == "CustomResourceDefinition":
            continue  # a schema of schemas, which has no end
        schema = resource_schema(kind)

        again = resource_schema(typed(schema))

        assert essence(again) == essence(schema)


def test_types_of_a_published_document_pass_the_type_checker_and_the_linter(
    tmp_path: Path,
) -> None:
    document = json.loads(openapi_documents()["apis/apps/v1"].text)
    file = tmp_path / "apps.py"
    text = types_module(kinds_of_openapi(document), openapi_definitions(document), source="apps/v1")
    file.write_text(laid_out(text, _ROOT / "clientgo/apps.py"))

    mypy = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", str(file)]
    ruff = [sys.executable, "-m", "ruff", "check", "--config", "pyproject.toml", str(file)]
    for command in (mypy, ruff):
        done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
    kinds = {kind.__name__ for kind in load(file.read_text()).RESOURCES}
    assert {"Deployment", "StatefulSet", "DaemonSet"} <= kinds


def test_a_schema_that_refers_to_itself_becomes_a_class_that_does() -> None:
    node = {
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$ref": "#/components/schemas/N"}}},
    }
    root = _of_spec({"$ref": "#/components/schemas/N"})
    text = types_module([Kind(FOOS, root)], {"N": node}, source="a test")
    (foo,) = load(text).RESOURCES

    decoded = Codec(foo).decode(b'{"metadata":{},"spec":{"children":[{"children":[]}]}}')

    assert decoded.spec.children[0].children == []


def test_a_reference_to_nothing_is_named() -> None:
    with pytest.raises(ValueError, match="refers to Missing"):
        text_of(_of_spec({"$ref": "#/components/schemas/Missing"}))
