from __future__ import annotations

import gzip
import json

from clientgo.testcluster.fields.strategic_merge import (
    MergeStrategy,
)
from clientgo.testcluster.schema.openapi import (
    Definitions,
    OpenAPIType,
    builtin_type,
    openapi_documents,
)


def test_every_document_decodes_and_every_reference_in_it_resolves() -> None:
    for document in openapi_documents().values():
        assert gzip.decompress(document.compressed) == document.text
        text = json.dumps(document.definitions.nodes)
        for reference in text.split('"$ref": "')[1:]:
            name = reference.partition('"')[0].rpartition("/")[2]
            assert name in document.definitions.nodes


def test_a_field_of_a_field_is_reached_through_references_and_lists() -> None:
    deployment = builtin_type("apps/v1", "Deployment")
    assert deployment is not None

    container = deployment.field("spec").field("template").field("spec").field("containers").items

    assert container.field("image").type == "string"
    assert container.field("nope") is None


def test_what_a_field_says_is_laid_over_what_its_type_says() -> None:
    spec = builtin_type("apps/v1", "Deployment").field("spec")

    strategy = spec.field("strategy")

    assert strategy.node["x-kubernetes-patch-strategy"] == "retainKeys"
    assert strategy.field("rollingUpdate").field("maxSurge") is not None


def test_keywords_beside_a_reference_win() -> None:
    definitions = Definitions({"Name": {"type": "string", "default": ""}})

    plain = definitions.wrap({"$ref": "#/components/schemas/Name"})
    named = definitions.wrap({"allOf": [{"$ref": "#/components/schemas/Name"}], "default": "x"})

    assert plain is definitions.type("Name")
    assert (named.type, named.node["default"]) == ("string", "x")


def test_any_key_of_a_map_has_the_type_of_its_values() -> None:
    data = builtin_type("v1", "ConfigMap").field("data")

    assert data.field("anything").type == "string"
    assert data.field_names == ()


def test_unknown_kinds_have_no_type() -> None:
    assert builtin_type("v1", "Nope") is None
    assert builtin_type("nope/v1", "Deployment") is None
    assert builtin_type("apps/v1", "Pod") is None
    assert builtin_type("", "") is None


def test_patch_metadata_is_that_of_the_field() -> None:
    spec = builtin_type("v1", "Pod").field("spec")

    containers = spec.patch_field("containers")
    tolerations = spec.patch_field("tolerations")

    assert (containers.strategy, containers.merge_key) == (MergeStrategy.MERGE, "name")
    assert containers.schema.patch_field("env").merge_key == "name"
    assert tolerations.strategy is MergeStrategy.DEFAULT
    assert spec.patch_field("nope") is None


def test_recursive_types_are_resolved_as_far_as_they_are_walked() -> None:
    crd = builtin_type("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    node = crd.field("spec").field("versions").items.field("schema").field("openAPIV3Schema")

    for _ in range(5):
        node = node.field("properties").field("any")
        assert isinstance(node, OpenAPIType)
