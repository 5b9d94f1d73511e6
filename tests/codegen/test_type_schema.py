"""Types become structural schemas, or an error that names the field."""

from __future__ import annotations

import datetime
import enum
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Generic, Literal, NewType, TypedDict, TypeVar

import pytest
from msgspec import Meta, Struct, field

from clientgo.api.wire import JSON, IntOrString, Quantity, Time
from clientgo.codegen.schemas.type_place import TypeSchemaError
from clientgo.codegen.schemas.type_schema import resource_schema
from clientgo.meta import Model, Resource, resource
from clientgo.meta.markers import (
    EMBEDDED_RESOURCE,
    NULLABLE,
    PRESERVE_UNKNOWN_FIELDS,
    Default,
    Format,
    ListMap,
    ListType,
    MapType,
    Rule,
    marked,
)

T = TypeVar("T")
_KEEP = {"x-kubernetes-preserve-unknown-fields": True}


class Color(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 9


Port = NewType("Port", int)


class Item(Model):
    name: str
    size: int = 0


def _schema_of(annotation: Any, **default: Any) -> dict[str, Any]:
    """The schema of a field; it is optional, and so without a default of its own."""
    if not default:
        default = {"value": None}
        annotation = annotation if annotation is Any else annotation | None
    return _root(annotation, **default)["properties"]["value"]


def _root(annotation: Any, **default: Any) -> dict[str, Any]:
    namespace = {"__annotations__": {"value": annotation}, "__module__": __name__, **default}
    cls: Any = type(Resource)("Thing", (Resource,), namespace)
    return resource_schema(resource(group="e.com", version="v1", plural="things")(cls))


def _error(annotation: Any) -> TypeSchemaError:
    with pytest.raises(TypeSchemaError) as caught:
        _root(annotation)
    return caught.value


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (bool, {"type": "boolean"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (str, {"type": "string"}),
        (bytes, {"type": "string", "format": "byte"}),
        (datetime.date, {"type": "string", "format": "date"}),
        (uuid.UUID, {"type": "string", "format": "uuid"}),
        (
            Annotated[datetime.datetime, Meta(tz=True)],
            {"type": "string", "format": "date-time"},
        ),
        (Port, {"type": "integer"}),
        (Any, _KEEP),
        (JSON, _KEEP),
        (Time, {"type": "string", "format": "date-time"}),
        (IntOrString, {"x-kubernetes-int-or-string": True}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[1, 2], {"type": "integer", "enum": [1, 2]}),
        (Literal[80, "http"], {"x-kubernetes-int-or-string": True, "enum": [80, "http"]}),
        (Color, {"type": "string", "enum": ["red", "blue"]}),
        (Level, {"type": "integer", "enum": [1, 9]}),
        (dict, {"type": "object", **_KEEP}),
        (dict[str, Any], {"type": "object", **_KEEP}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Mapping[str, str], {"type": "object", "additionalProperties": {"type": "string"}}),
        (list, {"type": "array", "items": _KEEP}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (Sequence[int], {"type": "array", "items": {"type": "integer"}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (list[int | None], {"type": "array", "items": {"type": "integer", "nullable": True}}),
        (
            list[Literal["a"] | None],
            {"type": "array", "items": {"type": "string", "enum": ["a", None], "nullable": True}},
        ),
        (
            Item,
            {
                "type": "object",
                "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
                "required": ["name"],
            },
        ),
    ],
    ids=str,
)
def test_a_type_has_a_schema(annotation: Any, schema: dict[str, Any]) -> None:
    assert _schema_of(annotation) == schema


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (Annotated[int, Meta(ge=1, lt=9)], {"minimum": 1, "maximum": 9, "exclusiveMaximum": True}),
        (
            Annotated[float, Meta(gt=0.5, le=2)],
            {"minimum": 0.5, "exclusiveMinimum": True, "maximum": 2},
        ),
        (Annotated[int, Meta(multiple_of=5)], {"multipleOf": 5}),
        (Annotated[str, Meta(pattern="^a")], {"pattern": "^a"}),
        (Annotated[str, Meta(min_length=1, max_length=3)], {"minLength": 1, "maxLength": 3}),
        (Annotated[list[int], Meta(min_length=1, max_length=3)], {"minItems": 1, "maxItems": 3}),
        (
            Annotated[dict[str, int], Meta(min_length=1, max_length=3)],
            {"minProperties": 1, "maxProperties": 3},
        ),
        (
            Annotated[str, Meta(description="what", title="T")],
            {"description": "what", "title": "T"},
        ),
        (
            Annotated[str, Meta(extra_json_schema={"not": {"enum": ["x"]}})],
            {"not": {"enum": ["x"]}},
        ),
        (Annotated[str, Format("ipv4")], {"format": "ipv4"}),
        (Annotated[list[str], ListType.SET], {"x-kubernetes-list-type": "set"}),
        (
            Annotated[list[Item], ListMap("name")],
            {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        ),
        (Annotated[dict[str, str], MapType.ATOMIC], {"x-kubernetes-map-type": "atomic"}),
        (Annotated[int | None, NULLABLE], {"nullable": True}),
        (Annotated[Literal["a"] | None, NULLABLE], {"nullable": True, "enum": ["a", None]}),
        (
            Annotated[dict[str, Any], EMBEDDED_RESOURCE],
            {"x-kubernetes-embedded-resource": True, **_KEEP},
        ),
        (Annotated[int | None, Default(0)], {"default": 0}),
        (
            Annotated[str, Rule("self != 'x'", "no x"), Rule("size(self) < 9")],
            {
                "x-kubernetes-validations": [
                    {"rule": "self != 'x'", "message": "no x"},
                    {"rule": "size(self) < 9"},
                ]
            },
        ),
        (Annotated[int, "somebody else's"], {}),
    ],
    ids=str,
)
def test_constraints_and_markers_become_keywords(annotation: Any, schema: dict[str, Any]) -> None:
    found = _schema_of(annotation)

    assert {key: found[key] for key in schema} == schema


def test_bounds_and_patterns_stand_side_by_side_where_a_value_is_a_number_or_text() -> None:
    schema = _schema_of(Annotated[int, Meta(ge=0)] | Annotated[str, Meta(pattern="%$")])

    assert schema == {"x-kubernetes-int-or-string": True, "minimum": 0, "pattern": "%$"}


def test_a_quantity_is_a_number_or_text_with_a_unit() -> None:
    schema = _schema_of(Quantity)

    assert schema["x-kubernetes-int-or-string"]
    assert schema["pattern"].startswith(r"^(\+|-)?")


def test_a_field_without_a_default_is_required() -> None:
    assert _root(int)["required"] == ["value"]
    assert "required" not in _root(int, value=1)


@pytest.mark.parametrize(("type_", "default"), [(int, 3), (str, "a"), (list[int], [1])])
def test_a_default_in_python_is_one_in_the_schema(type_: Any, default: Any) -> None:
    factory = field(default_factory=lambda: default)

    assert _schema_of(type_, value=factory)["default"] == default


@pytest.mark.parametrize(("type_", "default"), [(int, 0), (str, ""), (bool, False), (list, [])])
def test_what_an_absent_field_reads_as_anyway_is_no_default(type_: Any, default: Any) -> None:
    assert "default" not in _schema_of(type_, value=default)


def test_a_default_that_is_an_object_says_what_differs_from_an_absent_one() -> None:
    class Size(Model):
        width: int = 2
        depth: int | None = None
        name: str = ""

    assert _schema_of(Size, value=Size())["default"] == {"width": 2}
    assert _schema_of(Size, value=Size(depth=0))["default"] == {"width": 2, "depth": 0}
    assert "default" not in _schema_of(Item | None, value=None)


def test_the_markers_of_a_class_hold_wherever_it_is_used() -> None:
    @marked(Rule("self.a < self.b"), PRESERVE_UNKNOWN_FIELDS)
    class Range(Model):
        a: int
        b: int

    @marked(Rule("self.b < 100"))
    class SmallRange(Range):
        pass

    schema = _schema_of(list[SmallRange])["items"]

    rules = [rule["rule"] for rule in schema["x-kubernetes-validations"]]
    assert rules == ["self.a < self.b", "self.b < 100"]
    assert schema["x-kubernetes-preserve-unknown-fields"]
    assert len(_schema_of(Range)["x-kubernetes-validations"]) == 1


class Documented(Model):
    """What it is.

    More of it.
    """

    inner: Item
    """Which one."""
    other: int = 0
    "Quoted once."
    plain: int = 0


def test_docstrings_of_classes_and_fields_become_descriptions() -> None:
    schema = _schema_of(Documented)

    assert schema["description"] == "What it is.\n\nMore of it."
    told = {name: item.get("description") for name, item in schema["properties"].items()}
    assert told == {"inner": "Which one.", "other": "Quoted once.", "plain": None}


def test_names_on_the_wire_are_those_that_the_class_sends() -> None:
    class Renamed(Model):
        host_ip: str = field(default="", name="hostIP")
        node_name: str = ""

    assert list(_schema_of(Renamed)["properties"]) == ["hostIP", "nodeName"]


class Endless(Model):
    children: list[Endless] = []


class Tagged(Struct, tag=True):
    a: int = 0


class AsList(Struct, array_like=True):
    a: int = 0


class Strict(Struct, forbid_unknown_fields=True):
    a: int = 0


class Page(Struct, Generic[T]):
    item: T


class Plain(TypedDict):
    a: int


@resource(group="e.com", version="v1", plural="others")
class Other(Resource):
    spec: Item


class EmptyBytes(Model):
    data: bytes = b""


class Broken(Model):
    a: Missing = None  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("annotation", "field_", "problem", "remedy"),
    [
        (int | float, "", "one of several types", "int | str"),
        (list[Item | Documented], "[]", "one of several types", "a Rule that one of them is set"),
        (Item | str, "", "one of several types", "one class"),
        (dict[int, str], "", "keys of dict", r"dict\[str"),
        (dict[str, complex], "[*]", "no counterpart in JSON", "write str, int"),
        (Plain, "", "Plain has no counterpart", "class derived from Model"),
        (bytearray, "", "bytearray has no counterpart", "write str"),
        (set[str], "", "a set hides repeated items", r"Annotated\[list\[...\], ListType.SET\]"),
        (tuple[int, str], "", "items of a tuple", "a class with a field for each"),
        (Literal[1, True], "", "not all text or whole numbers", "bounds"),
        (list[T], "[]", "no type of its own", "the type that it stands for"),
        (datetime.datetime, "", "lack its time zone", r"Meta\(tz=True\)"),
        (datetime.timedelta, "", "no counterpart", "write str"),
        (int | None, "", "must be given, but may be None", "the default None"),
        (Annotated[bytes, Meta(min_length=1)], "", "min_length counts bytes", "leave it out"),
        (Annotated[int | str, Meta(min_length=1)], "", "no length", "inside"),
        (EmptyBytes, ".data", "empty text", r"bytes \| None = None"),
        (Endless, ".children[]", "Endless contains itself", "where it begins again"),
        (Tagged, "", "carries a tag", "use Model"),
        (AsList, "", "written as a list", "use Model"),
        (Strict, "", "refuses unknown fields", "use Model"),
        (Page[int], "", "generic", "without type parameters"),
        (Other, "", "a resource inside of another", "EMBEDDED_RESOURCE"),
        (Broken, "", "'Missing' is not defined", "known to the whole module"),
        (dict[str, list[Endless]], "[*][].children[]", "contains itself", "list"),
    ],
    ids=str,
)
def test_what_a_schema_cannot_say_is_an_error_that_names_the_field_and_the_way_out(
    annotation: Any, field_: str, problem: str, remedy: str
) -> None:
    error = _error(annotation)

    assert error.field == f"Thing.value{field_}"
    assert re.search(problem, error.problem), error
    assert re.search(remedy, error.remedy), error
    assert str(error) == f"{error.field}: {error.problem}; {error.remedy}"
