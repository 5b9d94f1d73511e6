"""Declared kinds become CustomResourceDefinitions that a server accepts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
import yaml
from msgspec import Meta

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.client import Client
from clientgo.codegen.crd import custom_resource_definition, definitions_of
from clientgo.codegen.schemas.type_place import TypeSchemaError
from clientgo.meta import InvalidError, Model, ObjectMeta, Resource, resource
from clientgo.meta.markers import (
    AGE,
    CustomResource,
    Default,
    ListMap,
    PrinterColumn,
    Rule,
    Scale,
    marked,
)
from clientgo.rest import load_config
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testing.observer import Observer
from sample_controller.types import Foo

_ARTIFACTS = Path(__file__).parents[2] / "sample_controller/artifacts"


class Listener(Model):
    name: str
    port: Annotated[int, Meta(ge=1, le=65535)]


@marked(Rule("self.minReplicas <= self.maxReplicas", "minReplicas must not exceed maxReplicas"))
class GatewaySpec(Model):
    min_replicas: int = 1
    max_replicas: int = 3
    listeners: Annotated[list[Listener], ListMap("name")] = []
    color: str = "red"


class GatewayStatus(Model):
    replicas: int = 0
    labels: dict[str, str] = {}
    since: Annotated[str, Meta(extra_json_schema={"format": "date-time"})] = ""


@CustomResource(
    columns=(
        PrinterColumn("Max", ".spec.maxReplicas"),
        PrinterColumn("Color", ".spec.color", priority=1, description="what it looks like"),
        PrinterColumn("Since", ".status.since"),
        PrinterColumn("App", ".status.labels.app"),
        PrinterColumn("First", ".spec.listeners[0].name", "string"),
        AGE,
    ),
    scale=Scale(".spec.maxReplicas", ".status.replicas", ".status.labels.selector"),
    selectable_fields=(".spec.color",),
    categories=("all", "net"),
    storage=True,
)
@resource(group="example.com", version="v1", plural="gateways", short_names=("gw",))
class Gateway(Resource):
    """Lets traffic in."""

    spec: GatewaySpec = GatewaySpec()
    status: GatewayStatus = GatewayStatus()


@CustomResource(deprecated=True, deprecation_warning="use v1", served=False)
@resource(group="example.com", version="v1beta1", plural="gateways", kind="Gateway")
class OldGateway(Resource):
    spec: GatewaySpec = GatewaySpec()


def _version(manifest: dict[str, Any], name: str) -> dict[str, Any]:
    return next(item for item in manifest["spec"]["versions"] if item["name"] == name)


def test_the_names_are_those_that_kubectl_shows() -> None:
    names = custom_resource_definition(Gateway)["spec"]["names"]

    assert names == {
        "kind": "Gateway",
        "listKind": "GatewayList",
        "plural": "gateways",
        "singular": "gateway",
        "shortNames": ["gw"],
        "categories": ["all", "net"],
    }


def test_a_column_has_the_type_of_the_field_that_it_shows() -> None:
    columns = _version(custom_resource_definition(Gateway), "v1")["additionalPrinterColumns"]

    assert [(column["name"], column["type"]) for column in columns] == [
        ("Max", "integer"),
        ("Color", "string"),
        ("Since", "date"),
        ("App", "string"),
        ("First", "string"),
        ("Age", "date"),
    ]
    assert columns[1]["priority"] == 1
    assert columns[1]["description"] == "what it looks like"


def test_status_and_scale_are_subresources_unless_they_are_not_wanted() -> None:
    version = _version(custom_resource_definition(Gateway), "v1")
    plain = _version(custom_resource_definition(Gateway, with_subresources=False), "v1")

    assert version["subresources"] == {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.maxReplicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.labels.selector",
        },
    }
    assert "subresources" not in plain


def test_one_of_several_versions_is_stored() -> None:
    manifest = custom_resource_definition(OldGateway, Gateway)

    flags = [
        (item["name"], item["served"], item["storage"]) for item in manifest["spec"]["versions"]
    ]
    assert flags == [("v1beta1", False, False), ("v1", True, True)]
    assert _version(manifest, "v1beta1")["deprecationWarning"] == "use v1"


def test_each_kind_gets_a_definition_of_all_its_versions() -> None:
    manifests = definitions_of([OldGateway, Foo, Gateway])

    names = [item["metadata"]["name"] for item in manifests]
    assert names == ["gateways.example.com", "foos.samplecontroller.k8s.io"]
    assert len(manifests[0]["spec"]["versions"]) == 2


def test_the_sample_declares_its_kind_as_upstream_does() -> None:
    """SAMPLE-01: group, version, names, scope and fields of Foo."""
    manifest = custom_resource_definition(Foo)
    (version,) = manifest["spec"]["versions"]
    properties = version["schema"]["openAPIV3Schema"]["properties"]

    assert manifest["spec"]["group"] == "samplecontroller.k8s.io"
    assert manifest["spec"]["scope"] == "Namespaced"
    assert manifest["spec"]["names"] == {
        "kind": "Foo",
        "listKind": "FooList",
        "plural": "foos",
        "singular": "foo",
    }
    assert version["name"] == "v1alpha1"
    assert properties["spec"]["properties"] == {
        "deploymentName": {"type": "string"},
        "replicas": {"type": "integer", "minimum": 1, "maximum": 10},
    }
    assert properties["status"]["properties"] == {"availableReplicas": {"type": "integer"}}
    assert "required" not in properties["spec"]


def test_the_sample_ships_its_definition_in_two_forms() -> None:
    """SAMPLE-02: with and without the status subresource, both unapproved."""
    plain = yaml.safe_load((_ARTIFACTS / "crd.yaml").read_text())
    with_status = yaml.safe_load((_ARTIFACTS / "crd-status-subresource.yaml").read_text())

    assert plain == custom_resource_definition(Foo, with_subresources=False)
    assert with_status == custom_resource_definition(Foo)
    assert with_status["spec"]["versions"][0].pop("subresources") == {"status": {}}
    assert plain == with_status
    approval = plain["metadata"]["annotations"]["api-approved.kubernetes.io"]
    assert approval.startswith("unapproved")


# -- what is refused


def _named(**names: Any) -> type[Resource]:
    namespace = {"__annotations__": {"spec": GatewaySpec}, "__module__": __name__}
    cls: Any = type(Resource)("Thing", (Resource,), namespace)
    said = {"group": "e.com", "version": "v1", "plural": "things"} | names
    return resource(**said)(cls)  # type: ignore[no-any-return]


def _kind(spec: Any = GatewaySpec, group: str = "e.com", **said: Any) -> type[Resource]:
    namespace = {"__annotations__": {"spec": spec}, "__module__": __name__}
    cls: Any = type(Resource)("Thing", (Resource,), namespace)
    return CustomResource(**said)(resource(group=group, version="v1", plural="things")(cls))


class Unkeyed(Model):
    items: Annotated[list[Listener], ListMap("label")] = []


class WrongRule(Model):
    value: Annotated[int, Rule("self.size() > 1")] = 1


class WrongDefault(Model):
    value: Annotated[int, Meta(ge=5), Default(1)] = 1


class LookAhead(Model):
    value: Annotated[str, Meta(pattern="(?=a)")] = ""


class BoundOnText(Model):
    value: Annotated[str, Meta(ge=1)] = ""


def test_all_paths_that_lead_to_no_field_are_named_together() -> None:
    kind = _kind(
        columns=(PrinterColumn("A", ".spec.a"), AGE, PrinterColumn("B", ".spec.b[0]")),
        selectable_fields=(".spec.c",),
        scale=Scale(),
    )
    with pytest.raises(TypeSchemaError) as caught:
        custom_resource_definition(kind)

    lines = str(caught.value).splitlines()
    wanted = ".spec.replicas", ".status.replicas", "selectable field", "column 'A'", "column 'B'"
    assert len(lines) == len(wanted)
    for line, part in zip(lines, wanted, strict=True):
        assert line.startswith("Thing: ")
        assert part in line
    assert lines[-1].count("correct the path") == 1


def test_a_path_with_a_typo_names_the_field_that_is_near() -> None:
    kind = _kind(columns=(PrinterColumn("Max", ".spec.maxReplica"),))
    with pytest.raises(TypeSchemaError, match="there is no field 'maxReplica', but maxReplicas, "):
        custom_resource_definition(kind)


@pytest.mark.parametrize(
    ("kind", "field", "problem"),
    [
        (_kind(group="thing"), "Thing", "no domain name"),
        (_named(plural="Things"), "Thing", "plural 'Things' .* lower-case letters"),
        (_named(version="1"), "Thing", "version '1' is no name"),
        (_named(kind="My_Thing"), "Thing", "kind 'My_Thing' .*write letters, digits and '-'"),
        (_named(short_names=("th", "t_")), "Thing", "short name 't_'"),
        (_kind(group="x.k8s.io"), "Thing", "belongs to Kubernetes.*api-approved"),
        (_kind(columns=(PrinterColumn("A", ".spec.nothing"),)), "Thing", "column 'A'.*'nothing'"),
        (_kind(columns=(PrinterColumn("A", ".spec.listeners[0]"),)), "Thing", "give it a type"),
        (_kind(scale=Scale()), "Thing", "scale subresource reads .spec.replicas"),
        (_kind(selectable_fields=(".spec.x",)), "Thing", "selectable field reads .spec.x"),
        (_kind(Unkeyed), "Thing.spec.items.x-kubernetes-list-map-keys", "names of item properties"),
        (_kind(WrongRule), "Thing.spec.value.x-kubernetes-validations[0].rule", "size"),
        (_kind(WrongDefault), "Thing.spec.value.default", "greater than or equal to 5"),
        (_kind(LookAhead), "Thing.spec.value.pattern", "unsupported Perl syntax"),
        (_kind(BoundOnText), "Thing", "cannot be decoded.*`ge`"),
    ],
)
def test_what_a_server_would_refuse_is_an_error_that_names_the_field(
    kind: type[Resource], field: str, problem: str
) -> None:
    with pytest.raises(TypeSchemaError) as caught:
        custom_resource_definition(kind)

    assert caught.value.field == field
    assert re.search(problem, str(caught.value)), caught.value


def test_versions_that_differ_in_scope_are_refused() -> None:
    @resource(
        group="example.com", version="v2", plural="gateways", kind="Gateway", namespaced=False
    )
    class Elsewhere(Resource):
        spec: GatewaySpec

    with pytest.raises(TypeSchemaError, match="Elsewhere: its namespaced is False"):
        custom_resource_definition(Gateway, Elsewhere)


def test_several_versions_of_which_none_is_stored_are_refused() -> None:
    with pytest.raises(TypeSchemaError, match=r"0 of 2 versions.*storage=True"):
        custom_resource_definition(OldGateway, OldGateway)


# -- on a server


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with EmbeddedAPIServer() as server, Client(load_config(str(server.kubeconfig))) as client:
        yield client


def _established(crd: Any) -> bool:
    conditions = crd.status.conditions or () if crd.status else ()
    return any(item.type == "Established" and item.status == "True" for item in conditions)


def test_a_server_accepts_the_definition_and_enforces_it(client: Client) -> None:
    manifest = custom_resource_definition(OldGateway, Gateway)
    client.resource(CustomResourceDefinition).create(manifest)
    with Observer(client, CustomResourceDefinition) as observer:
        definitions = observer.lister(CustomResourceDefinition)
        assert observer.wait_until(lambda: _established(definitions.get("gateways.example.com")))
    gateways = client.resource(Gateway).namespace("default")

    stored = gateways.create({"metadata": {"name": "a"}, "spec": {"maxReplicas": 7}})

    assert stored.spec.min_replicas == 1
    assert stored.to_dict()["spec"] == {"maxReplicas": 7, "minReplicas": 1, "color": "red"}
    with pytest.raises(InvalidError, match="minReplicas must not exceed maxReplicas"):
        gateways.create(Gateway(metadata=ObjectMeta(name="b"), spec=GatewaySpec(min_replicas=9)))
    twice = [Listener(name="x", port=1), Listener(name="x", port=2)]
    with pytest.raises(InvalidError, match="Duplicate value"):
        gateways.create(Gateway(metadata=ObjectMeta(name="b"), spec=GatewaySpec(listeners=twice)))
