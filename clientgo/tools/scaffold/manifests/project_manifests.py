"""All manifests of a project, by file.

::

    config/crd/<plural>.<group>.yaml     the kinds
    config/rbac/                         permissions of the operator, and of its kinds' users
    config/webhooks/                     registration of its webhooks
    config/deploy/                       its Deployment, and who may evict and reach its pods
    config/samples/                      an object of each kind
    config/kustomization.yaml            all but the samples, for kubectl apply -k

Promises the same bytes for the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from clientgo.codegen.crd import definitions_of
from clientgo.codegen.definition_size import shorten_descriptions, size_warning
from clientgo.codegen.manifests import Manifest
from clientgo.codegen.rbac import user_roles
from clientgo.codegen.type_lint import findings
from clientgo.codegen.version_differences import unconverted_fields, versions_warning
from clientgo.meta import Resource, resource_of
from clientgo.meta.markers import CustomResource
from clientgo.operator.certificates import certificate_manifests, inject_annotation
from clientgo.operator.webhooks import WebhookObjectNames
from clientgo.tools.scaffold.inferred_rules import certificate_rules, lease_rule
from clientgo.tools.scaffold.manifests.deployment import (
    deployment,
    disruption_budget,
    labels_of,
    namespace_manifest,
)
from clientgo.tools.scaffold.manifests.generated_files import generated_text
from clientgo.tools.scaffold.manifests.monitoring import monitoring_manifests
from clientgo.tools.scaffold.manifests.network_policy import network_policy
from clientgo.tools.scaffold.manifests.roles import operator_roles
from clientgo.tools.scaffold.manifests.samples import sample
from clientgo.tools.scaffold.manifests.webhook_configurations import (
    add_conversions,
    through_service,
    webhook_configurations,
    webhook_service,
)
from clientgo.tools.scaffold.project import Project
from clientgo.tools.scaffold.project_code import DeclaredOperator

PARTS: Final = ("crd", "rbac", "webhooks", "deploy", "sample")
"""The parts that can be generated alone."""
FOLDERS: Final[Mapping[str, str]] = {
    "crd": "crd",
    "rbac": "rbac",
    "webhooks": "webhooks",
    "deploy": "deploy",
    "sample": "samples",
}


@dataclass(frozen=True, slots=True)
class Generated:
    """The texts of files by name, and warnings for the user."""

    files: Mapping[str, str]
    warnings: Sequence[str] = ()


def generate(
    operator: DeclaredOperator,
    parts: Iterable[str] = PARTS,
    *,
    max_description: int | None = None,
) -> Generated:
    """Return the files of some parts, below the project's ``config``.

    Raises ``TypeSchemaError``, ``DefinitionTooLargeError``, ``DeclarationError``.
    """
    chosen = tuple(parts)
    documents: dict[str, list[Manifest]] = {}
    warnings: list[str] = []
    if "crd" in chosen:
        crds = definition_files(_definitions(operator), operator.kinds, max_description)
        warnings += crds.warnings
    for part in PARTS:
        if part in chosen and part != "crd":
            documents |= {
                f"{FOLDERS[part]}/{name}": found
                for name, found in manifests_of(operator, part).items()
            }
    files = {name: generated_text(found) for name, found in documents.items() if found}
    if "crd" in chosen:
        files |= {f"{FOLDERS['crd']}/{name}": text for name, text in crds.files.items()}
    if "sample" in chosen:
        for kind in _stored(operator.kinds):
            warnings += [f"the sample of {kind.__name__}: {p}" for p in sample(kind).problems]
    if set(chosen) == set(PARTS):
        files["kustomization.yaml"] = generated_text([_kustomization(files)])
    return Generated(files, warnings)


def manifests_of(operator: DeclaredOperator, part: str) -> dict[str, list[Manifest]]:
    """Return the manifests of one part by the name of their file, for the caller to change."""
    return _MANIFESTS[part](operator)


def definition_files(
    definitions: Iterable[Manifest],
    kinds: Iterable[type[Resource]],
    max_description: int | None = None,
) -> Generated:
    """Return a file for each definition, and warnings about them and their kinds.

    Raises ``DefinitionTooLargeError``.
    """
    files = {}
    warnings = [str(finding) for kind in kinds for finding in findings(kind)]
    for definition in definitions:
        if max_description is not None:
            shorten_descriptions(definition, max_description)
        name = definition["metadata"]["name"]
        if fields := unconverted_fields(definition):
            warnings.append(f"{name}: {versions_warning(fields)}")
        text = files[f"{name}.yaml"] = generated_text([definition])
        if warning := size_warning(name, text):
            warnings.append(warning)
    return Generated(files, warnings)


def _definitions(operator: DeclaredOperator) -> list[Manifest]:
    definitions = definitions_of(operator.kinds)
    project = operator.project
    add_conversions(
        definitions,
        operator.converted,
        through_service(project.name, project.namespace),
        _injection(project),
    )
    return definitions


def _crd(operator: DeclaredOperator) -> dict[str, list[Manifest]]:
    return {f"{found['metadata']['name']}.yaml": [found] for found in _definitions(operator)}


def _rbac(operator: DeclaredOperator) -> dict[str, list[Manifest]]:
    project = operator.project
    rules = [*operator.rules, lease_rule(project.namespace)]
    if operator.has_webhooks and project.deploy.certificates == "self":
        rules += certificate_rules(project.name, project.namespace, operator.converted)
    return {
        "operator.yaml": operator_roles(project.name, project.namespace, rules),
        "users.yaml": user_roles(*operator.kinds),
    }


def _webhooks(operator: DeclaredOperator) -> dict[str, list[Manifest]]:
    if not operator.has_webhooks:
        return {}
    project = operator.project
    names = WebhookObjectNames.of(project.name)
    files = {
        "service.yaml": [webhook_service(project.name, project.namespace, labels_of(project))],
        "configurations.yaml": webhook_configurations(
            project.name,
            operator.manager.webhooks.manifests,
            through_service(project.name, project.namespace),
            namespace=project.namespace,
            annotations=_injection(project),
        ),
    }
    if project.deploy.certificates == "cert-manager":
        files["certificate.yaml"] = certificate_manifests(
            names.certificate, project.namespace, secret=names.secret, service=names.service
        )
    return files


def _injection(project: Project) -> Manifest:
    """Return the annotations with which cert-manager writes the authority, if it is used."""
    if project.deploy.certificates != "cert-manager":
        return {}
    certificate = WebhookObjectNames.of(project.name).certificate
    return dict(inject_annotation(certificate, project.namespace))


def _deploy(operator: DeclaredOperator) -> dict[str, list[Manifest]]:
    project = operator.project
    grace = operator.manager.config.graceful_shutdown
    files = {
        "namespace.yaml": [namespace_manifest(project)],
        "deployment.yaml": [
            deployment(
                project,
                grace=grace,
                has_webhooks=operator.has_webhooks,
            )
        ],
        "disruption-budget.yaml": [disruption_budget(project)],
    }
    if project.deploy.network_policy:
        policy = network_policy(project, has_webhooks=operator.has_webhooks)
        files["network-policy.yaml"] = [policy]
    if project.deploy.monitoring:
        files["monitoring.yaml"] = monitoring_manifests(project)
    return files


def _samples(operator: DeclaredOperator) -> dict[str, list[Manifest]]:
    return {
        f"{resource_of(kind).version}_{resource_of(kind).kind.lower()}.yaml": [
            sample(kind).manifest
        ]
        for kind in _stored(operator.kinds)
    }


_MANIFESTS: Final[Mapping[str, Callable[[DeclaredOperator], dict[str, list[Manifest]]]]] = {
    "crd": _crd,
    "rbac": _rbac,
    "webhooks": _webhooks,
    "deploy": _deploy,
    "sample": _samples,
}


def _stored(kinds: Iterable[type[Resource]]) -> list[type[Resource]]:
    """Return one class for each kind: the version that is stored."""
    versions: dict[str, type[Resource]] = {}
    for kind in kinds:
        name = resource_of(kind).group_resource
        if name not in versions or CustomResource.of(kind).storage:
            versions[name] = kind
    return list(versions.values())


def _kustomization(files: Iterable[str]) -> Manifest:
    order = ("deploy/namespace", "crd/", "rbac/", "deploy/", "webhooks/")
    listed = [
        (next(rank for rank, prefix in enumerate(order) if name.startswith(prefix)), name)
        for name in files
        if not name.startswith("samples/")
    ]
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [name for _, name in sorted(listed)],
    }
