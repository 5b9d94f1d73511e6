"""Where the types of other people's kinds come from: a CustomResourceDefinition or OpenAPI.

Promises the kinds that a document holds, or a :class:`TypeSourceError` that says what it holds
instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clientgo.codegen.openapi_types import Schema, served_kinds
from clientgo.codegen.schema_types import Kind
from clientgo.copies import CopyableError
from clientgo.meta import APIResource
from clientgo.meta.markers import CustomResource, PrinterColumn, Scale


class TypeSourceError(CopyableError, ValueError):
    """A document does not hold what types were to be made of."""


def kind_of_crd(manifest: Mapping[str, Any], version: str = "") -> Kind:
    """The kind that a CustomResourceDefinition defines, in the stored version if none is named.

    Raises :class:`TypeSourceError`.
    """
    group, _, _ = str(manifest.get("apiVersion", "")).partition("/")
    if manifest.get("kind") != "CustomResourceDefinition" or group != "apiextensions.k8s.io":
        said = f"{manifest.get('apiVersion', '?')} {manifest.get('kind', '?')}"
        raise TypeSourceError(
            f"this is a {said}; give a CustomResourceDefinition of apiextensions.k8s.io/v1"
        )
    try:
        return _kind_of_crd(manifest, version)
    except KeyError as error:
        raise TypeSourceError(
            f"the definition has no {error}, which every definition has"
        ) from error


def _kind_of_crd(manifest: Mapping[str, Any], version: str) -> Kind:
    name, spec = manifest["metadata"]["name"], manifest["spec"]
    versions = {item["name"]: item for item in spec.get("versions", ())}
    chosen = versions.get(version) if version else _stored(spec)
    if chosen is None:
        raise TypeSourceError(f"{name} has no version {version!r}; it has {', '.join(versions)}")
    schema = chosen.get("schema", {}).get("openAPIV3Schema")
    if not schema:
        raise TypeSourceError(
            f"{name} has no schema for {chosen['name']}; give one of apiextensions.k8s.io/v1, "
            "where every version has its own"
        )
    names = spec["names"]
    subresources = chosen.get("subresources") or {}
    resource = APIResource(
        group=spec["group"],
        version=chosen["name"],
        kind=names["kind"],
        plural=names["plural"],
        singular=names.get("singular", ""),
        namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(names.get("shortNames", ())),
        subresources=tuple(subresources),
    )
    return Kind(resource, schema, _definition(manifest, chosen, subresources))


def kinds_of_openapi(document: Mapping[str, Any], names: Sequence[str] = ()) -> list[Kind]:
    """The kinds that an OpenAPI v3 document of a group version serves, or those of them named.

    Raises :class:`TypeSourceError`.
    """
    schemas = openapi_definitions(document)
    found = {
        resource.kind: Kind(resource, schemas[name])
        for name, resource in served_kinds(schemas, document["paths"]).items()
    }
    unknown = [name for name in names if name not in found]
    if unknown or not found:
        raise TypeSourceError(
            f"the document has no kind {', '.join(unknown) or 'at all'}; "
            f"it has {', '.join(sorted(found)) or 'none that objects can be created of'}"
        )
    return [found[name] for name in names or sorted(found)]


def openapi_definitions(document: Mapping[str, Any]) -> Mapping[str, Schema]:
    """What the schemas of an OpenAPI v3 document refer to by name."""
    if not str(document.get("openapi", "")).startswith("3.") or "paths" not in document:
        raise TypeSourceError(
            "this is no OpenAPI v3 document; a server answers with one at "
            "/openapi/v3/apis/<group>/<version>"
        )
    schemas: Mapping[str, Schema] = document.get("components", {}).get("schemas", {})
    return schemas


def _stored(spec: Mapping[str, Any]) -> Any:
    return next((item for item in spec.get("versions", ()) if item.get("storage")), None)


def _definition(
    manifest: Mapping[str, Any], version: Mapping[str, Any], subresources: Mapping[str, Any]
) -> CustomResource:
    scale = subresources.get("scale")
    annotations = manifest.get("metadata", {}).get("annotations", {})
    return CustomResource(
        columns=tuple(
            PrinterColumn(
                name=column["name"],
                json_path=column["jsonPath"],
                type=column["type"],
                description=column.get("description", ""),
                priority=column.get("priority", 0),
                format=column.get("format", ""),
            )
            for column in version.get("additionalPrinterColumns", ())
        ),
        scale=scale
        and Scale(
            spec_replicas=scale["specReplicasPath"],
            status_replicas=scale["statusReplicasPath"],
            label_selector=scale.get("labelSelectorPath", ""),
        ),
        selectable_fields=tuple(item["jsonPath"] for item in version.get("selectableFields", ())),
        categories=tuple(manifest["spec"]["names"].get("categories", ())),
        annotations={
            name: text for name, text in annotations.items() if name.startswith("api-approved")
        },
        served=version.get("served", True),
        deprecated=version.get("deprecated", False),
        deprecation_warning=version.get("deprecationWarning", ""),
    )
