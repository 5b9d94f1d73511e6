"""Whatever a definition holds: types that can be used, or one sentence with the place."""

from __future__ import annotations

import copy
import datetime
import json
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clientgo.codegen.schema_types import types_module
from clientgo.codegen.schemas.schema_check import MAX_DEPTH, SchemaFormatError
from clientgo.codegen.type_sources import (
    TypeSourceError,
    kind_of_crd,
    kinds_of_openapi,
    openapi_definitions,
)
from clientgo.meta import Codec
from tests.codegen.drawn_schemas import SCHEMAS, objects
from tests.codegen.loading import load

Schema = dict[str, Any]

NAMES: Final = st.sampled_from(
    [
        *("class", "None", "True", "match", "self", "cls", "__class__", "__init__", "_", "", " "),
        *(
            "2fa",
            "$ref",
            "fooBar",
            "foo_bar",
            "foo-bar",
            "FooBar",
            "foo.bar",
            "größe",
            "名前",
            "x y",
        ),
        *("kind", "apiVersion", "metadata", "spec", "to_dict", "toDict", "Resource", "APIModel"),
        *(
            "field",
            "marked",
            "Meta",
            "Any",
            "list",
            "str",
            "int",
            "dict",
            "type",
            "print",
            "object",
        ),
        *('a"b', "a'b", "a\\b", "a\nb", "a\x00b", "a`b", "a#b", "{x}", "%s", "\u2028", "\u202e"),
        *("async", "await", "lambda", "del", "RESOURCES", "annotations", "NULLABLE", "Default"),
    ]
)
TEXTS: Final = st.text(max_size=30) | st.sampled_from(
    [
        '"""',
        '\\"""',
        "ends with \\",
        'ends with "',
        "\x00",
        "\x1b[31m",
        "\r\n",
        "\u2028",
        "'''",
        "%",
    ]
)
JUNK: Final = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**30, -(2**63), 2**63, 1e308, 0.1, -0.0])
    | st.floats()
    | TEXTS
    | st.just(datetime.date(2026, 1, 1))
    | st.binary(max_size=3)
    | st.just("\ud800"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(NAMES | st.integers() | st.none(), inner, max_size=3)
    ),
    max_leaves=5,
)
KEYWORDS: Final = st.sampled_from(
    [
        *("type", "format", "description", "title", "default", "enum", "required", "properties"),
        *("items", "additionalProperties", "nullable", "minimum", "exclusiveMinimum", "maximum"),
        *("multipleOf", "minLength", "maxLength", "minItems", "maxItems", "minProperties"),
        *("pattern", "uniqueItems", "allOf", "anyOf", "oneOf", "not", "$ref", "example", "x-other"),
        *("x-kubernetes-validations", "x-kubernetes-list-type", "x-kubernetes-list-map-keys"),
        *("x-kubernetes-map-type", "x-kubernetes-int-or-string", "x-kubernetes-embedded-resource"),
        *("x-kubernetes-preserve-unknown-fields", "x-kubernetes-group-version-kind"),
    ]
)


def definition(schema: Any, **changes: Any) -> dict[str, Any]:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    names = {"kind": "Foo", "plural": "foos"}
    spec = {"group": "e.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.e.com"},
        "spec": spec | changes,
    }


def types_of(schema: Any) -> str:
    return types_module([kind_of_crd(definition(schema))], source="a test")


def of_spec(schema: Any) -> Schema:
    return {"type": "object", "properties": {"spec": schema}}


def parts_of(value: Any) -> list[Any]:
    """The mappings and lists in a value, with itself."""
    if isinstance(value, dict):
        return [value, *(part for item in value.values() for part in parts_of(item))]
    if isinstance(value, list):
        return [value, *(part for item in value for part in parts_of(item))]
    return []


@st.composite
def malformed(draw: st.DrawFn) -> Any:
    """A schema with some junk at some places."""
    schema: Any = copy.deepcopy(of_spec(draw(objects(SCHEMAS))))
    for _ in range(draw(st.integers(1, 3))):
        part = draw(st.sampled_from(parts_of(schema)))
        if isinstance(part, dict):
            keys = KEYWORDS | NAMES | (st.sampled_from(sorted(part, key=str)) if part else NAMES)
            part[draw(keys)] = draw(JUNK)
        else:
            part.append(draw(JUNK))
    return schema


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(malformed())
def test_a_malformed_schema_is_refused_or_gives_types_that_can_be_used(schema: Any) -> None:
    try:
        text = types_of(schema)
    except (SchemaFormatError, TypeSourceError) as error:
        assert "\n" not in str(error)  # noqa: PT017
        return
    use(text)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.dictionaries(NAMES, st.tuples(SCHEMAS, TEXTS, JUNK), max_size=8))
def test_whatever_fields_are_called_and_described_the_types_can_be_used(fields: Any) -> None:
    properties = {
        name: {**schema, "description": text, "default": default}
        for name, (schema, text, default) in fields.items()
    }
    try:
        text = types_of(of_spec({"type": "object", "properties": properties}))
    except SchemaFormatError as error:
        assert "default" in str(error) or "description" in str(error)  # noqa: PT017
        return
    use(text)


def use(text: str) -> None:
    """Import the module, and send an object of its kind there and back."""
    (kind,) = load(text).RESOURCES
    codec: Codec[Any] = Codec(kind)
    raw = json.dumps({"apiVersion": "e.com/v1", "kind": "Foo", "metadata": {"name": "a"}})
    assert codec.decode(raw.encode()).metadata.name == "a"


DEEP: Final[Schema] = {"type": "string"}
HOLDS_ITSELF: Final[Schema] = {"type": "object", "properties": {}}
HOLDS_ITSELF["properties"]["again"] = HOLDS_ITSELF
DEFAULT_OF_ITSELF: Final[list[Any]] = []
DEFAULT_OF_ITSELF.append(DEFAULT_OF_ITSELF)


def nested(levels: int) -> Schema:
    schema: Schema = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


def doubled(times: int) -> Schema:
    """What eighteen lines of YAML with aliases can stand for."""
    schema: Schema = {"type": "string"}
    for _ in range(times):
        schema = {"type": "object", "properties": {"a": schema, "b": schema}}
    return schema


TYPES: Final = "array, boolean, integer, number, object, string"
REFUSED: Final[dict[str, tuple[Any, str]]] = {
    "several types": (
        {"type": ["string", "null"]},
        f"Foo.spec: type must be one of {TYPES}, not ['string', 'null']",
    ),
    "an unknown type": ({"type": "text"}, f"Foo.spec: type must be one of {TYPES}, not 'text'"),
    "a date": (
        {"type": "string", "default": datetime.date(2026, 1, 1)},
        "Foo.spec: default is a date, which JSON does not have; put it in quotes",
    ),
    "infinity": (
        {"type": "number", "default": float("inf")},
        "Foo.spec: default is inf, which JSON does not have",
    ),
    "no number, deep inside": (
        {"type": "object", "default": {"a": [1, float("nan")]}},
        "Foo.spec: default.a[1] is nan, which JSON does not have",
    ),
    "a number as text": (
        {"type": "string", "minLength": "5"},
        "Foo.spec: minLength must be a whole number, not '5'",
    ),
    "a flag as text": (
        {"type": "string", "nullable": "yes"},
        "Foo.spec: nullable must be true or false, not 'yes'",
    ),
    "fields in a list": (
        {"type": "object", "properties": ["a"]},
        "Foo.spec: properties must be a mapping, not ['a']",
    ),
    "required as text": (
        {"type": "object", "required": "abc"},
        "Foo.spec: required must be a list, not 'abc'",
    ),
    "items of several types": (
        {"type": "array", "items": [{"type": "string"}]},
        "Foo.spec[] must be a schema, not a list",
    ),
    "an unknown kind of list": (
        {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "zz"},
        "Foo.spec: x-kubernetes-list-type must be one of atomic, set, map, not 'zz'",
    ),
    "a rule as text": (
        {"type": "object", "x-kubernetes-validations": ["a"]},
        "Foo.spec: x-kubernetes-validations[0] is no rule: Expected `object`, got `str`",
    ),
    "a key that is no text": (
        {"type": "object", "properties": {True: {"type": "string"}}},
        "Foo.spec: properties has the key True, which is no text; put it in quotes",
    ),
    "half of a character": (
        {"type": "string", "description": "\ud800"},
        "Foo.spec: description is no Unicode text: '\\ud800' has half of a character",
    ),
    "a text for a schema": ("x", "Foo.spec must be a schema, not 'x'"),
    "nothing for a schema": (None, "Foo.spec must be a schema, not None"),
    "a list in a mapping": (
        {"type": "object", "additionalProperties": []},
        "Foo.spec.* must be a schema, not []",
    ),
    "a reference to nothing": (
        {"$ref": "#/components/schemas/x.Y"},
        "the schema refers to x.Y, which the document does not hold",
    ),
}


@pytest.mark.parametrize(("schema", "message"), REFUSED.values(), ids=REFUSED)
def test_what_no_schema_can_have_is_named_with_its_place(schema: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        types_of(of_spec(schema))

    assert str(caught.value) == message


@pytest.mark.parametrize(
    "schema",
    [HOLDS_ITSELF, {"type": "object", "default": DEFAULT_OF_ITSELF}, nested(MAX_DEPTH + 1)],
    ids=["holds itself", "default holds itself", "deep"],
)
def test_a_schema_without_end_is_refused(schema: Any) -> None:
    with pytest.raises(
        SchemaFormatError, match=f"is more than {MAX_DEPTH} levels deep, or holds itself$"
    ):
        types_of(of_spec(schema))


def test_a_schema_that_repeats_aliases_without_end_is_refused() -> None:
    with pytest.raises(SchemaFormatError, match=r"more than 70000 parts.*does it repeat aliases\?"):
        types_of(of_spec(doubled(60)))


def test_a_schema_as_deep_as_allowed_gives_types_that_can_be_used() -> None:
    use(types_of(of_spec(nested(MAX_DEPTH - 5))))


def test_keywords_that_are_null_are_absent() -> None:
    said = {"type": "string", "minLength": None, "enum": None, "default": None, "nullable": None}

    assert types_of(of_spec({**said, "properties": None})) == types_of(of_spec({"type": "string"}))


def openapi(schemas: Any) -> dict[str, Any]:
    gvk = {"group": "e.com", "version": "v1", "kind": "Foo"}
    foo = {
        "type": "object",
        "properties": {"spec": {"$ref": "#/components/schemas/com.e.Spec"}},
        "x-kubernetes-group-version-kind": [gvk],
    }
    post = {"post": {"x-kubernetes-group-version-kind": gvk}}
    return {
        "openapi": "3.0.0",
        "paths": {"/apis/e.com/v1/namespaces/{namespace}/foos": post},
        "components": {"schemas": {"com.e.Foo": foo, **schemas}},
    }


def types_of_openapi(document: Any) -> str:
    kinds = kinds_of_openapi(document)
    return types_module(kinds, openapi_definitions(document), source="a test")


@pytest.mark.parametrize(
    ("schemas", "message"),
    [
        (
            {"com.e.Spec": {"type": "array", "items": {"$ref": "#/x/com.e.Spec"}}},
            "com.e.Spec refers to itself, and has no fields that could stop",
        ),
        (
            {"com.e.Spec": {"allOf": [{"$ref": "#/x/com.e.Spec"}]}},
            "com.e.Spec refers to itself, and has no fields that could stop",
        ),
        ({"com.e.Spec": []}, "com.e.Spec must be a schema, not []"),
        (
            {"com.e.Spec": {"properties": {"a": {"type": 5}}}},
            f"com.e.Spec.a: type must be one of {TYPES}, not 5",
        ),
    ],
)
def test_a_document_with_schemas_that_cannot_be_is_refused(schemas: Any, message: str) -> None:
    with pytest.raises(SchemaFormatError) as caught:
        types_of_openapi(openapi(schemas))

    assert str(caught.value) == message


@pytest.mark.parametrize(
    "change",
    [
        {"paths": []},
        {"paths": {"/a": None}},
        {"paths": {"/a": {"post": {}}}},
        {"paths": {"/a": {"post": {"x-kubernetes-group-version-kind": {"kind": 1}}}}},
        {"components": []},
        {"components": {"schemas": []}},
        {"components": {"schemas": {"a": 5}}},
        {"components": {"schemas": {"a": {"x-kubernetes-group-version-kind": {}}}}},
        {"openapi": 3},
    ],
)
def test_a_document_of_another_shape_is_refused(change: Any) -> None:
    with pytest.raises(TypeSourceError):
        types_of_openapi(openapi({}) | change)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": []}, "spec.names of the definition must be a mapping, not []"),
        (
            {"names": {"kind": 5, "plural": "foos"}},
            "spec.names.kind of the definition must be a text, not 5",
        ),
        (
            {"names": {"kind": "", "plural": "foos"}},
            "the definition has no spec.names.kind, which every definition has",
        ),
        ({"group": None}, "the definition has no spec.group, which every definition has"),
        (
            {"versions": {"v1": {}}},
            "spec.versions of the definition must be a list of mappings, not a mapping",
        ),
        ({"versions": None}, "foos.e.com has no stored version; it has none"),
        (
            {"versions": [{"name": 1, "storage": True}]},
            "spec.versions[].name of the definition must be a text, not 1",
        ),
        (
            {"names": {"kind": "Foo", "plural": "foos", "shortNames": "f"}},
            "spec.names.shortNames of the definition must be a list of texts, not 'f'",
        ),
    ],
)
def test_a_definition_of_another_shape_is_refused(changes: Any, message: str) -> None:
    with pytest.raises(TypeSourceError) as caught:
        kind_of_crd(definition({"type": "object"}, **changes))

    assert str(caught.value) == message


@pytest.mark.parametrize("kind", ["None", "True", "Resource", "RESOURCES", "Meta", "class", "5"])
def test_a_kind_may_have_any_name(kind: str) -> None:
    names = {"kind": kind, "plural": "foos"}
    crd = definition(of_spec({"type": "object"}), names=names)

    (declared,) = load(types_module([kind_of_crd(crd)], source="a test")).RESOURCES

    assert declared.__resource__.kind == kind
