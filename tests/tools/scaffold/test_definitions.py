"""From a project's types to the definitions in its ``config``, by the command."""

from __future__ import annotations

import datetime
import enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import yaml
from msgspec import Meta

from clientgo.__main__ import main
from clientgo.api.wire import Int32, Quantity, Time
from clientgo.codegen.crd import custom_resource_definition, definitions_of
from clientgo.codegen.schemas.type_place import TypeSchemaError
from clientgo.meta import Model, Resource, resource
from clientgo.meta.markers import (
    AGE,
    EMBEDDED_RESOURCE,
    NULLABLE,
    CustomResource,
    ListMap,
    ListType,
    MapType,
    PrinterColumn,
    Rule,
    Scale,
    marked,
)
from tests.tools.scaffold.declared import Note, OldShop, Shop

MODULE = "tests.tools.scaffold.declared"


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Port(Model):
    name: str
    number: Annotated[int, Meta(gt=0, lt=65536, multiple_of=2)]


@marked(Rule("self.low <= self.high", "low must not exceed high"))
class WideSpec(Model):
    """What can be said."""

    low: int
    high: int
    text: Annotated[str, Meta(min_length=1, max_length=9, pattern="^a")]
    """With bounds."""
    size: Int32 = 0
    amount: Quantity | None = None
    since: Time | None = None
    until: Annotated[datetime.datetime, Meta(tz=True)] | None = None
    either: int | str = 0
    blob: bytes | None = None
    labels: Annotated[dict[str, str], Meta(max_length=3), MapType.ATOMIC] = {}
    anything: Any = None
    nothing: Annotated[str | None, NULLABLE] = None
    colour: Colour = Colour.RED
    mode: Literal["fast", "slow"] = "fast"
    ports: Annotated[list[Port], ListMap("name"), Meta(min_length=1, max_length=5)] = []
    names: Annotated[list[str], ListType.SET] = []
    steps: Annotated[list[str], ListType.ATOMIC] = []
    inner: Annotated[dict[str, Any], EMBEDDED_RESOURCE] = {}


class WideStatus(Model):
    replicas: int = 0


@CustomResource(
    columns=(PrinterColumn("Text", ".spec.text", priority=1), AGE),
    scale=Scale(".spec.size"),
    categories=("all",),
    deprecated=True,
    deprecation_warning="use another",
)
@resource(group="example.com", version="v1", plural="wides", short_names=("wd",))
class Wide(Resource):
    spec: WideSpec
    status: WideStatus = WideStatus()


def _version(kind: type[Resource]) -> dict[str, Any]:
    version: dict[str, Any] = custom_resource_definition(kind)["spec"]["versions"][0]
    return version


def _fields() -> dict[str, Any]:
    schema = _version(Wide)["schema"]["openAPIV3Schema"]
    fields: dict[str, Any] = schema["properties"]["spec"]["properties"]
    return fields


def test_a_module_becomes_a_file_for_each_kind_with_all_its_versions(tmp_path: Path) -> None:
    """OP-GEN-01, OP-GEN-02, OP-GEN-03"""
    assert main(["operator", "gen", "crd", "-m", MODULE, "-o", str(tmp_path)]) == 0

    assert {file.name for file in tmp_path.iterdir()} == {
        "shops.example.com.yaml",
        "notes.example.com.yaml",
    }
    definition = yaml.safe_load((tmp_path / "shops.example.com.yaml").read_text())
    assert definition["apiVersion"] == "apiextensions.k8s.io/v1"
    assert definition["metadata"]["name"] == "shops.example.com"
    assert [(v["name"], v["storage"]) for v in definition["spec"]["versions"]] == [
        ("v1", True),
        ("v1beta1", False),
    ]


def test_the_same_types_make_the_same_bytes(tmp_path: Path) -> None:
    """OP-GEN-01"""
    for folder in ("a", "b"):
        assert main(["operator", "gen", "crd", "-m", MODULE, "-o", str(tmp_path / folder)]) == 0

    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()


def test_descriptions_are_cut_if_one_says_so(tmp_path: Path) -> None:
    """OP-GEN-10"""
    for length in ("4", "0"):
        options = ["--max-desc-len", length, "-o", str(tmp_path / length)]
        assert main(["operator", "gen", "crd", "-m", MODULE, *options]) == 0

    name = "notes.example.com.yaml"
    assert "description: Writ\n" in (tmp_path / "4" / name).read_text()
    assert "description" not in (tmp_path / "0" / name).read_text()


def test_what_the_conventions_advise_against_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-GEN-12"""
    module = tmp_path / "floating_types.py"
    module.write_text(
        "from clientgo.meta import Model, Resource, resource\n"
        "class S(Model):\n    share: float = 0.5\n"
        "@resource(group='example.com', version='v1', plural='floats')\n"
        "class Float(Resource):\n    spec: S = S()\n"
    )

    options = ["--project", str(tmp_path), "-o", str(tmp_path / "out")]
    assert main(["operator", "gen", "crd", "-m", "floating_types", *options]) == 0

    assert "warning: Float.spec.share: a float" in capsys.readouterr().err


def test_without_one_stored_version_there_is_no_definition() -> None:
    """OP-GEN-02"""

    @resource(group="example.com", version="v2", plural="notes", kind="Note")
    class NewNote(Resource):
        pass

    with pytest.raises(TypeSchemaError, match="0 of 2 versions say that they are stored"):
        definitions_of([Note, NewNote])


def test_a_kind_has_all_the_names_that_kubectl_knows_it_by() -> None:
    """OP-GEN-03"""
    assert custom_resource_definition(Wide)["spec"]["names"] == {
        "kind": "Wide",
        "listKind": "WideList",
        "plural": "wides",
        "singular": "wide",
        "shortNames": ["wd"],
        "categories": ["all"],
    }


def test_a_schema_refers_to_nothing_and_says_a_type_everywhere() -> None:
    """OP-GEN-04: null is allowed where it is stored, and nowhere else."""
    fields = _fields()

    assert "$ref" not in str(fields)
    assert "anyOf" not in str(fields)
    assert fields["nothing"] == {"type": "string", "nullable": True}
    assert "nullable" not in fields["since"]
    assert all("default" not in f or f["default"] is not None for f in fields.values())
    for name, field in fields.items():
        untyped = ("anything", "either", "amount")
        assert ("type" in field) is (name not in untyped), name


def test_a_class_that_contains_itself_is_an_error_that_says_what_to_write() -> None:
    """OP-GEN-04"""
    with pytest.raises(TypeSchemaError, match=r"contains itself.*write list\[Any\]"):
        custom_resource_definition(Endless)


class Node(Model):
    children: list[Node] = []


@resource(group="example.com", version="v1", plural="endlesses")
class Endless(Resource):
    spec: Node = Node()


class UniqueSpec(Model):
    names: set[str] = set()


@resource(group="example.com", version="v1", plural="uniques")
class Unique(Resource):
    spec: UniqueSpec = UniqueSpec()


def test_constraints_and_choices_and_texts_are_in_the_schema() -> None:
    """OP-GEN-05"""
    fields = _fields()

    assert fields["text"] == {
        "description": "With bounds.",
        "type": "string",
        "minLength": 1,
        "maxLength": 9,
        "pattern": "^a",
    }
    number = fields["ports"]["items"]["properties"]["number"]
    assert number == {
        "type": "integer",
        "minimum": 0,
        "exclusiveMinimum": True,
        "maximum": 65536,
        "exclusiveMaximum": True,
        "multipleOf": 2,
    }
    assert (fields["ports"]["minItems"], fields["ports"]["maxItems"]) == (1, 5)
    assert fields["labels"]["maxProperties"] == 3
    assert (fields["colour"]["enum"], fields["mode"]["enum"]) == (["red", "blue"], ["fast", "slow"])


def test_sets_are_refused_because_servers_refuse_unique_items() -> None:
    """OP-GEN-05"""
    with pytest.raises(TypeSchemaError, match=r"ListType\.SET"):
        custom_resource_definition(Unique)


def test_what_has_no_default_is_required_and_zero_is_sent() -> None:
    """OP-GEN-06"""
    spec = _version(Wide)["schema"]["openAPIV3Schema"]["properties"]["spec"]

    assert spec["required"] == ["low", "high", "text"]
    assert Wide(spec=WideSpec(low=0, high=0, text="a")).to_dict()["spec"]["low"] == 0


def test_the_types_of_the_api_have_their_formats() -> None:
    """OP-GEN-07"""
    fields = _fields()

    assert fields["size"] == {"type": "integer", "format": "int32"}
    assert fields["amount"]["x-kubernetes-int-or-string"] is True
    assert fields["amount"]["pattern"].startswith("^")
    assert fields["either"] == {"x-kubernetes-int-or-string": True}
    assert fields["since"] == {"type": "string", "format": "date-time"}
    assert fields["until"] == {"type": "string", "format": "date-time"}
    assert fields["blob"] == {"type": "string", "format": "byte"}
    assert fields["labels"]["additionalProperties"] == {"type": "string"}
    assert fields["anything"] == {"x-kubernetes-preserve-unknown-fields": True}


def test_markers_say_how_lists_merge_and_what_rules_hold() -> None:
    """OP-GEN-08"""
    fields = _fields()
    spec = _version(Wide)["schema"]["openAPIV3Schema"]["properties"]["spec"]

    assert fields["ports"]["x-kubernetes-list-type"] == "map"
    assert fields["ports"]["x-kubernetes-list-map-keys"] == ["name"]
    assert fields["names"]["x-kubernetes-list-type"] == "set"
    assert fields["steps"]["x-kubernetes-list-type"] == "atomic"
    assert fields["labels"]["x-kubernetes-map-type"] == "atomic"
    assert fields["inner"]["x-kubernetes-embedded-resource"] is True
    assert spec["x-kubernetes-validations"] == [
        {"rule": "self.low <= self.high", "message": "low must not exceed high"}
    ]


def test_subresources_columns_and_deprecation_are_as_declared() -> None:
    """OP-GEN-11"""
    version = _version(Wide)

    assert version["subresources"] == {
        "status": {},
        "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas"},
    }
    assert [(c["name"], c["type"], c["jsonPath"]) for c in version["additionalPrinterColumns"]] == [
        ("Text", "string", ".spec.text"),
        ("Age", "date", ".metadata.creationTimestamp"),
    ]
    assert version["additionalPrinterColumns"][0]["priority"] == 1
    assert (version["deprecated"], version["deprecationWarning"]) == (True, "use another")
    assert "subresources" in _version(Shop)
    assert "subresources" not in _version(OldShop)
