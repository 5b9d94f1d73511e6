"""Typed modules of the built-in API groups, from the schemas that an API server publishes.

Promises: the same document gives the same text; every field is there, under a ``snake_case``
name with its exact name on the wire.

Does not promise to understand any JSON Schema: it reads what Kubernetes publishes, which is a
small part, and raises ``ValueError`` naming the schema for anything else.

Differs from client-go, whose Go types are the source and whose schemas are derived from them.
What the schemas still tell of the Go types decides what is optional here, see
:mod:`clientgo.api.wire`: a field with the default ``{}`` is a struct that Go always holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from clientgo.codegen.names import attribute_name
from clientgo.codegen.python_module import Class, Field, Module
from clientgo.meta import APIResource, GroupVersionKind

Schema: TypeAlias = Mapping[str, Any]

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_APIEXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"

MODULES: Mapping[str, str] = {
    "io.k8s.api.admissionregistration.v1": "admissionregistration_v1",
    _APIEXTENSIONS: "apiextensions_v1",
    "io.k8s.api.apps.v1": "apps_v1",
    "io.k8s.api.authentication.v1": "authentication_v1",
    "io.k8s.api.authorization.v1": "authorization_v1",
    "io.k8s.api.autoscaling.v1": "autoscaling_v1",
    "io.k8s.api.autoscaling.v2": "autoscaling_v2",
    "io.k8s.api.batch.v1": "batch_v1",
    "io.k8s.api.certificates.v1": "certificates_v1",
    "io.k8s.api.coordination.v1": "coordination_v1",
    "io.k8s.api.core.v1": "core_v1",
    "io.k8s.api.discovery.v1": "discovery_v1",
    "io.k8s.api.events.v1": "events_v1",
    "io.k8s.api.flowcontrol.v1": "flowcontrol_v1",
    _META: "meta_v1",
    "io.k8s.api.networking.v1": "networking_v1",
    "io.k8s.api.node.v1": "node_v1",
    "io.k8s.api.policy.v1": "policy_v1",
    "io.k8s.api.rbac.v1": "rbac_v1",
    "io.k8s.api.resource.v1": "resource_v1",
    "io.k8s.api.scheduling.v1": "scheduling_v1",
    "io.k8s.api.storage.v1": "storage_v1",
}
"""The packages of API types that are generated, and the module that each becomes."""

_IN_WIRE: Mapping[str, str] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "Quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "IntOrString",
    f"{_META}.Time": "Time",
    f"{_META}.MicroTime": "MicroTime",
    f"{_APIEXTENSIONS}.JSON": "JSON",
}
"""Schemas of scalars, which :mod:`clientgo.api.wire` names."""

_IN_META = {f"{_META}.{name}": name for name in ("ObjectMeta", "OwnerReference", "ListMeta")}
"""Schemas that :mod:`clientgo.meta` declares by hand."""

_UNIONS: Mapping[str, tuple[str, str]] = {
    f"{_APIEXTENSIONS}.JSONSchemaPropsOrArray": ("JSONSchemaProps", "list[JSONSchemaProps]"),
    f"{_APIEXTENSIONS}.JSONSchemaPropsOrBool": ("JSONSchemaProps", "bool"),
    f"{_APIEXTENSIONS}.JSONSchemaPropsOrStringArray": ("JSONSchemaProps", "list[str]"),
}
"""Schemas that the documents leave open, because they are one of two things."""

_HEADER = ("apiVersion", "kind", "metadata")
_SCALARS = {"integer": "int", "number": "float", "boolean": "bool", "string": "str"}


def generate_modules(documents: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The text of each module by its name, for the OpenAPI v3 documents of a server.

    Raises ``ValueError`` for a schema that it does not understand.
    """
    schemas: dict[str, Schema] = {}
    paths: dict[str, Any] = {}
    for document in documents:
        schemas |= document.get("components", {}).get("schemas", {})
        paths |= document["paths"]
    modules = _Generator(schemas, served_kinds(schemas, paths)).modules()
    return {name: module.text() for name, module in modules.items()}


def served_kinds(schemas: Mapping[str, Schema], paths: Mapping[str, Any]) -> dict[str, APIResource]:
    """The schemas whose objects are created under a path of their own, and where."""
    resources = {resource.gvk: resource for resource in _served_resources(paths)}
    return {
        name: resources[kind]
        for name, schema in schemas.items()
        for kind in _kinds_of(schema)
        if kind in resources
    }


def referenced_schema(schema: Schema) -> str:
    """The name of the schema that this one refers to; empty if it speaks for itself."""
    for candidate in (schema, *schema.get("allOf", ())):
        if "$ref" in candidate:
            return str(candidate["$ref"]).rpartition("/")[2]
    return ""


def known_type(schema: str) -> str:
    """Return the library's type for a schema: a scalar or metadata; None if it has none."""
    return _IN_WIRE.get(schema) or _IN_META.get(schema, "")


class _Generator:
    """Declares every kind, and before it whatever its fields are made of."""

    def __init__(self, schemas: Mapping[str, Schema], kinds: Mapping[str, APIResource]) -> None:
        self._schemas = schemas
        self._kinds = {name: kinds[name] for name in kinds if _package(name) in MODULES}
        self._modules: dict[str, Module] = {}
        self._declared: set[str] = set()

    def modules(self) -> dict[str, Module]:
        for name, resource in sorted(self._kinds.items()):
            self._declare_kind(name, resource)
        return self._modules

    def _module_of(self, schema: str) -> Module:
        name = MODULES[_package(schema)]
        if name not in self._modules:
            title = f"The types of {name.replace('_', '/')}."
            self._modules[name] = Module(f"{title}\n\nGenerated by hack/update-codegen.\n")
        return self._modules[name]

    def _declare_kind(self, name: str, resource: APIResource) -> None:
        module = self._module_of(name)
        module.use("clientgo.meta", "resource")
        module.resources.append(
            Class(
                _short(name),
                module.use("clientgo.meta", "Resource"),
                self._fields(name, module, skip=_HEADER),
                docstring=_docstring(resource),
                decorator=_decorator(resource),
            )
        )

    def _reference(self, name: str, module: Module) -> str:
        """The annotation for a reference to a schema; declares what it names."""
        if name in _IN_WIRE:
            return module.use("clientgo.api.wire", _IN_WIRE[name])
        if name in _IN_META:
            return module.use("clientgo.meta", _IN_META[name])
        if name in _UNIONS:
            return " | ".join(_UNIONS[name])
        schema = self._schema(name)
        if not schema.get("properties"):
            return self._annotation(schema, name, module)
        if _package(name) not in MODULES:
            raise ValueError(f"{name} is used, but its package is none of those in MODULES")
        self._declare_part(name)
        home = self._module_of(name)
        if home is module:
            return self._class_name(name)
        return module.use(f"clientgo.api.{MODULES[_package(name)]}", self._class_name(name))

    def _class_name(self, name: str) -> str:
        """A kind that is part of another object is no resource: it has no body to decode later."""
        return f"Embedded{_short(name)}" if name in self._kinds else _short(name)

    def _declare_part(self, name: str) -> None:
        if name in self._declared:
            return
        self._declared.add(name)
        module = self._module_of(name)
        base = module.use("clientgo.api.wire", "APIModel")
        fields = self._fields(name, module)
        module.classes.append(Class(self._class_name(name), base, fields))

    def _fields(self, name: str, module: Module, skip: tuple[str, ...] = ()) -> tuple[Field, ...]:
        schema = self._schema(name)
        required = set(schema.get("required", ()))
        fields = [
            self._field(f"{name}.{wire}", wire, property_, wire in required, module)
            for wire, property_ in sorted(schema["properties"].items())
            if wire not in skip
        ]
        return tuple(sorted(fields, key=lambda declared: not declared.required))

    def _field(self, path: str, wire: str, schema: Schema, required: bool, module: Module) -> Field:
        annotation = self._annotation(schema, path, module)
        values = tuple(value for value in schema.get("enum", ()) if value)
        attribute = attribute_name(wire)
        # Go writes a zero MicroTime as null, even where the schema requires one: most events of
        # events.k8s.io have no eventTime.
        if required and annotation != "MicroTime":
            # It writes an empty slice or map as null, too.
            factory = {"array": "list", "object": "dict"}.get(schema.get("type", ""), "")
            return Field(attribute, wire, annotation, factory=factory, values=values)
        if schema.get("default") == {} and (part := referenced_schema(schema)) in self._schemas:
            return Field(attribute, wire, annotation, factory=self._zero_value(part))
        if annotation not in ("Any", "JSON"):
            annotation += " | None"
        return Field(attribute, wire, annotation, default="None", values=values)

    def _zero_value(self, name: str) -> str:
        """A factory of what Go holds when nothing was said; empty if that would not be valid.

        A scalar that the API requires has its zero value as default in the schema.
        """
        schema = self._schema(name)
        arguments = []
        for wire in schema.get("required", ()):
            property_ = schema["properties"][wire]
            if property_.get("type") in ("array", "object"):
                continue
            zero = property_.get("default")
            if zero is None or zero == {}:
                return ""
            arguments.append(f"{attribute_name(wire)}={zero!r}")
        class_name = self._class_name(name)
        return f"lambda: {class_name}({', '.join(arguments)})" if arguments else class_name

    def _annotation(self, schema: Schema, path: str, module: Module) -> str:
        target = referenced_schema(schema)
        if target:
            return self._reference(target, module)
        match schema.get("type"):
            case "string" if schema.get("format") == "byte":
                return "bytes"
            case "string" if schema.get("format") == "date-time":
                return module.use("clientgo.api.wire", "Time")
            case "integer" | "number" | "boolean" | "string" as scalar:
                return _SCALARS[scalar]
            case "array":
                return f"list[{self._annotation(schema['items'], f'{path}[]', module)}]"
            case "object":
                values = schema.get("additionalProperties")
                if isinstance(values, Mapping):
                    return f"dict[str, {self._annotation(values, f'{path}.*', module)}]"
                return f"dict[str, {module.use('typing', 'Any')}]"
            case other:
                raise ValueError(f"{path}: a schema of type {other!r} is not understood")

    def _schema(self, name: str) -> Schema:
        try:
            return self._schemas[name]
        except KeyError:
            raise ValueError(f"the document refers to {name}, which it does not hold") from None


def _served_resources(paths: Mapping[str, Any]) -> Iterator[APIResource]:
    """What the paths of a document serve: ``/api/v1/pods``, ``.../namespaces/{namespace}/pods``.

    Objects are created by POST. That tells collections from all other paths, but for the
    subresources that lie below an object's name.
    """
    for path, operations in paths.items():
        parts = path.strip("/").split("/")
        if not isinstance(operations, Mapping) or "{name}" in parts:
            continue
        for group, version, kind in _kinds_of(operations.get("post")):
            yield APIResource(
                group=group,
                version=version,
                kind=kind,
                plural=parts[-1],
                namespaced="{namespace}" in parts,
            )


def _kinds_of(part: Any) -> Iterator[GroupVersionKind]:
    """The kinds that a schema, or an operation, is about."""
    said = part.get("x-kubernetes-group-version-kind") if isinstance(part, Mapping) else None
    for item in said if isinstance(said, list) else [said]:
        if isinstance(item, Mapping):
            names = [item.get(name) for name in ("group", "version", "kind")]
            if all(isinstance(name, str) for name in names) and names[2]:
                yield GroupVersionKind(*map(str, names))


def _decorator(resource: APIResource) -> str:
    group = f'group="{resource.group}", ' if resource.group else ""
    scope = "" if resource.namespaced else ", namespaced=False"
    return f'@resource({group}version="{resource.version}", plural="{resource.plural}"{scope})'


def _docstring(resource: APIResource) -> str:
    scope = "in a namespace" if resource.namespaced else "cluster-wide"
    return f"Served {scope} as ``{resource.plural}``."


def _package(schema: str) -> str:
    return schema.rpartition(".")[0]


def _short(schema: str) -> str:
    return schema.rpartition(".")[2]
