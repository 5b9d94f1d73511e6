"""The rules for CustomResourceDefinitions, and the fields that their causes name."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from clientgo.testcluster.server.crds.validation import (
    unknown_formats,
    validate_crd,
    validate_crd_status,
    validate_crd_update,
)

Spec = dict[str, Any]
SCHEMA = {
    "openAPIV3Schema": {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "size": {"type": "string"},
                    "count": {"type": "integer", "default": 1},
                    "ratio": {"type": "number"},
                    "tags": {"type": "object", "additionalProperties": {"type": "string"}},
                },
            },
        },
    }
}


def version(name: str = "v1", **fields: Any) -> Spec:
    """A version as a client declares it."""
    return {"name": name, "served": True, "storage": name == "v1", "schema": SCHEMA, **fields}


def definition(*versions: Spec, **spec: Any) -> dict[str, Any]:
    """A definition as it is validated: defaulted, with its stored versions."""
    versions = versions or (version(),)
    names = {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"}
    stored = [item["name"] for item in versions if item["storage"]][:1]
    return copy.deepcopy(
        {
            "metadata": {"name": "foos.example.com"},
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": names,
                "versions": list(versions),
                "conversion": {"strategy": "None"},
                **spec,
            },
            "status": {"storedVersions": stored, "acceptedNames": {}},
        }
    )


def fields(crd: dict[str, Any]) -> list[str]:
    """The fields of the causes for a new definition."""
    return [error.field for error in validate_crd(crd)]


def webhook(**config: Any) -> Spec:
    """A conversion by a webhook at the address."""
    client = {"clientConfig": config, "conversionReviewVersions": ["v1"]}
    return {"strategy": "Webhook", "webhook": client}


def test_a_definition_without_errors_has_no_causes() -> None:
    assert fields(definition()) == []
    assert fields(definition(conversion=webhook(url="https://example.com/convert"))) == []
    in_cluster = {"namespace": "ns", "name": "svc", "path": "/convert", "port": 8443}
    assert fields(definition(conversion=webhook(service=in_cluster))) == []


@pytest.mark.parametrize(
    ("group", "causes"),
    [
        ("", ["metadata.name", "spec.group"]),
        ("nodots", ["metadata.name", "spec.group"]),
        ("Upper_case", ["metadata.name", "spec.group"]),
    ],
)
def test_a_wrong_group_has_one_cause(group: str, causes: list[str]) -> None:
    assert fields(definition(group=group)) == causes


def test_missing_names_are_required_and_not_malformed_too() -> None:
    found = validate_crd(definition(names={}))
    assert [(item.field, item.reason.name) for item in found if "names" in item.field] == [
        ("spec.names.plural", "REQUIRED"),
        ("spec.names.singular", "REQUIRED"),
        ("spec.names.kind", "REQUIRED"),
        ("spec.names.listKind", "REQUIRED"),
    ]


def test_a_name_with_two_problems_has_one_cause() -> None:
    plural = "X" * 70
    names = {"plural": plural, "singular": "foo", "kind": "Foo", "listKind": "Foo"}
    crd = definition(names=names)
    crd["metadata"]["name"] = f"{plural}.example.com"
    assert fields(crd) == ["spec.names.plural", "spec.names.listKind"]


@pytest.mark.parametrize(
    ("versions", "causes"),
    [
        ([], ["spec.versions", "status.storedVersions"]),
        ([version(storage=False)], ["spec.versions", "status.storedVersions"]),
        ([version(), version("v2", storage=True)], ["spec.versions", "status.storedVersions"]),
        ([version(), version(storage=False)], ["spec.versions"]),
        ([version("V_1", storage=True)], ["spec.versions[0].name", "spec.version"]),
        ([version("", storage=True)], ["spec.versions[0].name"]),
    ],
)
def test_versions_are_checked_with_the_stored_versions(
    versions: list[Spec], causes: list[str]
) -> None:
    crd = definition()
    crd["spec"]["versions"] = versions
    crd["status"]["storedVersions"] = [item["name"] for item in versions if item["storage"]][:1]
    assert fields(crd) == causes


def test_parts_that_all_versions_share_are_reported_once() -> None:
    column = {"name": "Size", "type": "text", "jsonPath": "spec.size"}
    columns = {"additionalPrinterColumns": [column]}
    shared = definition(version(**columns), version("v2", **columns))
    assert fields(shared) == [
        "spec.additionalPrinterColumns[0].type",
        "spec.additionalPrinterColumns[0].JSONPath",
    ]
    assert fields(definition(version(), version("v2", **columns))) == [
        "spec.versions[1].additionalPrinterColumns[0].type",
        "spec.versions[1].additionalPrinterColumns[0].JSONPath",
    ]


@pytest.mark.parametrize("path", [".", ".spec.list[0:2]", ".spec.items[?(@.v>1)]", ".unclosed["])
def test_the_path_of_a_column_needs_only_its_leading_dot(path: str) -> None:
    column = {"name": "A", "type": "string", "jsonPath": path}
    assert fields(definition(version(additionalPrinterColumns=[column]))) == []


def test_a_schema_with_a_status_subresource_is_restricted_at_its_root() -> None:
    schema = {"openAPIV3Schema": {**SCHEMA["openAPIV3Schema"], "maxProperties": 4}}
    assert fields(definition(version(schema=schema))) == []
    restricted = version(schema=schema, subresources={"status": {}})
    assert fields(definition(restricted)) == ["spec.validation.openAPIV3Schema"]


@pytest.mark.parametrize(
    ("scale", "causes"),
    [
        ({"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}, []),
        ({"specReplicasPath": ".spec.l[0]", "statusReplicasPath": ".status.n"}, []),
        ({"specReplicasPath": "spec.n", "statusReplicasPath": ".spec.n"}, ["spec", "status"]),
        ({"specReplicasPath": ".spec"}, ["spec", "status"]),
    ],
)
def test_the_paths_of_scale_lead_below_spec_and_status(scale: Spec, causes: list[str]) -> None:
    found = fields(definition(version(subresources={"scale": scale})))
    assert found == [f"spec.subresources.scale.{side}ReplicasPath" for side in causes]


@pytest.mark.parametrize(
    ("paths", "causes"),
    [
        ([".spec.size", ".spec.count", ".spec.tags.any"], []),
        ([""], ["[0].jsonPath"]),
        ([".spec.missing"], ["[0].jsonPath"]),
        ([".spec.ratio"], ["[0].jsonPath"]),
        ([".spec"], ["[0].jsonPath"]),
        ([".spec['size']"], ["[0].jsonPath"]),
        ([".spec.size", ".spec.size"], ["[1].jsonPath"]),
        ([f".spec.tags.t{n}" for n in range(9)], [""]),
    ],
)
def test_selectable_fields_lead_to_scalars_of_the_schema(
    paths: list[str], causes: list[str]
) -> None:
    selectable = [{"jsonPath": path} for path in paths]
    found = fields(definition(version(selectableFields=selectable)))
    assert found == [f"spec.selectableFields{cause}" for cause in causes]


def test_a_warning_of_deprecation_is_short_printable_text() -> None:
    def found(**fields: Any) -> list[str]:
        errors = validate_crd(definition(version(**fields)))
        return [error.detail.partition(" ")[2][:20] for error in errors]

    assert found(deprecationWarning="use v2") == ["only be set for depr"]
    assert found(deprecated=True, deprecationWarning="use v2") == []
    assert found(deprecated=True, deprecationWarning="") == ["not be an empty stri"]
    assert found(deprecated=True, deprecationWarning="é" * 129) == ["be <= 256 characters"]
    assert found(deprecated=True, deprecationWarning="a\nb") == ["only contain printab"]


@pytest.mark.parametrize(
    ("conversion", "causes"),
    [
        ({"strategy": "Bogus"}, ["strategy"]),
        ({"strategy": ""}, ["strategy"]),
        (
            {**webhook(url="https://a"), "strategy": "None"},
            ["webhookClientConfig", "conversionReviewVersions"],
        ),
        ({"strategy": "None", "webhook": {}}, []),
        ({"strategy": "Webhook"}, ["webhookClientConfig", "conversionReviewVersions"]),
        (webhook(), ["webhookClientConfig"]),
        (webhook(url="https://a", service={}), ["webhookClientConfig"]),
        (webhook(url="http://a"), ["webhookClientConfig.url"]),
        (webhook(url="https://u:p@a/?q=1#f"), ["webhookClientConfig.url"] * 3),
        (webhook(url="https://a:x"), ["webhookClientConfig.url"]),
        (webhook(url="https:///path"), ["webhookClientConfig.url"]),
        (
            webhook(service={"name": "s", "port": 0}),
            ["webhookClientConfig.service.name", "webhookClientConfig.service.port"],
        ),
        (
            webhook(service={"name": "s", "namespace": "n", "path": "a//B"}),
            ["webhookClientConfig.service.path"] * 4,
        ),
    ],
)
def test_the_webhook_of_a_conversion_is_checked(conversion: Spec, causes: list[str]) -> None:
    assert fields(definition(conversion=conversion)) == [f"spec.conversion.{c}" for c in causes]


@pytest.mark.parametrize(
    ("versions", "causes"),
    [
        (["v2", "v1"], []),
        (["v2"], [""]),
        (["v1", "v1"], ["[1]"]),
        (["v1", "V_2"], ["[1]"]),
        ([], [""]),
    ],
)
def test_a_conversion_webhook_accepts_a_version_that_the_server_knows(
    versions: list[str], causes: list[str]
) -> None:
    conversion = webhook(url="https://a")
    conversion["webhook"]["conversionReviewVersions"] = versions
    path = "spec.conversion.conversionReviewVersions"
    assert fields(definition(conversion=conversion)) == [f"{path}{cause}" for cause in causes]


def established(crd: dict[str, Any]) -> dict[str, Any]:
    """The definition once it is served."""
    crd["status"]["conditions"] = [{"type": "Established", "status": "True"}]
    return crd


def changed(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """The fields of the causes for an update."""
    return [error.field for error in validate_crd_update(after, before)]


def test_scope_and_kind_can_change_until_the_definition_is_established() -> None:
    names = {"plural": "foos", "singular": "foo", "kind": "Bar", "listKind": "FooList"}
    after = definition(scope="Cluster", names=names)
    assert changed(definition(), after) == []
    assert changed(established(definition()), after) == ["spec.scope", "spec.names.kind"]


def test_a_stored_version_stays_in_the_definition() -> None:
    after = definition(version("v2", storage=True))
    after["status"]["storedVersions"] = ["v1", "v2"]
    assert changed(established(definition()), after) == ["status.storedVersions[0]"]


def test_the_authorities_of_a_conversion_webhook_are_checked_once_it_is_used() -> None:
    good, bad = webhook(url="https://a"), webhook(url="https://a", caBundle="bm9uZQ==")
    new = definition(conversion=bad)
    assert fields(new) == []
    assert changed(definition(), new) == []
    path = "spec.conversion.webhookClientConfig.caBundle"
    assert changed(established(definition(conversion=good)), new) == [path]
    assert changed(established(definition(conversion=bad)), new) == []


def test_an_approval_that_did_not_change_is_not_checked_again() -> None:
    crd = definition(group="x.k8s.io")
    crd["metadata"]["name"] = "foos.x.k8s.io"
    path = "metadata.annotations[api-approved.kubernetes.io]"
    assert fields(crd) == [path]
    assert changed(established(copy.deepcopy(crd)), crd) == []
    for text, causes in [("unapproved, for a test", []), ("https://x/1", []), ("yes", [path])]:
        crd["metadata"]["annotations"] = {"api-approved.kubernetes.io": text}
        assert fields(crd) == causes


def test_the_names_in_a_status_are_checked() -> None:
    crd = definition()
    crd["status"]["acceptedNames"] = {"plural": "Foos", "kind": "Foo", "listKind": "Foo"}
    found = [error.field for error in validate_crd_status(crd)]
    assert found == ["status.acceptedNames.plural", "status.acceptedNames.listKind"]


def test_formats_that_are_not_enforced_are_found_in_every_part_of_a_schema() -> None:
    parts = {
        "a": {"type": "string", "format": "bogus"},
        "b": {"type": "array", "items": {"type": "integer", "format": "int16"}},
        "c": {"type": "object", "additionalProperties": {"type": "boolean", "format": "int32"}},
        "d": {"type": "string", "format": "date-time", "anyOf": [{"format": "other"}]},
        "e": {"type": "number", "format": "double"},
        "f": {"type": "string", "format": "bogus"},
    }
    schema = {"openAPIV3Schema": {"type": "object", "properties": parts}}
    assert unknown_formats(definition(version(schema=schema))) == [
        "bogus",
        "int16",
        "int32",
        "other",
    ]


@pytest.mark.parametrize(
    ("embedded", "causes"),
    [
        ({"name": {"type": "string", "default": "a"}}, []),
        ({"name": {"type": "string", "default": "a/b"}}, ["[metadata].properties[name].default"]),
        ({"name": {"type": "string", "default": ""}}, []),
    ],
)
def test_a_default_inside_of_metadata_is_checked_as_metadata(
    embedded: Spec, causes: list[str]
) -> None:
    resource: Spec = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "properties": {"metadata": {"type": "object", "properties": embedded}},
    }
    schema = copy.deepcopy(SCHEMA)
    schema["openAPIV3Schema"]["properties"]["spec"]["properties"]["pod"] = resource
    found = [error.field for error in validate_crd(definition(version(schema=schema)))]
    above = "spec.validation.openAPIV3Schema.properties[spec].properties[pod].properties"
    assert found == [above + cause for cause in causes]


def test_the_metadata_of_a_default_is_checked() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a b": "c"}}}
    resource: Spec = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
        "default": pod,
    }
    schema = copy.deepcopy(SCHEMA)
    schema["openAPIV3Schema"]["properties"]["spec"]["properties"]["pod"] = resource
    [error] = validate_crd(definition(version(schema=schema)))
    assert error.field.endswith("properties[pod].default.metadata.labels")


@pytest.mark.parametrize(
    ("default", "causes"),
    [
        ({"apiVersion": "v1", "kind": "Foo", "spec": {"size": "x"}}, []),
        ({"apiVersion": "v1", "kind": "Foo", "metadata": {"name": "x"}}, []),
        ({"spec": {"size": 5}}, [".apiVersion", ".kind"]),
        ({"apiVersion": "v1", "kind": "Foo", "spec": {"size": 5}}, [".spec.size"]),
        (
            {"apiVersion": "v1", "kind": "Foo", "metadata": {"labels": {"a b": ""}}},
            [".metadata.labels"],
        ),
    ],
)
def test_a_default_at_the_root_is_a_resource(default: Spec, causes: list[str]) -> None:
    schema = copy.deepcopy(SCHEMA)
    schema["openAPIV3Schema"]["default"] = default
    found = fields(definition(version(schema=schema)))
    assert found == [f"spec.validation.openAPIV3Schema.default{cause}" for cause in causes]


@pytest.mark.parametrize("default", [1.5, True, [1], 1, "a"])
def test_upstream_does_not_check_the_type_of_a_default_of_int_or_string(default: Any) -> None:
    port = {"x-kubernetes-int-or-string": True}
    parts = {
        "port": port | {"default": default},
        "ports": {"type": "array", "items": port, "default": [default]},
        "named": {"type": "object", "properties": {"a": port}, "default": {"a": default}},
    }
    assert fields(definition(version(schema=with_spec(parts)))) == []


def with_spec(properties: Spec) -> Spec:
    spec = {"type": "object", "properties": properties}
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
