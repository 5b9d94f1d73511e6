"""Where the types of other people's kinds come from: a CustomResourceDefinition or OpenAPI.

Promises the kinds that a document holds, or a :class:`TypeSourceError` that says what it holds
instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from clientgo.codegen.openapi_types import Schema, served_kinds
from clientgo.codegen.schema_types import Kind
from clientgo.codegen.schemas.schema_check import shown
from clientgo.meta import APIResource
from clientgo.meta.markers import CustomResource, PrinterColumn, Scale
from clientgo.util.copies import CopyableError

T = TypeVar("T")


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
    return _kind_of_crd(manifest, version)


def _kind_of_crd(manifest: Mapping[str, Any], version: str) -> Kind:
    metadata, spec = _said(manifest, "metadata", dict), _said(manifest, "spec", dict)
    name = _said(metadata, "name", str, "metadata")
    versions = {
        _said(item, "name", str, "spec.versions[]"): item
        for item in _parts(spec, "versions", "spec")
    }
    stored = (item for item in versions.values() if item.get("storage"))
    chosen = versions.get(version) if version else next(stored, None)
    if chosen is None:
        wanted = f"version {version!r}" if version else "stored version"
        raise TypeSourceError(f"{name} has no {wanted}; it has {', '.join(versions) or 'none'}")
    schema = _said(chosen, "schema", dict, "spec.versions[]", {}).get("openAPIV3Schema")
    if not schema:
        raise TypeSourceError(
            f"{name} has no schema for {chosen['name']}; give one of apiextensions.k8s.io/v1, "
            "where every version has its own"
        )
    names = _said(spec, "names", dict, "spec")
    subresources = _said(chosen, "subresources", dict, "spec.versions[]", {})
    resource = APIResource(
        group=_said(spec, "group", str, "spec"),
        version=chosen["name"],
        kind=_said(names, "kind", str, "spec.names"),
        plural=_said(names, "plural", str, "spec.names"),
        singular=_said(names, "singular", str, "spec.names", ""),
        namespaced=_said(spec, "scope", str, "spec") == "Namespaced",
        short_names=_texts(names, "shortNames", "spec.names"),
        subresources=tuple(map(str, subresources)),
    )
    return Kind(resource, schema, _definition(metadata, names, chosen, subresources))


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
    components = document.get("components") or {}
    schemas = components.get("schemas") if isinstance(components, Mapping) else None
    if not isinstance(document["paths"], Mapping) or not isinstance(schemas, Mapping):
        raise TypeSourceError("the OpenAPI v3 document has no paths, or no components.schemas")
    return schemas


def _definition(
    metadata: Mapping[str, Any],
    names: Mapping[str, Any],
    version: Mapping[str, Any],
    subresources: Mapping[str, Any],
) -> CustomResource:
    place = "spec.versions[]"
    annotations = _said(metadata, "annotations", dict, "metadata", {})
    return CustomResource(
        columns=tuple(
            map(_column, _parts(version, "additionalPrinterColumns", place)),
        ),
        scale=_scale(_said(subresources, "scale", dict, f"{place}.subresources", {})),
        selectable_fields=tuple(
            _said(item, "jsonPath", str, f"{place}.selectableFields[]")
            for item in _parts(version, "selectableFields", place)
        ),
        categories=_texts(names, "categories", "spec.names"),
        annotations={
            name: _said(annotations, name, str, "metadata.annotations")
            for name in annotations
            if str(name).startswith("api-approved")
        },
        served=_said(version, "served", bool, place, True),
        deprecated=_said(version, "deprecated", bool, place, False),
        deprecation_warning=_said(version, "deprecationWarning", str, place, ""),
    )


def _column(column: Mapping[str, Any]) -> PrinterColumn:
    place = "spec.versions[].additionalPrinterColumns[]"
    return PrinterColumn(
        name=_said(column, "name", str, place),
        json_path=_said(column, "jsonPath", str, place),
        type=_said(column, "type", str, place),
        description=_said(column, "description", str, place, ""),
        priority=_said(column, "priority", int, place, 0),
        format=_said(column, "format", str, place, ""),
    )


def _scale(scale: Mapping[str, Any]) -> Scale | None:
    place = "spec.versions[].subresources.scale"
    return (
        Scale(
            spec_replicas=_said(scale, "specReplicasPath", str, place),
            status_replicas=_said(scale, "statusReplicasPath", str, place),
            label_selector=_said(scale, "labelSelectorPath", str, place, ""),
        )
        if scale
        else None
    )


_CALLED: Final = {str: "a text", bool: "true or false", int: "a whole number", dict: "a mapping"}


def _said(
    holder: Mapping[str, Any], name: str, kind: type[T], place: str = "", default: T | None = None
) -> T:
    """A member of a definition, at ``place``; null is absent. Raises :class:`TypeSourceError`."""
    where = f"{place}.{name}".lstrip(".")
    value = holder.get(name)
    if value is None or (value == "" and default is None):
        if default is None:
            raise TypeSourceError(f"the definition has no {where}, which every definition has")
        return default
    if not isinstance(value, kind):
        raise TypeSourceError(
            f"{where} of the definition must be {_CALLED[kind]}, not {shown(value)}"
        )
    return value


def _parts(holder: Mapping[str, Any], name: str, place: str) -> list[dict[str, Any]]:
    """The mappings in a list; none if the list is absent."""
    items: Any = holder.get(name) or []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise TypeSourceError(
            f"{place}.{name} of the definition must be a list of mappings, not {shown(items)}"
        )
    return items


def _texts(holder: Mapping[str, Any], name: str, place: str) -> tuple[str, ...]:
    items: Any = holder.get(name) or []
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise TypeSourceError(
            f"{place}.{name} of the definition must be a list of texts, not {shown(items)}"
        )
    return tuple(items)
