"""A Helm chart of an operator, from the same code as ``config/``.

::

    charts/<name>/Chart.yaml      its version is that of pyproject.toml
    charts/<name>/values.yaml     image, replicas, resources and where the pods run
    charts/<name>/templates/      definitions, roles, webhooks and the Deployment

Promises: rendered with its own values, the chart has the manifests of ``config/``, in the namespace
of the release and without that Namespace; the definitions stay when it is uninstalled. Objects have
the names of the project, not of the release: the operator finds its webhooks and its certificate by
them.

Does not promise samples, or a chart that can be installed twice in a cluster.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec

from clientgo.codegen.definition_size import shorten_descriptions
from clientgo.codegen.manifests import Manifest, manifest_text
from clientgo.tools.scaffold.manifests.generated_files import generated_text, with_checksum
from clientgo.tools.scaffold.manifests.project_manifests import Generated, manifests_of
from clientgo.tools.scaffold.project import Project
from clientgo.tools.scaffold.project_code import DeclaredOperator

TEMPLATES: Final = "templates"
_NAMESPACE: Final = "clientgo-namespace-of-the-release"
"""Stands for the namespace until the texts are made; a name that a namespace can have."""
_VALUE: Final = "clientgo-value-of-the-chart-"
_EXPRESSIONS: Final[Mapping[str, str]] = {
    "image": "quote",
    "imagePullSecrets": "toJson",
    "nodeSelector": "toJson",
    "replicas": "int",
    "resources": "toJson",
    "tolerations": "toJson",
}
"""The values that the Deployment uses, and the function of Helm that writes each as YAML."""
_SEMANTIC_VERSION: Final = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
_WITHOUT_VERSION: Final = "0.1.0"
_KEEP: Final = {"helm.sh/resource-policy": "keep"}


def chart_folder(project: Project) -> Path:
    """Return the directory of the project's chart."""
    return project.root / "charts" / project.name


def helm_chart(operator: DeclaredOperator, *, max_description: int | None = None) -> Generated:
    """Return the files of the chart, below :func:`chart_folder`. Raises like ``generate``."""
    project = operator.project
    in_release = replace(operator, project=msgspec.structs.replace(project, namespace=_NAMESPACE))
    values: dict[str, Any] = {}
    files: dict[str, str] = {}
    for part in ("crd", "rbac", "deploy", "webhooks"):
        for name, documents in manifests_of(in_release, part).items():
            wanted = [manifest for manifest in documents if manifest["kind"] != "Namespace"]
            for manifest in wanted:
                if manifest["kind"] == "Deployment":
                    values = _take_values(manifest)
                if part == "crd":
                    manifest["metadata"].setdefault("annotations", {}).update(_KEEP)
                    if max_description is not None:
                        shorten_descriptions(manifest, max_description)
            if wanted:
                text = _template(manifest_text(wanted))
                if part == "crd":
                    text = f"{{{{- if .Values.crds }}}}\n{text}{{{{- end }}}}\n"
                files[f"{TEMPLATES}/{part}-{name}"] = with_checksum(text)
    version, warnings = _version(project)
    chart = {
        "apiVersion": "v2",
        "name": project.name,
        "description": f"The {project.name} operator",
        "type": "application",
        "version": version,
        "appVersion": version,
    }
    files["Chart.yaml"] = generated_text([chart])
    files["values.yaml"] = generated_text([{"crds": True} | values])
    return Generated(files, warnings)


def _take_values(deployment: Manifest) -> dict[str, Any]:
    """Return the values of a Deployment, with names of values in their place."""
    spec = deployment["spec"]
    pod = spec["template"]["spec"]
    container = pod["containers"][0]
    pod |= {"imagePullSecrets": [], "nodeSelector": {}, "tolerations": []}
    places = {
        "image": container,
        "imagePullSecrets": pod,
        "nodeSelector": pod,
        "replicas": spec,
        "resources": container,
        "tolerations": pod,
    }
    values = {name: place[name] for name, place in places.items()}
    for name, place in places.items():
        place[name] = f"{_VALUE}{name}"
    return values


def _template(text: str) -> str:
    """Return a text as a template of Helm: other braces are text, and the names are expressions."""
    text = text.replace("{{", '{{ "{{" }}')
    for name, function in _EXPRESSIONS.items():
        text = text.replace(f"{_VALUE}{name}\n", f"{{{{ .Values.{name} | {function} }}}}\n")
    # A namespace may look like a number; as a part of a longer text it cannot.
    whole = re.compile(rf"^(\s*(?:- |[\w-]+: )+){_NAMESPACE}$", re.MULTILINE)
    text = whole.sub(r"\1{{ .Release.Namespace | quote }}", text)
    return text.replace(_NAMESPACE, "{{ .Release.Namespace }}")


def _version(project: Project) -> tuple[str, list[str]]:
    """Return the version of the project's package, and a warning if a chart cannot have it."""
    try:
        settings = tomllib.loads((project.root / "pyproject.toml").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return _WITHOUT_VERSION, []
    version = str(settings.get("project", {}).get("version", _WITHOUT_VERSION))
    if _SEMANTIC_VERSION.fullmatch(version):
        return version, []
    return _WITHOUT_VERSION, [
        f"the version {version} of pyproject.toml is no semantic version, as a chart needs: "
        f"the chart has {_WITHOUT_VERSION}; write one like 1.2.3"
    ]
