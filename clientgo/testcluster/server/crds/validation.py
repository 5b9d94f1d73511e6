"""The validation of CustomResourceDefinitions.

Promises the rules and field paths of a real API server. Fields that all versions share are reported
where the first version of the API had them (``spec.validation``, ``spec.subresources``,
``spec.additionalPrinterColumns``), as upstream does.

Upstream: apiextensions ``pkg/apis/apiextensions/validation`` and ``v1/conversion.go``.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from clientgo.meta.validation import field_path
from clientgo.meta.validation.duplicates import duplicates
from clientgo.meta.validation.field_errors import aggregate_message
from clientgo.testcluster.schema import FieldError, JSONSchema, SchemaError, StructuralSchema
from clientgo.testcluster.schema.pruning import RESOURCE_FIELDS
from clientgo.testcluster.schema.rules import rule_path
from clientgo.testcluster.server.crds.parsed_schemas import parse_schema
from clientgo.testcluster.server.crds.webhook_conversion import REVIEW_VERSIONS
from clientgo.testcluster.server.objects.metadata import embedded_causes
from clientgo.testcluster.server.resources.names import DNS_1035_LABEL, DNS_SUBDOMAIN, NameRule
from clientgo.testcluster.server.resources.webhook_addresses import (
    validate_ca_bundle,
    validate_client_config,
)
from clientgo.testcluster.server.storage.storage import Object
from clientgo.util.text.formats import format_check
from clientgo.util.text.request_uri import RequestURIError, parse_request_uri

Version = Mapping[str, Any]

CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
"""Keeps a definition that is being deleted until its objects are deleted."""

APPROVAL_ANNOTATION = "api-approved.kubernetes.io"
_PROTECTED_GROUPS = ("k8s.io", "kubernetes.io")
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("int32", "int64", "float", "double", "byte", "date", "date-time", "password")
_WARNING_LENGTH = 256
_MAX_SELECTABLE = 8


def validate_crd(crd: Object) -> list[FieldError]:
    """Return the errors of a new definition."""
    spec, names = crd["spec"], crd["spec"].get("names", {})
    errors = []
    if crd["metadata"].get("name") != f"{names.get('plural', '')}.{spec.get('group', '')}":
        name = crd["metadata"].get("name", "")
        detail = 'must be spec.names.plural+"."+spec.group'
        errors.append(FieldError.invalid("metadata.name", name, detail))
    errors += _validate_spec(spec)
    errors += _validate_stored_versions(crd)
    errors += _validate_approval(crd, None)
    return errors + _validate_preserve(spec)


def validate_crd_update(new: Object, old: Object) -> list[FieldError]:
    """Return the errors of a changed definition, and of the change."""
    before, after = old["spec"], new["spec"]
    established = is_condition_true(old, "Established")
    errors = _validate_spec(after)
    if established:
        errors += _immutable("spec.scope", after, before, "scope")
        errors += _immutable("spec.names.kind", after["names"], before["names"], "kind")
    errors += _immutable("spec.group", after, before, "group")
    errors += _immutable("spec.names.plural", after["names"], before["names"], "plural")
    errors += _validate_stored_versions(new)
    errors += _validate_approval(new, old)
    if established and not _validate_conversion_trust(before):
        errors += _validate_conversion_trust(after)
    return errors + _validate_preserve(after)


def validate_crd_status(crd: Object) -> list[FieldError]:
    """Return the errors of a definition's status."""
    return _validate_names(crd.get("status", {}).get("acceptedNames", {}), "status.acceptedNames")


def unknown_formats(crd: Object) -> list[str]:
    """Return the formats in the schemas of a definition that are not enforced, each once."""
    schemas = (_schema_of(version) for version in crd["spec"].get("versions") or ())
    parts = (part for schema in schemas if schema for part in _root_of(schema).parts())
    return list(dict.fromkeys(part.format for part in parts if part.format and _is_unknown(part)))


def _root_of(schema: Object) -> JSONSchema:
    """Return a schema as a tree, also one that is not valid (any more)."""
    try:
        return parse_schema(schema).root
    except SchemaError:
        return JSONSchema.parse(schema)


_NUMBER_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}


def _is_unknown(schema: JSONSchema) -> bool:
    """Return True if a node has a format that is not enforced for its type."""
    if schema.type and schema.type != "string":
        return schema.format not in _NUMBER_FORMATS.get(schema.type, ())
    return format_check(schema.format or "") is None


def _validate_stored_versions(crd: Object) -> list[FieldError]:
    path, stored = "status.storedVersions", crd.get("status", {}).get("storedVersions") or []
    if not stored:
        return [FieldError.invalid(path, stored, "must have at least one stored version")]
    versions = crd["spec"].get("versions") or ()
    errors = [
        FieldError.invalid(path, stored, f"must have the storage version {version['name']}")
        for version in versions
        if version.get("storage") and version["name"] not in stored
    ]
    known = {version["name"] for version in versions}
    for index, name in enumerate(stored):
        if name not in known:
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must "
                "remain in spec.versions until a storage migration ensures no data remains "
                f"persisted in {name} and removes {name} from status.storedVersions"
            )
            errors.append(FieldError.invalid(f"{path}[{index}]", name, detail))
    return errors


def _immutable(path: str, new: Object, old: Object, field: str) -> list[FieldError]:
    if new.get(field) == old.get(field):
        return []
    return [FieldError.invalid(path, new.get(field), "field is immutable")]


def is_condition_true(crd: Object, kind: str) -> bool:
    """Return True if a definition has a condition and its status is True."""
    conditions = crd.get("status", {}).get("conditions") or ()
    return any(item["type"] == kind and item["status"] == "True" for item in conditions)


def _validate_spec(spec: Object) -> list[FieldError]:
    names, versions = spec.get("names", {}), spec.get("versions") or ()
    preserves = bool(spec.get("preserveUnknownFields"))
    errors = _validate_group(spec.get("group", ""))
    errors += _validate_choice(spec.get("scope", ""), ("Cluster", "Namespaced"), "spec.scope")
    if preserves and any(_has_defaults(_schema_of(version)) for version in versions):
        detail = "must be false in order to use defaults in the schema"
        errors.append(FieldError.invalid("spec.preserveUnknownFields", True, detail))
    errors += _validate_versions(versions)
    errors += [
        FieldError.required(f"spec.names.{field}")
        for field in ("plural", "singular", "kind", "listKind")
        if not names.get(field)
    ]
    errors += _validate_names(names, "spec.names")
    errors += _validate_shared(versions)
    conversion = spec.get("conversion", {})
    if preserves and conversion.get("strategy") != "None":
        detail = "must be None if spec.preserveUnknownFields is true"
        strategy = conversion.get("strategy", "")
        errors.append(FieldError.invalid("spec.conversion.strategy", strategy, detail))
    return errors + _validate_conversion(conversion)


def _validate_group(group: str) -> list[FieldError]:
    if not group:
        return [FieldError.required("spec.group")]
    if errors := _follows(DNS_SUBDOMAIN, group, "spec.group"):
        return errors
    if "." not in group:
        detail = "should be a domain with at least one dot"
        return [FieldError.invalid("spec.group", group, detail)]
    return []


def _validate_choice(value: str, supported: Sequence[str], path: str) -> list[FieldError]:
    if not value:
        return [FieldError.required(path)]
    return [] if value in supported else [FieldError.not_supported(path, value, supported)]


class _Approval(enum.Enum):
    """What the annotation says that groups of the Kubernetes project must have."""

    MISSING = "missing"
    APPROVED = "approved"
    BYPASSED = "bypassed"
    INVALID = "invalid"


def _approval_of(crd: Object) -> _Approval:
    text = crd["metadata"].get("annotations", {}).get(APPROVAL_ANNOTATION, "")
    if not text:
        return _Approval.MISSING
    if text.startswith("unapproved"):
        return _Approval.BYPASSED
    try:
        uri = parse_request_uri(text)
    except RequestURIError:
        return _Approval.INVALID
    return _Approval.APPROVED if uri.host and uri.scheme else _Approval.INVALID


def _validate_approval(crd: Object, old: Object | None) -> list[FieldError]:
    group = crd["spec"].get("group", "")
    if not any(group == item or group.endswith(f".{item}") for item in _PROTECTED_GROUPS):
        return []
    state = _approval_of(crd)
    if old is not None and state is _approval_of(old):
        return []
    path = f"metadata.annotations[{APPROVAL_ANNOTATION}]"
    wanted = f'protected groups must have approval annotation "{APPROVAL_ANNOTATION}"'
    match state:
        case _Approval.MISSING:
            return [FieldError.required(path, wanted)]
        case _Approval.INVALID:
            text = crd["metadata"]["annotations"][APPROVAL_ANNOTATION]
            detail = f'{wanted} with either a URL or a reason starting with "unapproved"'
            return [FieldError.invalid(path, text, detail)]
    return []


def _validate_preserve(spec: Object) -> list[FieldError]:
    if not spec.get("preserveUnknownFields"):
        return []
    detail = (
        "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
        "spec.versions[*].schema instead"
    )
    return [FieldError.invalid("spec.preserveUnknownFields", True, detail)]


def _validate_names(names: Object, path: str) -> list[FieldError]:
    errors = []
    for field in ("plural", "singular", "kind", "listKind"):
        value = names.get(field, "")
        if value and field in ("plural", "singular"):
            errors += _follows(DNS_1035_LABEL, value, f"{path}.{field}")
        elif value:
            errors += _follows(DNS_1035_LABEL, value, f"{path}.{field}", mixed_case=True)
    for index, value in enumerate(names.get("shortNames", ())):
        errors += _follows(DNS_1035_LABEL, value, f"{path}.shortNames[{index}]")
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        detail = "kind and listKind may not be the same"
        errors.append(FieldError.invalid(f"{path}.listKind", names["listKind"], detail))
    for index, value in enumerate(names.get("categories", ())):
        errors += _follows(DNS_1035_LABEL, value, f"{path}.categories[{index}]")
    return errors


def _follows(
    rule: NameRule, value: str, path: str, *, mixed_case: bool = False
) -> list[FieldError]:
    problems = rule.problems(value.lower() if mixed_case else value)
    if not problems:
        return []
    prefix = "may have mixed case, but should otherwise match: " if mixed_case else ""
    return [FieldError.invalid(path, value, prefix + ",".join(problems))]


# -- conversion


def _validate_conversion(conversion: Object) -> list[FieldError]:
    path, strategy = "spec.conversion", conversion.get("strategy", "")
    errors = _validate_choice(strategy, ("None", "Webhook"), f"{path}.strategy")
    webhook = conversion.get("webhook") or {}
    config, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions")
    if strategy != "Webhook":
        return errors + [
            FieldError.forbidden(
                f"{path}.{field}", "should not be set when strategy is not set to Webhook"
            )
            for field, value in (
                ("webhookClientConfig", config is not None),
                ("conversionReviewVersions", versions),
            )
            if value
        ]
    if config is None:
        detail = "required when strategy is set to Webhook"
        errors.append(FieldError.required(f"{path}.webhookClientConfig", detail))
    else:
        errors += validate_client_config(config, f"{path}.webhookClientConfig")
    return errors + _validate_review_versions(versions or [], f"{path}.conversionReviewVersions")


def _validate_conversion_trust(spec: Object) -> list[FieldError]:
    """Return the error of the authorities that a conversion webhook is trusted by."""
    webhook = spec.get("conversion", {}).get("webhook") or {}
    bundle = (webhook.get("clientConfig") or {}).get("caBundle")
    path = "spec.conversion.webhookClientConfig.caBundle"
    return validate_ca_bundle(bundle, path) if bundle else []


def _validate_review_versions(versions: Sequence[str], path: str) -> list[FieldError]:
    if not versions:
        return [FieldError.required(path)]
    errors = []
    repeated = duplicates(versions)
    for index, version in enumerate(versions):
        where = f"{path}[{index}]"
        if index in repeated:
            errors.append(FieldError.invalid(where, version, "duplicate version"))
        else:
            errors += _follows(DNS_1035_LABEL, version, where)
    if not set(versions) & set(REVIEW_VERSIONS):
        detail = f"must include at least one of {', '.join(REVIEW_VERSIONS)}"
        errors.append(FieldError.invalid(path, versions, detail))
    return errors


# -- versions

# What all versions share, upstream moves out of them; hence the two functions and the paths.


def _validate_versions(versions: Sequence[Version]) -> list[FieldError]:
    """Return the errors of each version, and those of their names and flags together."""
    names = [version.get("name", "") for version in versions]
    own = [field for field in _PARTS if not _is_shared(versions, field)]
    errors = []
    if not _is_shared(versions, "schema"):
        errors += [
            FieldError.required(f"spec.versions[{index}].schema.openAPIV3Schema")
            for index, version in enumerate(versions)
            if _schema_of(version) is None
        ]
    elif versions and _schema_of(versions[0]) is None:
        errors += [
            FieldError.required(f"spec.versions[{index}].schema.openAPIV3Schema")
            for index in range(len(versions))
        ]
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}]"
        errors += _follows(DNS_1035_LABEL, names[index], f"{path}.name")
        errors += _validate_deprecation(version, path)
        errors += _validate_parts(
            {field: version.get(field) for field in own},
            path,
            has_status="status" in (version.get("subresources") or {}),
            is_shared=False,
        )
    if len(set(names)) < len(names):
        detail = "must contain unique version names"
        errors.append(FieldError.invalid("spec.versions", names, detail))
    if sum(bool(version.get("storage")) for version in versions) != 1:
        detail = "must have exactly one version marked as storage version"
        errors.append(FieldError.invalid("spec.versions", names, detail))
    if names and names[0]:
        errors += _follows(DNS_1035_LABEL, names[0], "spec.version")
    return errors


def _validate_shared(versions: Sequence[Version]) -> list[FieldError]:
    """Return the errors of what all versions have in common."""
    if not versions:
        return []
    shared = {field: versions[0].get(field) for field in _PARTS if _is_shared(versions, field)}
    any_status = any("status" in (item.get("subresources") or {}) for item in versions)
    return _validate_parts(shared, "spec", has_status=any_status, is_shared=True)


_PARTS = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")


def _is_shared(versions: Sequence[Version], field: str) -> bool:
    """Return True if a field is the same in every version."""
    return all((item.get(field) or None) == (versions[0].get(field) or None) for item in versions)


def _schema_of(version: Version) -> Object | None:
    schema: Object | None = (version.get("schema") or {}).get("openAPIV3Schema")
    return schema


def _has_defaults(schema: Any) -> bool:
    """Return True if a schema, or one inside of it, has a default."""
    if isinstance(schema, list):
        return any(map(_has_defaults, schema))
    if not isinstance(schema, dict):
        return False
    return schema.get("default") is not None or any(map(_has_defaults, schema.values()))


def _validate_deprecation(version: Version, path: str) -> list[FieldError]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return []
    problems = []
    if not version.get("deprecated"):
        problems.append("can only be set for deprecated versions")
    else:
        if len(warning.encode()) > _WARNING_LENGTH:
            problems.append(f"must be <= {_WARNING_LENGTH} characters long")
        if not warning:
            problems.append("must not be an empty string")
        if not warning.isprintable():
            index = next(index for index, char in enumerate(warning) if not char.isprintable())
            at = len(warning[:index].encode())
            problems.append(
                "must only contain printable UTF-8 characters; "
                f"non-printable character found at index {at}"
            )
    return [FieldError.invalid(f"{path}.deprecationWarning", warning, item) for item in problems]


def _validate_parts(
    parts: Mapping[str, Any], path: str, *, has_status: bool, is_shared: bool
) -> list[FieldError]:
    """Return the errors of the parts of a version, or of those that all versions share."""
    schema = (parts.get("schema") or {}).get("openAPIV3Schema")
    schema_path = f"{path}.{'validation' if is_shared else 'schema'}.openAPIV3Schema"
    errors: list[FieldError] = []
    if schema is not None:
        errors += _validate_schema(schema, schema_path, has_status=has_status)
    errors += _validate_scale(parts.get("subresources") or {}, f"{path}.subresources")
    errors += _validate_columns(
        parts.get("additionalPrinterColumns") or (), f"{path}.additionalPrinterColumns"
    )
    if fields := parts.get("selectableFields"):
        errors += _validate_selectable(fields, schema, path)
    return errors


def _validate_schema(schema: Object, path: str, *, has_status: bool) -> Sequence[FieldError]:
    try:
        parsed = parse_schema(schema, path=path, has_status=has_status)
    except SchemaError as error:
        return error.causes
    return list(_metadata_of_defaults(parsed.root.as_resource(), path, _resource, inside=False))


_Holder = Callable[[Any], Object]
"""Returns the resource that a value is part of."""


def _resource(value: Object) -> Object:
    return {"apiVersion": "validation/v1", "kind": "Validation", **value}


def _metadata_of_defaults(
    schema: JSONSchema, path: str, holder: _Holder, *, inside: bool
) -> Iterator[FieldError]:
    """Yield the defaults that make the metadata of a resource invalid, or of one inside of it.

    ``inside`` says that the schema is of metadata, or of a kind or version.
    """
    if schema.embedded_resource:
        holder, inside = _resource, False
    where = f"{path}.default"
    if schema.default is not None and inside:
        resource = holder(schema.default)
        causes = [*_identity_causes(resource), *_metadata_causes(resource)]
        if causes:
            detail = f"must result in valid metadata: {aggregate_message(causes)}"
            yield FieldError.invalid(where, schema.default, detail)
    elif schema.default is not None:
        found = StructuralSchema(schema, None).embedded_resources(schema.default)
        for at, resource in found:
            yield from (cause.below(at).below(where) for cause in _metadata_causes(resource))
    if schema.item_schema is not None:
        of_items = partial(_in_list, holder)
        yield from _metadata_of_defaults(
            schema.item_schema, f"{path}.items", of_items, inside=inside
        )
    for name, member in schema.properties.items():
        yield from _metadata_of_defaults(
            member,
            field_path.key(f"{path}.properties", name),
            partial(_in_object, holder, name),
            inside=inside or (schema.embedded_resource and name in RESOURCE_FIELDS),
        )


def _in_list(holder: _Holder, value: Any) -> Object:
    return holder([value])


def _in_object(holder: _Holder, name: str, value: Any) -> Object:
    return holder({name: value})


def _identity_causes(resource: Object) -> list[FieldError]:
    return StructuralSchema(JSONSchema(embedded_resource=True), None).validate(resource)


def _metadata_causes(resource: Object) -> list[FieldError]:
    metadata = resource.get("metadata")
    return embedded_causes(metadata) if isinstance(metadata, dict) else []


def _validate_columns(columns: Sequence[Object], path: str) -> list[FieldError]:
    errors = []
    for index, column in enumerate(columns):
        where = f"{path}[{index}]"
        kind, json_path = column.get("type", ""), column.get("jsonPath", "")
        types = f"must be one of {','.join(_COLUMN_TYPES)}"
        if not column.get("name"):
            errors.append(FieldError.required(f"{where}.name"))
        if not kind:
            errors.append(FieldError.required(f"{where}.type", types))
        elif kind not in _COLUMN_TYPES:
            errors.append(FieldError.invalid(f"{where}.type", kind, types))
        if (form := column.get("format")) and form not in _COLUMN_FORMATS:
            detail = f"must be one of {','.join(_COLUMN_FORMATS)}"
            errors.append(FieldError.invalid(f"{where}.format", form, detail))
        if not json_path:
            errors.append(FieldError.required(f"{where}.JSONPath"))
        else:
            errors += _simple_path(json_path, f"{where}.JSONPath")
    return errors


def _simple_path(json_path: str, path: str) -> list[FieldError]:
    """Return the error of a path that is not absolute; nothing else is checked, as upstream."""
    if json_path.startswith("."):
        return []
    detail = "must be a simple json path starting with ."
    return [FieldError.invalid(path, json_path, detail)]


_SCALE_PATHS = (
    ("specReplicasPath", (".spec.",), "should be a json path under .spec"),
    ("statusReplicasPath", (".status.",), "should be a json path under .status"),
    (
        "labelSelectorPath",
        (".spec.", ".status."),
        "should be a json path under either .spec or .status",
    ),
)


def _validate_scale(subresources: Object, path: str) -> list[FieldError]:
    scale = subresources.get("scale")
    if scale is None:
        return []
    errors = []
    for field, roots, detail in _SCALE_PATHS:
        value, where = scale.get(field, ""), f"{path}.scale.{field}"
        if not value:
            if field != "labelSelectorPath":
                errors.append(FieldError.required(where))
        elif problems := _simple_path(value, where):
            errors += problems
        elif not value.startswith(roots):
            errors.append(FieldError.invalid(where, value, detail))
    return errors


def _validate_selectable(
    fields: Sequence[Object], schema: Object | None, path: str
) -> list[FieldError]:
    where = f"{path}.selectableFields"
    if schema is None:
        return [FieldError.invalid(where, "", "may only be set when there is a schema")]
    try:
        root = JSONSchema.parse(schema)
    except ValueError:
        return []  # an error of the schema
    errors = []
    seen: set[str] = set()
    for index, field in enumerate(fields):
        at, json_path = f"{where}[{index}].jsonPath", field.get("jsonPath", "")
        if not json_path:
            errors.append(FieldError.required(at))
            continue
        try:
            found, target = rule_path.follow(json_path, root, quoted_names=False)
        except rule_path.RulePathError as error:
            errors.append(FieldError.invalid(at, json_path, f"is an invalid path: {error}"))
            continue
        if found.partition(".")[0] == "metadata":
            detail = "must not point to fields in metadata"
            errors.append(FieldError.invalid(at, json_path, detail))
        if target.type not in ("string", "boolean", "integer"):
            detail = (
                "must point to a field of type string, boolean or integer. Enum string fields and "
                "strings with formats are allowed."
            )
            errors.append(FieldError.invalid(at, json_path, detail))
        if found in seen:
            errors.append(FieldError.duplicate(at, json_path))
        seen.add(found)
    if len(seen) > _MAX_SELECTABLE:
        errors.append(FieldError.too_many(where, len(seen), _MAX_SELECTABLE))
    return errors
