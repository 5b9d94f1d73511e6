"""Custom resources: how objects of a CustomResourceDefinition behave.

Promises: each version of a CRD becomes a ``Resource`` whose strategy prunes, defaults and validates
by the version's structural schema, has the columns of the definition, and keeps the status apart if
there is a status subresource. Versions differ in their apiVersion only (conversion strategy None).

Upstream: apiextensions-apiserver ``pkg/registry/customresource``.
"""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from clientgo.meta.group_version import GroupVersionKind
from clientgo.meta.json_values import WholeFloat, json_equal
from clientgo.testcluster.fields.managed_fields import FieldSet, FieldType, field_path
from clientgo.testcluster.schema import FieldError, JSONSchema, StructuralSchema
from clientgo.testcluster.schema.field_types import custom_resource_field_type
from clientgo.testcluster.schema.json_value import is_number
from clientgo.testcluster.schema.pruning import prune
from clientgo.testcluster.server.crds.json_path import JsonPath, JsonPathError, as_text
from clientgo.testcluster.server.crds.parsed_schemas import parse_schema
from clientgo.testcluster.server.crds.webhook_conversion import WebhookConverter
from clientgo.testcluster.server.http.webhook_client import WebhookClient
from clientgo.testcluster.server.objects.metadata import (
    STANDARD_FINALIZERS,
    embedded_causes,
    read_metadata,
)
from clientgo.testcluster.server.resources.columns import AGE, NAME, Column, age_since
from clientgo.testcluster.server.resources.errors import FailedRequestError, bad_request
from clientgo.testcluster.server.resources.nested_fields import NestedFieldError, nested_field
from clientgo.testcluster.server.resources.registry import version_priority
from clientgo.testcluster.server.resources.resource import (
    STATUS_VERBS,
    ReadAgain,
    Resource,
    Subresource,
    storage_hash,
)
from clientgo.testcluster.server.resources.resource_type import ResourceType
from clientgo.testcluster.server.resources.strategy import (
    Decoded,
    FieldReader,
    ScaleFields,
    Strategy,
)
from clientgo.testcluster.server.storage.storage import Object
from clientgo.util.text import go_format

LOG = logging.getLogger("clientgo.testcluster.server")

_STATUS = FieldSet.of([field_path("status")])
_NO_FIELDS = JSONSchema()
_SPEC_AND_METADATA = FieldSet.of([field_path("spec"), field_path("metadata")])

_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
"""In the order in which discovery lists them for custom resources."""

_SCALE = GroupVersionKind("autoscaling", "v1", "Scale")
_MOST_REPLICAS = 2**31 - 1


class CustomStrategy(Strategy):
    """Objects of one version of a CRD."""

    allow_unconditional_update = False
    counts_generations = True
    starts_generation = True

    def __init__(self, version: Mapping[str, Any], schemas: Mapping[str, Any]) -> None:
        """Read a version in ``spec.versions`` of a validated CRD.

        ``schemas`` are those of all versions, by apiVersion.
        """
        self._schemas = schemas
        self._version = version["name"]
        schema = version.get("schema", {}).get("openAPIV3Schema")
        self.schema = parse_schema(schema) if schema else None
        self.published_schema = schema or {}
        self.columns = _columns(version.get("additionalPrinterColumns"))
        self._has_status = "status" in version.get("subresources", {})
        self.scale_fields = _scale_fields(version.get("subresources", {}).get("scale"))
        self.selectable_fields = {
            item["jsonPath"].removeprefix("."): _selectable_reader(item["jsonPath"])
            for item in version.get("selectableFields", ())
        }

    @property
    def selects_absent_namespace(self) -> bool:
        """Return False: the namespace is a field of namespaced objects only."""
        return False

    def check_type(self, resource: ResourceType, obj: Object) -> None:
        """Refuse an object without a kind, or with a header that is none; others are found later.

        Raises:
            FailedRequestError: 400.
        """
        api_version, kind = obj.get("apiVersion", ""), obj.get("kind", "")
        if not isinstance(api_version, str) or not isinstance(kind, str):
            raise bad_request("apiVersion and kind must be strings")
        if api_version.count("/") > 1:
            raise bad_request(f"unexpected GroupVersion string: {api_version}")
        if not kind:
            raise bad_request(
                f"the object provided is unrecognized (must be of type {resource.kind}): "
                "Object 'Kind' is missing"
            )

    def check_version(self, resource: ResourceType, api_version: str) -> None:
        """Refuse another version than that of the request.

        Raises:
            FailedRequestError: 400.
        """
        if api_version != resource.api_version:
            raise bad_request(
                f"the API version in the data ({api_version}) does not match the expected API "
                f"version ({resource.api_version})"
            )

    def decode(self, resource: ResourceType, obj: Object) -> Decoded:
        """Prune unknown fields, read embedded resources, set the defaults of the schema.

        The schema is that of the version in the object. A version that the definition does not have
        has no fields, and an object of another group or kind stays as it is.

        Raises:
            FailedRequestError: 400, the header of an embedded resource has the wrong type.
        """
        api_version = obj["apiVersion"]
        if (api_version.rpartition("/")[0], obj["kind"]) != (resource.group, resource.kind):
            return Decoded(obj)  # refused later; nothing is known of its fields
        if api_version != resource.api_version and api_version not in self._schemas:
            pruned, unknown = prune(obj, _NO_FIELDS)
            return Decoded(pruned, tuple(unknown))
        schema = self._schema_of(resource, api_version)
        if schema is None:
            return Decoded(obj)
        pruned, unknown = schema.prune(obj)
        for path, embedded in schema.embedded_resources(pruned):
            unknown += _read_embedded(resource, embedded, path)
        return Decoded(schema.default(pruned), tuple(unknown))

    def _schema_of(self, resource: ResourceType, api_version: str) -> StructuralSchema | None:
        """Return the schema of a version of the definition."""
        if api_version == resource.api_version:
            return self.schema
        other = self._schemas[api_version]
        return parse_schema(other) if other else None

    def decode_applied(self, resource: ResourceType, obj: Object) -> Decoded:
        """Set the defaults; the merge has refused unknown fields, and nulls stay for validation."""
        return Decoded(obj if self.schema is None else self.schema.default(obj))

    def field_type(self, api_version: str, kind: str) -> FieldType | None:
        """Return the type of the kind at one of its versions."""
        if api_version not in self._schemas:
            return None
        return custom_resource_field_type(self._schemas[api_version])

    def reset_fields(self, subresource: str, api_version: str) -> FieldSet:
        """Return the fields of the other side, if there is a status subresource.

        A write to the main resource takes the status away from owners at other versions: upstream,
        the strategy of a version knows the status of that version only.
        """
        if subresource == "status":
            return _SPEC_AND_METADATA
        is_own_version = api_version.rpartition("/")[2] == self._version
        return _STATUS if self._has_status and is_own_version else FieldSet()

    def prepare_for_create(self, obj: Object) -> None:
        """Remove the status, if there is a status subresource."""
        if self._has_status:
            obj.pop("status", None)

    def prepare_for_update(self, new: Object, old: Object) -> None:
        """Keep the status, if there is a status subresource."""
        if not self._has_status:
            return
        if "status" in old:
            new["status"] = old["status"]
        else:
            new.pop("status", None)

    def prepare_for_status_update(self, new: Object, old: Object) -> None:
        """Keep everything except the status and the field owners."""
        status = new.get("status")
        managed = new["metadata"].get("managedFields")
        new.clear()
        new.update(old)
        new.pop("status", None)
        if status is not None:
            new["status"] = status
        if managed is not None:
            new["metadata"] = {**old["metadata"], "managedFields": managed}

    def spec_changed(self, new: Object, old: Object) -> bool:
        """Return True if a field outside of metadata and a separate status has changed."""
        ignored = {"metadata", "status"} if self._has_status else {"metadata"}
        keys = (new.keys() | old.keys()) - ignored
        return any(
            not json_equal(new.get(key), old.get(key)) or _has_whole_float(new.get(key))
            for key in keys
        )

    def validate(self, obj: Object) -> list[FieldError]:
        """Return the errors that the schema and the paths of the scale find."""
        return self._causes(obj, None) + self._scale_causes(obj)

    def validate_update(self, new: Object, old: Object) -> list[FieldError]:
        """Return the errors that the schema and the paths of the scale find in a change."""
        return self._causes(new, old) + self._scale_causes(new)

    def _causes(self, new: Object, old: Object | None) -> list[FieldError]:
        if self.schema is None:
            return []
        causes = self.schema.validate(new, old)
        for path, resource in self.schema.embedded_resources(new):
            metadata = resource.get("metadata")
            if isinstance(metadata, dict):
                causes += [cause.below(path) for cause in embedded_causes(metadata)]
        return causes

    def _scale_causes(self, obj: Object, *, with_spec: bool = True) -> list[FieldError]:
        """Return the errors of the numbers and the selector that the scale shows."""
        fields = self.scale_fields
        if fields is None:
            return []
        causes = []
        if with_spec:
            causes += _replicas_causes(obj, fields.spec_replicas)
        causes += _replicas_causes(obj, fields.status_replicas)
        if fields.selector:
            try:
                nested_field(obj, fields.selector, str)
            except NestedFieldError as error:
                path = f".{'.'.join(fields.selector)}"
                causes.append(FieldError.invalid(path, "", str(error)))
        return causes

    def warnings(self, new: Object, old: Object | None) -> list[str]:
        """Return a warning for each new finalizer that others may use too."""
        before = (old or {}).get("metadata", {}).get("finalizers") or ()
        added = set(new["metadata"].get("finalizers") or ()).difference(before)
        return [
            f"metadata.finalizers: {go_format.quote(finalizer)}: prefer a domain-qualified "
            f"finalizer name {'including a path (/) ' if '.' in finalizer else ''}"
            "to avoid accidental conflicts with other finalizer writers"
            for finalizer in sorted(added)
            if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS
        ]

    def status_warnings(self, new: Object, old: Object) -> list[str]:
        """Return the same warnings: finalizers can be written with the status too."""
        return self.warnings(new, old)

    def validate_status_update(self, new: Object, old: Object) -> list[FieldError]:
        """Return the errors that the schema and the paths of the scale find in a status."""
        causes = self.schema.validate_status(new, old) if self.schema else []
        return causes + self._scale_causes(new, with_spec=False)


def _has_whole_float(value: Any) -> bool:
    """Return True if a client wrote ``3.0``: upstream, this differs from the stored ``3``."""
    if isinstance(value, dict):
        return any(map(_has_whole_float, value.values()))
    if isinstance(value, list):
        return any(map(_has_whole_float, value))
    return isinstance(value, WholeFloat)


def _replicas_causes(obj: Object, names: tuple[str, ...]) -> list[FieldError]:
    path = f".{'.'.join(names)}"
    try:
        count = nested_field(obj, names, int) or 0
    except NestedFieldError as error:
        return [FieldError.invalid(path, 0, str(error))]
    if count < 0:
        return [FieldError.invalid(path, count, "should be a non-negative integer")]
    if count > _MOST_REPLICAS:
        detail = f"should be less than or equal to {_MOST_REPLICAS}"
        return [FieldError.invalid(path, count, detail)]
    return []


def _read_embedded(resource: ResourceType, embedded: Object, path: str) -> list[str]:
    """Read the header of an embedded resource, in place; return its unknown fields."""
    refused = f'{resource.kind} in version "{resource.version}" cannot be handled as a '
    for name in ("apiVersion", "kind"):
        if not isinstance(embedded.get(name, ""), str):
            error = FieldError.invalid(f"{path}.{name}", embedded[name], "must be a string")
            raise bad_request(f"{refused}{resource.kind}: {error}")
    if "metadata" not in embedded:
        return []
    try:
        unknown = read_metadata(embedded)
    except FailedRequestError as problem:
        error = FieldError.invalid(f"{path}.metadata", embedded["metadata"], problem.message)
        raise bad_request(f"{refused}{resource.kind}: {error}") from problem
    return [f"{path}.{name}" for name in unknown]


def _scale_fields(scale: Mapping[str, str] | None) -> ScaleFields | None:
    if scale is None:
        return None

    def names(path: str) -> tuple[str, ...]:
        return tuple(path.strip(".").split(".")) if path else ()

    return ScaleFields(
        names(scale["specReplicasPath"]),
        names(scale["statusReplicasPath"]),
        names(scale.get("labelSelectorPath", "")),
    )


def _selectable_reader(path: str) -> FieldReader:
    json_path = JsonPath(path)

    def read(obj: Object) -> str:
        found = json_path.find(obj)
        return as_text(found[0]) if found and found[0] is not None else ""

    return read


# -- printer columns


def _columns(declared: list[Mapping[str, Any]] | None) -> tuple[Column, ...]:
    """Return the columns of a Table; they end before the first whose path can't be read."""
    if not declared:
        return NAME, replace(AGE, type="date")
    columns = [NAME]
    for column in declared:
        path = column["jsonPath"]
        try:
            read = _cell_reader(JsonPath(path), column["type"])
        except JsonPathError as error:
            LOG.warning("Skipping printer columns from %r on: %s", column["name"], error)
            break
        shown = column.get("description") or (
            f"Custom resource definition column (in JSONPath format): {path}"
        )
        priority = column.get("priority", 0)
        columns.append(
            Column(column["name"], column["type"], read, column.get("format", ""), shown, priority)
        )
    return tuple(columns)


def _cell_reader(path: JsonPath, kind: str) -> Callable[[Object], Any]:
    def read(obj: Object) -> Any:
        try:
            found = path.find(obj)
        except JsonPathError:  # an index out of bounds, or a value of another type
            return None
        return _cell(found[0], kind) if found else None

    return read


def _cell(value: Any, kind: str) -> Any:
    """Return a value as a cell of the column's type; None if it has another type."""
    match kind:
        case "string":
            return as_text(value)
        case "date" if isinstance(value, str):
            return age_since(value)
        case "boolean" if isinstance(value, bool):
            return value
        case "integer" if is_number(value):
            return int(value) if -(2**63) <= value < 2**63 else -(2**63)  # as Go converts
        case "number" if is_number(value):
            return value
    return None


# -- the resources of a definition


def resources_of(
    crd: Object, read_again: ReadAgain, client: WebhookClient | None = None
) -> list[Resource]:
    """Return the resources of a CRD, one for each served version.

    ``read_again`` tells which objects were written before its schemas last changed: they are
    pruned and defaulted again when they are read. ``client`` calls the conversion webhook, if the
    CRD has one.
    """
    spec = crd["spec"]
    names = crd["status"]["acceptedNames"]
    group = spec["group"]
    stored = next(item for item in spec["versions"] if item["storage"])
    storage_version = stored["name"]
    shown_hash = storage_hash(f"{group}/{storage_version}", spec["names"]["kind"])
    schemas = {
        f"{group}/{item['name']}": item.get("schema", {}).get("openAPIV3Schema")
        for item in spec["versions"]
    }
    strategies = {item["name"]: CustomStrategy(item, schemas) for item in spec["versions"]}
    versions = _Versions({f"{group}/{name}": item for name, item in strategies.items()})
    converter = None
    if client is not None and spec.get("conversion", {}).get("strategy") == "Webhook":
        converter = WebhookConverter(client, crd, versions.pruned)
    store = functools.partial(versions.stored, api_version=f"{group}/{storage_version}")
    found = []
    for version in spec["versions"]:
        if not version["served"]:
            continue
        strategy, api_version = strategies[version["name"]], f"{group}/{version['name']}"
        is_stored = version["name"] == storage_version
        reads_own = is_stored or converter is not None
        found.append(
            Resource(
                group=group,
                version=version["name"],
                kind=names["kind"],
                plural=names["plural"],
                singular=names["singular"],
                list_kind=names["listKind"],
                short_names=tuple(names.get("shortNames", ())),
                categories=tuple(names.get("categories", ())),
                namespaced=spec["scope"] == "Namespaced",
                verbs=_VERBS,
                subresources=_subresources(group, version, names["kind"]),
                strategy=strategy,
                is_custom=True,
                deprecation=_deprecation(spec, version),
                storage_hash=shown_hash if stored["served"] else "",
                read=functools.partial(versions.read, api_version=api_version),
                read_again=read_again if reads_own else ReadAgain(sys.maxsize),
                write=None if is_stored else store,
                converter=converter,
            )
        )
    return found


class _Versions:
    """What the schemas of a definition's versions make of an object that crosses between them."""

    def __init__(self, strategies: Mapping[str, CustomStrategy]) -> None:
        """Use the strategies of all versions, by apiVersion."""
        self._strategies = strategies

    def pruned(self, obj: Object) -> Object:
        """Return an object as the schema of its own version reads it, without new defaults."""
        strategy = self._strategies.get(obj["apiVersion"])
        if strategy is None or strategy.schema is None:
            return obj
        pruned: Object
        pruned, _ = strategy.schema.prune(obj)
        return pruned

    def read(self, obj: Object, api_version: str) -> Object:
        """Return a stored object in a version: with the defaults of the stored version only."""
        obj = self._defaulted(self.pruned(obj))
        same = obj["apiVersion"] == api_version
        return obj if same else self.pruned({**obj, "apiVersion": api_version})

    def stored(self, obj: Object, api_version: str) -> Object:
        """Return an object in the stored version, with its defaults."""
        return self._defaulted(self.pruned({**obj, "apiVersion": api_version}))

    def _defaulted(self, obj: Object) -> Object:
        strategy = self._strategies.get(obj["apiVersion"])
        if strategy is None or strategy.schema is None:
            return obj
        defaulted: Object = strategy.schema.default(obj)
        return defaulted


def _deprecation(spec: Mapping[str, Any], version: Mapping[str, Any]) -> str:
    """Return the warning of a deprecated version; by default it names the newest other."""
    if not version.get("deprecated"):
        return ""
    if text := version.get("deprecationWarning"):
        return str(text)
    group, kind = spec["group"], spec["names"]["kind"]
    text = f"{group}/{version['name']} {kind} is deprecated"
    usable = [item["name"] for item in spec["versions"] if _is_usable(item)]
    newest = min([*usable, version["name"]], key=version_priority)
    return text if newest == version["name"] else f"{text}; use {group}/{newest} {kind}"


def _is_usable(version: Mapping[str, Any]) -> bool:
    return bool(version["served"] and not version.get("deprecated"))


def _subresources(group: str, version: Mapping[str, Any], kind: str) -> tuple[Subresource, ...]:
    declared = version.get("subresources", {})
    found = []
    if "status" in declared:
        own_kind = GroupVersionKind(group, version["name"], kind)
        found.append(Subresource("status", STATUS_VERBS, own_kind))
    if "scale" in declared:
        found.append(Subresource("scale", STATUS_VERBS, _SCALE))
    return tuple(found)
