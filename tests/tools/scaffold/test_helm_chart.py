"""The Helm chart: rendered, it has what ``config/`` has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from clientgo.__main__ import main
from clientgo.api.apps_v1 import Deployment
from clientgo.client import Client
from clientgo.tools.scaffold.manifests.helm_chart import helm_chart
from clientgo.util.text.yaml_reader import read_yaml, read_yaml_documents
from tests.tools.scaffold.conftest import forget_modules
from tests.tools.scaffold.declared import ShopReconciler, manager, operator

CHART = Path("charts/demo")


def rendered(chart: Path, namespace: str, **changes: Any) -> list[dict[str, Any]]:
    """Render the few expressions that a chart has, as Helm does."""
    values = _read(chart / "values.yaml") | changes
    found: list[dict[str, Any]] = []
    for file in sorted((chart / "templates").iterdir()):
        text = file.read_text(encoding="utf-8")
        condition = re.compile(r"^\{\{- if \.Values\.crds \}\}\n(.*)^\{\{- end \}\}\n", re.M | re.S)
        text = condition.sub(lambda match: match[1] if values["crds"] else "", text)
        text = re.sub(r"\{\{ (.*?) \}\}(?!\})", lambda m: _value(m[1], values, namespace), text)
        found += read_yaml_documents(text.encode())
    return found


def _value(expression: str, values: dict[str, Any], namespace: str) -> str:
    source, _, function = expression.partition(" | ")
    if source == '"{{"':
        return "{{"
    value = namespace if source == ".Release.Namespace" else values[source[len(".Values.") :]]
    match function:
        case "":
            return str(value)
        case "quote":
            return f'"{value}"'
        case "toJson":
            return json.dumps(value)
        case "int":
            return str(int(value))
    pytest.fail(f"the chart uses {expression!r}, which the tests do not know")


def _read(file: Path) -> Any:
    value, _ = read_yaml(file.read_bytes())
    return value


def _in_config(config: Path) -> list[dict[str, Any]]:
    return [
        document
        for folder in ("crd", "rbac", "deploy", "webhooks")
        for file in sorted((config / folder).glob("*.yaml"))
        for document in read_yaml_documents(file.read_bytes())
        if document["kind"] != "Namespace"
    ]


def _by_name(manifests: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    for manifest in manifests:
        annotations = manifest["metadata"].get("annotations", {})
        annotations.pop("helm.sh/resource-policy", None)
        if not annotations:
            manifest["metadata"].pop("annotations", None)
        if manifest["kind"] == "Deployment":
            pod = manifest["spec"]["template"]["spec"]
            for name in ("imagePullSecrets", "nodeSelector", "tolerations"):
                assert not pod.pop(name, None)
    return {(m["kind"], m["metadata"]["name"]): m for m in manifests}


@pytest.mark.parametrize("certificates", ["self", "cert-manager"])
def test_rendered_it_is_what_config_has(demo: Path, certificates: str) -> None:
    """OP-GEN-24"""
    assert main(["operator", "create-webhook", "Demo"]) == 0
    assert main(["operator", "create-api", "Demo", "--version", "v1", "--stored", "v1"]) == 0
    forget_modules(demo)
    options = ("--monitoring", "--certs", certificates)

    assert main(["operator", "gen", "all", *options]) == 0
    assert main(["operator", "gen", "helm", *options]) == 0

    assert _by_name(rendered(CHART, "demo-system")) == _by_name(_in_config(Path("config")))


def test_everything_is_in_the_namespace_of_the_release(demo: Path) -> None:
    """OP-GEN-24: one that looks like a number too."""
    assert main(["operator", "create-webhook", "Demo"]) == 0
    forget_modules(demo)
    assert main(["operator", "gen", "helm", "--certs", "cert-manager"]) == 0

    manifests = rendered(CHART, "1234")

    places = {m["metadata"]["namespace"] for m in manifests if "namespace" in m["metadata"]}
    assert places == {"1234"}
    assert "demo-system" not in str(manifests)
    assert "demo-webhook.1234.svc" in str(manifests)


def test_the_values_are_those_of_the_project_and_can_be_changed(demo: Path) -> None:
    """OP-GEN-24"""
    assert main(["operator", "gen", "helm", "--image", "example.com/demo:7"]) == 0

    values = _read(CHART / "values.yaml")
    assert (values["image"], values["replicas"]) == ("example.com/demo:7", 2)
    (changed,) = (
        m
        for m in rendered(CHART, "a", image="b:8", replicas=3, tolerations=[{"key": "k"}])
        if m["kind"] == "Deployment"
    )
    pod = changed["spec"]["template"]["spec"]
    assert (changed["spec"]["replicas"], pod["containers"][0]["image"]) == (3, "b:8")
    assert pod["tolerations"] == [{"key": "k"}]


def test_definitions_stay_when_it_is_uninstalled_and_can_be_left_out(demo: Path) -> None:
    """OP-GEN-24"""
    assert main(["operator", "gen", "helm"]) == 0

    (definition,) = (m for m in rendered(CHART, "a") if m["kind"] == "CustomResourceDefinition")
    assert definition["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    kinds = {m["kind"] for m in rendered(CHART, "a", crds=False)}
    assert "CustomResourceDefinition" not in kinds
    assert "Deployment" in kinds


def test_braces_in_descriptions_are_text(demo: Path) -> None:
    """OP-GEN-24: a template must not run what a field's description says."""
    file = demo / "demo/api/demo_v1alpha1.py"
    said = "Such as {{ .Values.image }} or {{- fail }}."
    file.write_text(file.read_text().replace("The contents of the ConfigMap.", said))
    forget_modules(demo)
    assert main(["operator", "gen", "helm"]) == 0

    (text,) = (str(m) for m in rendered(CHART, "a") if m["kind"] == "CustomResourceDefinition")

    assert said in text


def test_it_has_the_version_of_the_package(demo: Path) -> None:
    """OP-GEN-24"""
    settings = demo / "pyproject.toml"
    settings.write_text(settings.read_text().replace('version = "0.1.0"', 'version = "2.3.4"'))

    assert main(["operator", "gen", "helm"]) == 0

    chart = _read(CHART / "Chart.yaml")
    assert (chart["apiVersion"], chart["name"], chart["version"]) == ("v2", "demo", "2.3.4")


def test_a_version_that_a_chart_cannot_have_is_a_warning(
    demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-GEN-24"""
    settings = demo / "pyproject.toml"
    settings.write_text(settings.read_text().replace('version = "0.1.0"', 'version = "2.0rc1"'))

    assert main(["operator", "gen", "helm"]) == 0

    assert "2.0rc1 of pyproject.toml is no semantic version" in capsys.readouterr().err


def test_gen_all_and_verify_know_a_chart_that_there_is(
    demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-GEN-19, OP-GEN-24"""
    assert main(["operator", "gen", "all"]) == 0
    assert not CHART.exists()
    assert main(["operator", "gen", "helm"]) == 0
    assert main(["operator", "verify"]) == 0
    file = CHART / "templates/deploy-deployment.yaml"
    before = file.read_text()
    settings = demo / "operator.toml"
    settings.write_text(settings.read_text().replace('cpu_request = "10m"', 'cpu_request = "1"'))
    (CHART / "templates/rbac-operator.yaml").unlink()

    assert main(["operator", "verify"]) == 1
    assert main(["operator", "gen", "all"]) == 0

    assert file.read_text() == before  # resources are values
    assert 'cpu: "1"' in (CHART / "values.yaml").read_text()
    assert main(["operator", "verify"]) == 0


def test_a_server_accepts_a_deployment_with_every_value(demo: Path, kube_client: Client) -> None:
    """OP-GEN-24: by strict validation."""
    assert main(["operator", "gen", "helm"]) == 0
    values = {
        "imagePullSecrets": [{"name": "a"}],
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"key": "b", "operator": "Exists"}],
    }
    (wanted,) = (m for m in rendered(CHART, "default", **values) if m["kind"] == "Deployment")

    applied = kube_client.resource(Deployment).apply(
        wanted, field_manager="test", field_validation="Strict", dry_run=True
    )

    pod = applied.to_dict()["spec"]["template"]["spec"]
    assert {name: pod[name] for name in values} == values


def test_the_same_code_makes_the_same_bytes() -> None:
    """OP-GEN-01"""
    assert (
        helm_chart(operator(manager(ShopReconciler()))).files
        == helm_chart(operator(manager(ShopReconciler()))).files
    )
