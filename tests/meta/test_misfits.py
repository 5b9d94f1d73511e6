"""Objects that are older than the rules of their class."""

from __future__ import annotations

import datetime
import enum
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from clientgo.meta import (
    Codec,
    Model,
    ObjectDecodeError,
    ObjectMeta,
    Resource,
    deep_copy,
    misfits,
    resource,
)


class Level(enum.Enum):
    LOW = "low"


class Port(Model):
    port: Annotated[int, Meta(ge=1, le=100)] = 1
    name: Annotated[str, Meta(pattern="^[a-z]*$")] = ""


class Part(Model):
    name: str
    ports: list[Port] = []


class HouseSpec(Model):
    mode: Literal["a", "b"] = "a"
    level: Level = Level.LOW
    size: Annotated[int, Meta(ge=3)] = 3
    ratio: Annotated[float, Meta(gt=0.0)] = 1.0
    title: Annotated[str, Meta(min_length=2, max_length=4)] = "abc"
    ports: Annotated[list[Port], Meta(max_length=2)] = []
    by_name: dict[str, Port] = {}
    tags: Annotated[list[str], Meta(min_length=1)] | None = None
    target: Annotated[int, Meta(le=3)] | Annotated[str, Meta(pattern="%$")] = 1
    part: Part | None = None
    count: Annotated[int, Meta(ge=1)] | None = None
    digest: bytes = b""
    built: datetime.date | None = None


@resource(group="example.com", version="v1", plural="houses")
class House(Resource):
    spec: HouseSpec = HouseSpec()


class Later(Model):
    """Everything here was added as required when objects were there already."""

    text: str
    number: int
    choice: Literal["a", "b"]
    nullable: str | None
    items: list[Port]
    mapping: dict[str, int]
    part: Part


@resource(group="example.com", version="v1", plural="sheds")
class Shed(Resource):
    spec: Later


def decoded(kind: type[Any], spec: Any) -> Any:
    plain = {"metadata": {"name": "a", "namespace": "ns"}, "spec": spec}
    return Codec(kind).decode(msgspec.json.encode(plain))


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("mode", "c", "spec.mode: Invalid enum value 'c'"),
        ("level", "high", "spec.level: Invalid enum value 'high'"),
        ("size", 2, "spec.size: Expected `int` >= 3"),
        ("ratio", -1.5, "spec.ratio: Expected `float` > 0.0"),
        ("title", "a", "spec.title: Expected `str` of length >= 2"),
        ("title", "abcde", "spec.title: Expected `str` of length <= 4"),
        ("tags", [], "spec.tags: Expected `array` of length >= 1"),
        ("target", 7, "spec.target: Expected `int` <= 3"),
        ("target", "7", "spec.target: Expected `str` matching regex '%$'"),
        ("count", 0, "spec.count: Expected `int` >= 1"),
        ("digest", "?", "spec.digest: Invalid base64 encoded string"),
        ("built", "soon", "spec.built: Invalid RFC3339 encoded date"),
    ],
)
def test_a_value_that_breaks_a_rule_is_read_as_it_is(field: str, value: Any, said: str) -> None:
    """FIELD-13"""
    house = decoded(House, {field: value})
    assert getattr(house.spec, field) == value
    assert misfits(house) == (said,)
    assert house.to_dict()["spec"] == {field: value}


def test_values_inside_of_lists_mappings_and_parts_are_read_too() -> None:
    """FIELD-13: each is named by its path, and each is an instance of its class."""
    house = decoded(
        House,
        {
            "ports": [{"port": 0}, {"port": 5}, {"name": "X"}],
            "byName": {"x": {"port": 1000}},
            "part": {"name": "n", "ports": [{"port": -1}]},
        },
    )
    assert [port.port for port in house.spec.ports] == [0, 5, 1]
    assert house.spec.by_name == {"x": Port(port=1000)}
    assert house.spec.part == Part(name="n", ports=[Port(port=-1)])
    assert misfits(house) == (
        "spec.ports[0].port: Expected `int` >= 1",
        "spec.ports[2].name: Expected `str` matching regex '^[a-z]*$'",
        "spec.byName.x.port: Expected `int` <= 100",
        "spec.part.ports[0].port: Expected `int` >= 1",
    )


def test_a_list_that_is_too_long_is_whole() -> None:
    """FIELD-13"""
    house = decoded(House, {"ports": [{"port": number} for number in (1, 2, 3)]})
    assert len(house.spec.ports) == 3
    assert misfits(house) == ("spec.ports: Expected `array` of length <= 2",)


@pytest.mark.parametrize("spec", [{}, {"text": None, "items": None, "part": None}])
def test_a_required_field_that_is_missing_has_no_invented_value(spec: Any) -> None:
    """FIELD-13: None, or what is empty; a null of a field that may be null is there."""
    shed = decoded(Shed, spec)
    found = shed.spec
    assert (found.text, found.number, found.choice, found.nullable) == (None, None, None, None)
    assert (found.items, found.mapping) == ([], {})
    assert (found.part.name, found.part.ports) == (None, [])
    names = ("text", "number", "choice", "nullable", "items", "mapping", "part")
    assert misfits(shed) == tuple(f"spec.{name}: required, and missing" for name in names)
    assert "spec.nullable" not in " ".join(misfits(decoded(Shed, {"nullable": None})))


def test_a_body_that_is_missing_altogether_is_read() -> None:
    """FIELD-13"""
    shed = Codec(Shed).decode(b'{"metadata":{"name":"a"}}')
    assert shed.spec.items == []
    assert misfits(shed) == ("spec: required, and missing",)


def test_what_does_not_fit_is_sent_back_as_it_came() -> None:
    """FIELD-13: only what the program changes differs; nothing is added for what is missing."""
    shed = deep_copy(decoded(Shed, {"choice": "c", "unknown": 1, "items": [{"port": 0}]}))
    assert shed.to_dict()["spec"] == {"choice": "c", "unknown": 1, "items": [{"port": 0}]}
    shed.spec.text = "new"
    assert shed.to_dict()["spec"] == {
        "choice": "c",
        "unknown": 1,
        "items": [{"port": 0}],
        "text": "new",
    }
    assert "spec.text" not in " ".join(misfits(shed))


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        ({"mode": 5}, "$.spec.mode"),
        ({"mode": "c", "size": []}, "$.spec.size"),
        ({"size": 1, "ports": {}}, "$.spec.ports"),
        ({"size": 1, "ports": [None]}, "$.spec.ports[0]"),
        ({"byName": {"x": {"port": "many"}}}, "$.spec.byName.x.port"),
        ({"target": []}, "$.spec.target"),
        ({"size": 1.5}, "$.spec.size"),
        ([], "$.spec"),
        ("text", "$.spec"),
    ],
)
def test_a_value_of_another_json_type_is_no_value(spec: Any, where: str) -> None:
    """FIELD-13: the error names its place, though something else does not fit either."""
    house = decoded(House, spec)
    with pytest.raises(ObjectDecodeError, match="House 'ns/a'") as caught:
        house.spec  # noqa: B018
    assert f"at `{where}`" in str(caught.value)
    with pytest.raises(ObjectDecodeError):
        misfits(house)


def test_an_object_that_fits_has_no_misfits() -> None:
    assert misfits(decoded(House, {"ports": [{"port": "7"}], "title": None})) == ()
    assert misfits(House(metadata=ObjectMeta(name="a"))) == ()


def test_an_object_made_here_can_be_checked_before_it_is_sent() -> None:
    """Classes do not check what a program sets; the server does."""
    house = House(metadata=ObjectMeta(name="a"), spec=HouseSpec(size=1))
    assert misfits(house) == ("spec.size: Expected `int` >= 3",)
