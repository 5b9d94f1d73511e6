"""CustomResourceDefinitions of a project's own types.

Promises a definition that an API server accepts, with every version that it is given: schema,
names, subresources, printer columns. What would be refused is a :class:`TypeSchemaError` that names
the field, before any cluster is asked.

Does not promise conversion between versions: the server changes nothing but the ``apiVersion``,
and drops what the other version does not declare. `version_differences` says where that is not
enough; set ``spec.conversion`` to a webhook of yours.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from clientgo.codegen.schemas.type_place import TypeSchemaError
from clientgo.codegen.schemas.type_schema import Schema, resource_schema
from clientgo.meta import APIResource, Resource, resource_of
from clientgo.meta.decoding import decoder
from clientgo.meta.markers import CustomResource, PrinterColumn
from clientgo.testcluster.schema import FieldError, SchemaError, StructuralSchema

_PROTECTED = ("k8s.io", "kubernetes.io")
_APPROVAL = "api-approved.kubernetes.io"
_SCHEMA_STEP = re.compile(r"\.properties\[([^\]]*)\]|\.(items|additionalProperties)")
_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
"""What the server demands of names that are parts of paths (DNS-1035)."""
_PATH = re.compile(r"(?:\.[A-Za-z_]\w*)+")
_METADATA_COLUMNS = {".metadata.creationTimestamp": "date", ".metadata.generation": "integer"}


def custom_resource_definition(
    *versions: type[Resource], with_subresources: bool = True
) -> dict[str, Any]:
    """The definition of a kind in all its versions, each a class declared with ``@resource``.

    ``with_subresources`` False leaves out ``status`` and ``scale``, so that every write may change
    everything. Raises :class:`TypeSchemaError`.
    """
    storage = _storage_version(versions)
    declared = _agreed_resource(storage, versions)
    definition = CustomResource.of(storage)
    _check_group(storage, declared.group, definition)
    for cls in versions:
        _check_names(cls, resource_of(cls))
    metadata: dict[str, Any] = {"name": f"{declared.plural}.{declared.group}"}
    if definition.annotations:
        metadata["annotations"] = dict(definition.annotations)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": declared.group,
            "scope": "Namespaced" if declared.namespaced else "Cluster",
            "names": _names(declared, definition),
            "versions": [
                _version(cls, stored=cls is storage, with_subresources=with_subresources)
                for cls in versions
            ],
        },
    }


def definitions_of(kinds: Iterable[type[Resource]]) -> list[dict[str, Any]]:
    """A definition for each kind, of classes in any number of versions.

    Raises :class:`TypeSchemaError`.
    """
    versions: dict[str, list[type[Resource]]] = {}
    for cls in kinds:
        versions.setdefault(resource_of(cls).group_resource, []).append(cls)
    return [custom_resource_definition(*classes) for classes in versions.values()]


def _storage_version(versions: Sequence[type[Resource]]) -> type[Resource]:
    stored = [cls for cls in versions if CustomResource.of(cls).storage]
    if len(versions) == 1:
        return versions[0]
    if len(stored) != 1:
        raise TypeSchemaError(
            ", ".join(cls.__name__ for cls in versions),
            f"{len(stored)} of {len(versions)} versions say that they are stored",
            "write @CustomResource(storage=True) above one of them",
        )
    return stored[0]


def _agreed_resource(storage: type[Resource], versions: Sequence[type[Resource]]) -> APIResource:
    declared = resource_of(storage)
    for cls in versions:
        other = resource_of(cls)
        for said in ("group", "plural", "kind", "namespaced"):
            if getattr(other, said) != getattr(declared, said):
                raise TypeSchemaError(
                    cls.__name__,
                    f"its {said} is {getattr(other, said)!r}, that of the stored version "
                    f"{getattr(declared, said)!r}",
                    "declare both alike with @resource",
                )
    return declared


def _check_group(cls: type[Resource], group: str, definition: CustomResource) -> None:
    if "." not in group:
        raise TypeSchemaError(
            cls.__name__,
            f"the group {group!r} is no domain name",
            'write a domain of yours: @resource(group="example.com", ...)',
        )
    if group.endswith(tuple(f".{domain}" for domain in _PROTECTED)) or group in _PROTECTED:
        if _APPROVAL in definition.annotations:
            return
        raise TypeSchemaError(
            cls.__name__,
            f"the group {group!r} belongs to Kubernetes",
            f'use a domain of yours, or say @CustomResource(annotations={{"{_APPROVAL}": '
            '"unapproved, ..."})',
        )


def _check_names(cls: type[Resource], declared: APIResource) -> None:
    for said, name in (
        ("kind", declared.kind),
        ("plural", declared.plural),
        ("singular", declared.singular),
        ("version", declared.version),
        *(("short name", name) for name in declared.short_names),
    ):
        if not _LABEL.fullmatch(name.lower() if said == "kind" else name):
            letters = "letters" if said == "kind" else "lower-case letters"
            raise TypeSchemaError(
                cls.__name__,
                f"the {said} {name!r} is no name that a server accepts",
                f"write {letters}, digits and '-', a letter first",
            )


def _names(declared: APIResource, definition: CustomResource) -> dict[str, Any]:
    names: dict[str, Any] = {
        "kind": declared.kind,
        "listKind": f"{declared.kind}List",
        "plural": declared.plural,
        "singular": declared.singular,
    }
    if declared.short_names:
        names["shortNames"] = list(declared.short_names)
    if definition.categories:
        names["categories"] = list(definition.categories)
    return names


def _version(cls: type[Resource], *, stored: bool, with_subresources: bool) -> dict[str, Any]:
    said = CustomResource.of(cls)
    version: dict[str, Any] = {
        "name": resource_of(cls).version,
        "served": said.served,
        "storage": stored,
    }
    if said.deprecated:
        version["deprecated"] = True
    if said.deprecation_warning:
        version["deprecationWarning"] = said.deprecation_warning
    schema = resource_schema(cls)
    subresources = _subresources(cls) if with_subresources else {}
    _check_schema(cls, schema, has_status="status" in subresources)
    _check_paths(cls, schema, subresources.get("scale", {}).values())
    if subresources:
        version["subresources"] = subresources
    if said.selectable_fields:
        version["selectableFields"] = [{"jsonPath": path} for path in said.selectable_fields]
    if said.columns:
        version["additionalPrinterColumns"] = [
            _column(column, cls, schema) for column in said.columns
        ]
    version["schema"] = {"openAPIV3Schema": schema}
    return version


def _check_paths(cls: type[Resource], schema: Schema, scale_paths: Iterable[str]) -> None:
    """Raise one :class:`TypeSchemaError` for all paths that lead to no field."""
    said = CustomResource.of(cls)
    checks: list[Callable[[], object]] = [
        *(partial(_field_at, path, cls, schema, "the scale subresource") for path in scale_paths),
        *(partial(_field_at, p, cls, schema, "a selectable field") for p in said.selectable_fields),
        *(partial(_column, column, cls, schema) for column in said.columns),
    ]
    errors = []
    for check in checks:
        try:
            check()
        except TypeSchemaError as error:
            errors.append(error)
    if errors:
        raise TypeSchemaError.of(errors)


def _subresources(cls: type[Resource]) -> dict[str, Any]:
    subresources: dict[str, Any] = {}
    if "status" in resource_of(cls).subresources:
        subresources["status"] = {}
    scale = CustomResource.of(cls).scale
    if scale is not None:
        subresources["scale"] = {
            "specReplicasPath": scale.spec_replicas,
            "statusReplicasPath": scale.status_replicas,
        }
        if scale.label_selector:
            subresources["scale"]["labelSelectorPath"] = scale.label_selector
    return subresources


def _column(column: PrinterColumn, cls: type[Resource], schema: Schema) -> dict[str, Any]:
    said = {
        "name": column.name,
        "type": column.type or _column_type(column, cls, schema),
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
        "jsonPath": column.json_path,
    }
    return {key: value for key, value in said.items() if value}


def _column_type(column: PrinterColumn, cls: type[Resource], schema: Schema) -> str:
    path = column.json_path
    if path.startswith(".metadata."):
        return _METADATA_COLUMNS.get(path, "string")
    if not _PATH.fullmatch(path):
        raise TypeSchemaError(
            cls.__name__,
            f"what the column {column.name!r} shows cannot be told from {path!r}",
            'give it a type: PrinterColumn(..., type="string")',
        )
    shown = _field_at(path, cls, schema, f"the column {column.name!r}")
    if shown.get("format") in ("date", "date-time"):
        return "date"
    kind = shown.get("type")
    return kind if kind in ("integer", "number", "boolean") else "string"


def _field_at(path: str, cls: type[Resource], schema: Schema, reader: str) -> Schema:
    """The schema of the field that a path leads to; it must be there."""
    node = schema
    for name in path.removeprefix(".").split("."):
        if node.get("x-kubernetes-preserve-unknown-fields"):
            return {}
        below = node.get("properties", {}).get(name) or node.get("additionalProperties")
        if below is None:
            known = sorted(node.get("properties", {}))
            near = difflib.get_close_matches(name, known, 3) or known or ["none"]
            raise TypeSchemaError(
                cls.__name__,
                f"{reader} reads {path}, and there is no field {name!r}, but {', '.join(near)}",
                "correct the path; it is made of names on the wire, such as .spec.maxReplicas",
            )
        node = below
    return node


def _check_schema(cls: type[Resource], schema: Schema, *, has_status: bool) -> None:
    """Have the schema checked as a server does, and the type as the decoder does."""
    try:
        StructuralSchema.parse(schema, path=cls.__name__, has_status=has_status)
    except SchemaError as error:
        raise _as_type_error(error.causes[0]) from error
    try:
        decoder(cls.__body__)
    except TypeError as error:
        raise TypeSchemaError(
            cls.__name__, f"objects cannot be decoded into it ({error})", "correct that type"
        ) from error


def _as_type_error(cause: FieldError) -> TypeSchemaError:
    """What a server would find wrong, told of the field instead of the schema."""

    def step(match: re.Match[str]) -> str:
        return f".{match[1]}" if match[1] else {"items": "[]"}.get(match[2], "[*]")

    problem = str(cause).removeprefix(f"{cause.field}: ")
    field = _SCHEMA_STEP.sub(step, cause.field)
    return TypeSchemaError(field, problem, "correct the markers or the default of that field")
