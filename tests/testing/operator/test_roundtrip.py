"""Fuzzing converters."""

from __future__ import annotations

import datetime
import enum
import random
import re
import uuid
from types import ModuleType
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta, field

from clientgo.meta import Codec, Model, Resource, encode, resource
from clientgo.operator.errors import DeclarationError
from clientgo.operator.webhooks import conversion
from clientgo.testing import operator as testing
from clientgo.testing.operator import roundtrip
from clientgo.testing.operator.random_objects import random_object
from examples.two_versions import DiskConverter
from tests.operator.webhooks.versions import JobV1, JobV1Beta1


class Colour(enum.Enum):
    RED = "Red"


Size = Annotated[str, Meta(pattern="^[1-9][0-9]*(Mi|Gi)$", max_length=4)]


class Everything(Model):
    """One of each."""

    small: Annotated[int, Meta(ge=3, lt=5)] = 3
    even: Annotated[int, Meta(multiple_of=2)] = 0
    share: Annotated[float, Meta(gt=0, le=1)] = 1
    code: Annotated[str, Meta(min_length=2, max_length=3)] = "ab"
    flag: bool = False
    choice: Literal["a", "b"] = "a"
    colour: Colour = Colour.RED
    data: bytes = b""
    key: Annotated[bytes, Meta(min_length=16, max_length=16)] = b"0123456789abcdef"
    size: Size = "1Gi"
    since: Annotated[datetime.datetime, Meta(tz=True)] | None = None
    day: datetime.date | None = None
    owner: uuid.UUID | None = None
    zones: set[str] = set()
    items: tuple[int, ...] = ()
    few: Annotated[list[str], Meta(min_length=1, max_length=2)] = field(
        default_factory=lambda: ["x"]
    )
    by_name: dict[str, int] = {}
    either: int | str | None = None
    anything: Any = None
    below: Everything | None = None


@resource(group="demo.example.com", version="v1", plural="wides", kind="Wide")
class WideV1(Resource):
    spec: Everything


@resource(group="demo.example.com", version="v2", plural="wides", kind="Wide")
class WideV2(Resource):
    spec: Everything


@resource(group="demo.example.com", version="v3", plural="wides", kind="Wide")
class Patterned(Resource):
    codes: dict[Annotated[str, Meta(pattern="^[a-z]$")], Size]
    sizes: frozenset[Size] = frozenset()


@resource(group="demo.example.com", version="v4", plural="wides", kind="Wide")
class Impossible(Resource):
    code: Annotated[str, Meta(pattern="^a$b")]


def converter(*, loses: str = "") -> Any:
    @conversion(WideV1, hub=WideV2)
    class Converter:
        def to_hub(self, spoke: WideV1) -> WideV2:
            hub = WideV2(metadata=spoke.metadata, spec=spoke.spec)
            if loses:
                setattr(hub.spec, loses, getattr(Everything(), loses))
            return hub

        def from_hub(self, hub: WideV2) -> WideV1:
            return WideV1(metadata=hub.metadata, spec=hub.spec)

    return Converter()


def test_a_converter_that_loses_nothing_passes() -> None:
    """OP-CNV-05"""
    roundtrip(converter(), samples=50)


@pytest.mark.parametrize("lost", ["small", "code", "by_name", "below", "items"])
def test_a_converter_that_loses_a_field_fails_and_says_how_to_repeat_it(lost: str) -> None:
    """OP-CNV-05"""
    with pytest.raises(AssertionError) as caught:
        roundtrip(converter(loses=lost), seed=7)
    said = str(caught.value).splitlines()
    assert re.fullmatch(
        r"WideV\d v\d changes on its way through WideV\d v\d and back \(sample \d+ of seed 7\):",
        said[0],
    )
    name = "byName" if lost == "by_name" else lost
    assert re.fullmatch(rf"  spec\.{name}(\.\w+)*: .+ came back as .+", said[1])
    assert said[-2].startswith("between the two it was {'apiVersion': 'demo.example.com/v")
    assert len(said) == 4


def test_a_spoke_that_says_less_than_the_hub_is_tried_from_its_side_alone() -> None:
    """OP-CNV-05"""

    @conversion(JobV1Beta1, hub=JobV1)
    class Converter:
        def to_hub(self, spoke: JobV1Beta1) -> JobV1:
            hub = JobV1(metadata=spoke.metadata)
            hub.spec.minute = spoke.spec.minute
            return hub

        def from_hub(self, hub: JobV1) -> JobV1Beta1:
            spoke = JobV1Beta1(metadata=hub.metadata)
            spoke.spec.minute = hub.spec.minute
            return spoke

    roundtrip(Converter(), hub_to_hub=False)
    with pytest.raises(AssertionError, match="JobV1 v1 changes on its way through JobV1Beta1 v1"):
        roundtrip(Converter())


def test_an_object_that_is_not_a_converter_is_refused() -> None:
    """OP-CNV-05"""
    with pytest.raises(DeclarationError, match="not declared with @conversion"):
        roundtrip(object())


def test_random_objects_fit_their_type() -> None:
    """OP-CNV-05"""
    codec = Codec(WideV1)
    seen: set[str] = set()
    for number in range(200):
        plain = random_object(WideV1, random.Random(number))
        seen |= plain["spec"].keys()
        spec = codec.decode(encode(plain)).spec
        assert 3 <= spec.small < 5
        assert 0 < spec.share <= 1
        assert spec.even % 2 == 0
        assert 1 <= len(spec.few) <= 2
    assert len(seen) == len(Everything.__struct_fields__)


def test_the_same_numbers_give_the_same_object() -> None:
    """OP-CNV-05"""
    assert random_object(WideV1, random.Random(3)) == random_object(WideV1, random.Random(3))


def test_a_type_with_a_pattern_gets_texts_that_match_it() -> None:
    """OP-CNV-05"""
    codec = Codec(Patterned)
    codes = set()
    for number in range(50):
        codes |= set(codec.decode(encode(random_object(Patterned, random.Random(number)))).codes)
    assert len(codes) > 10


def test_a_pattern_that_no_text_matches_is_refused_by_its_name() -> None:
    """OP-CNV-05"""
    with pytest.raises(TypeError, match=re.escape("the pattern '^a$b'")):
        random_object(Impossible, random.Random(1))


def test_the_converter_of_the_example_loses_nothing() -> None:
    """OP-CNV-05"""
    roundtrip(DiskConverter())


def test_every_public_name_is_what_it_says() -> None:
    """A module of the same name would take its place at the second import."""
    for name in testing.__all__:
        for _ in range(2):
            assert not isinstance(getattr(testing, name), ModuleType), name
