"""Definitions and OpenAPI documents tell which kinds there are."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from clientgo.codegen.crd import custom_resource_definition
from clientgo.codegen.schema_types import types_module
from clientgo.codegen.type_sources import (
    TypeSourceError,
    kind_of_crd,
    kinds_of_openapi,
    openapi_definitions,
)
from clientgo.meta import resource_of
from clientgo.meta.markers import CustomResource
from tests.codegen.loading import load
from tests.codegen.test_crd import Gateway, OldGateway

_CRD = custom_resource_definition(OldGateway, Gateway)


def test_a_definition_made_of_types_comes_back_from_types_of_the_definition() -> None:
    crd = custom_resource_definition(Gateway)

    (again,) = load(types_module([kind_of_crd(crd)], source="a test")).RESOURCES

    assert custom_resource_definition(again) == crd


def test_what_a_definition_says_of_a_version_is_kept() -> None:
    kind = kind_of_crd(_CRD, "v1beta1")

    (again,) = load(types_module([kind], source="a test")).RESOURCES

    said = CustomResource.of(again)
    assert (said.served, said.deprecated, said.deprecation_warning) == (False, True, "use v1")


def test_the_stored_version_is_taken_unless_another_is_named() -> None:
    assert kind_of_crd(_CRD).resource.version == "v1"
    assert kind_of_crd(_CRD, "v1beta1").resource.version == "v1beta1"


def test_a_cluster_wide_kind_stays_cluster_wide() -> None:
    crd = copy.deepcopy(_CRD)
    crd["spec"]["scope"] = "Cluster"

    (kind,) = load(types_module([kind_of_crd(crd)], source="a test")).RESOURCES

    assert not resource_of(kind).namespaced


@pytest.mark.parametrize(
    ("manifest", "problem"),
    [
        ({"apiVersion": "apps/v1", "kind": "Deployment"}, "this is a apps/v1 Deployment; give a"),
        ({}, r"this is a \? \?"),
        ({**_CRD, "apiVersion": "other.io/v1"}, "other.io/v1 CustomResourceDefinition"),
    ],
)
def test_what_is_no_definition_is_named(manifest: Any, problem: str) -> None:
    with pytest.raises(TypeSourceError, match=problem):
        kind_of_crd(manifest)


def test_an_unknown_version_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(TypeSourceError, match=r"no version 'v7'; it has v1beta1, v1"):
        kind_of_crd(_CRD, "v7")


def test_a_version_without_a_schema_is_refused() -> None:
    crd = copy.deepcopy(_CRD)
    del crd["spec"]["versions"][1]["schema"]

    with pytest.raises(TypeSourceError, match="no schema for v1"):
        kind_of_crd(crd)


@pytest.mark.parametrize("lacking", ["names", "group", "scope"])
def test_a_definition_that_lacks_what_every_definition_has_is_refused(lacking: str) -> None:
    crd = copy.deepcopy(_CRD)
    del crd["spec"][lacking]

    with pytest.raises(TypeSourceError, match=rf"has no spec\.{lacking}"):
        kind_of_crd(crd)


def _document() -> dict[str, Any]:
    gvk = {"group": "e.com", "version": "v1", "kind": "Foo"}
    schema = {
        "type": "object",
        "properties": {
            "metadata": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.X"},
            "spec": {"$ref": "#/components/schemas/com.e.v1.Spec"},
        },
        "x-kubernetes-group-version-kind": [gvk],
    }
    spec = {"type": "object", "properties": {"size": {"type": "integer", "minimum": 1}}}
    path = "/apis/e.com/v1/namespaces/{namespace}/foos"
    return {
        "openapi": "3.0.0",
        "paths": {path: {"post": {"x-kubernetes-group-version-kind": gvk}}},
        "components": {"schemas": {"com.e.v1.Foo": schema, "com.e.v1.Spec": spec}},
    }


def test_the_kinds_of_a_document_are_those_that_it_serves() -> None:
    document = _document()

    (kind,) = kinds_of_openapi(document)
    text = types_module([kind], openapi_definitions(document), source="a test")

    assert (kind.resource.plural, kind.resource.namespaced) == ("foos", True)
    assert "class Spec(APIModel):" in text
    assert "x-kubernetes-group-version-kind" not in text


def test_an_unknown_kind_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(TypeSourceError, match="no kind Bar; it has Foo"):
        kinds_of_openapi(_document(), ["Bar"])


def test_what_is_no_openapi_document_says_where_to_get_one() -> None:
    with pytest.raises(TypeSourceError, match="/openapi/v3"):
        kinds_of_openapi({"swagger": "2.0"})
