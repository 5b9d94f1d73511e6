"""What ``clientgo operator gen`` makes of the example."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.tools.scaffold.manifests.project_manifests import generate
from clientgo.tools.scaffold.project import read_project
from clientgo.tools.scaffold.project_code import declared_operator
from clientgo.util.text.yaml_reader import read_yaml_documents
from tests.examples.running import ROOT


@pytest.fixture(scope="module")
def files() -> dict[str, list[Any]]:
    project = read_project(ROOT / "examples" / "database")
    generated = generate(declared_operator(project)).files
    return {name: read_yaml_documents(text.encode()) for name, text in generated.items()}


def test_the_definition_has_both_versions_and_their_converter(files: dict[str, list[Any]]) -> None:
    (definition,) = files["crd/databases.databases.example.com.yaml"]
    versions = {each["name"]: each["storage"] for each in definition["spec"]["versions"]}
    assert versions == {"v1": True, "v1alpha1": False}
    assert definition["spec"]["conversion"]["strategy"] == "Webhook"


def test_both_webhooks_are_registered(files: dict[str, list[Any]]) -> None:
    kinds = [document["kind"] for document in files["webhooks/configurations.yaml"]]
    assert sorted(kinds) == ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]


def test_the_roles_name_the_dependents_and_nothing_else(files: dict[str, list[Any]]) -> None:
    (role,) = (each for each in files["rbac/operator.yaml"] if each["kind"] == "ClusterRole")
    written = {
        resource
        for rule in role["rules"]
        if "delete" in rule["verbs"]
        for resource in rule["resources"]
    }
    assert written == {"secrets", "services", "statefulsets", "cronjobs"}
