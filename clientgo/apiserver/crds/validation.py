"""The validation of CustomResourceDefinitions.

Promises the rules and field paths of a real API server. Fields that all versions share are reported
where the first version of the API had them (``spec.validation``, ``spec.subresources``,
``spec.additionalPrinterColumns``), as upstream does.

Upstream: apiextensions ``pkg/apis/apiextensions/validation`` and ``v1/conversion.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clientgo.apiserver.crds.json_path import JsonPath
from clientgo.apiserver.resources.names import DNS_1035_LABEL, DNS_SUBDOMAIN, NameRule
from clientgo.apiserver.storage.storage import Object
from clientgo.schema import FieldError, SchemaError, StructuralSchema

Version = Mapping[str, Any]

CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
"""Keeps a definition that is being deleted until its objects are deleted."""

APPROVAL_ANNOTATION = "api-approved.kubernetes.io"
_PROTECTED_GROUPS = ("k8s.io", "kubernetes.io")
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("int32", "int64", "float", "double", "byte", "date", "date-time", "password")


def validate_crd(crd: Object) -> list[FieldError]:
    """Return the errors of a new definition."""
    spec, names = crd["spec"], crd["spec"].get("names", {})
    errors = []
    if crd["metadata"].get("name") != f"{names.get('plural')}.{spec.get('group', '')}":
        name = crd["metadata"].get("name", "")
        detail = 'must be spec.names.plural+"."+spec.group'
        errors.append(FieldError.invalid("metadata.name", name, detail))
    return errors + validate_crd_spec(crd)


def validate_crd_spec(crd: Object) -> list[FieldError]:
    """Return the errors of a definition's spec, new or changed."""
    spec, names = crd["spec"], crd["spec"].get("names", {})
    errors = _validate_group(crd)
    if spec.get("scope") not in ("Cluster", "Namespaced"):
        supported = ["Cluster", "Namespaced"]
        errors.append(FieldError.not_supported("spec.scope", spec.get("scope", ""), supported))
    errors += _validate_names(names, "spec.names")
    errors += _validate_conversion(spec.get("conversion", {}))
    if spec.get("preserveUnknownFields"):
        detail = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
            "spec.versions[*].schema instead"
        )
        errors.append(FieldError.invalid("spec.preserveUnknownFields", True, detail))
    return errors + _validate_versions(spec.get("versions", ()))


def validate_crd_change(new: Object, old: Object) -> list[FieldError]:
    """Return the errors of a change: immutable fields and stored versions."""
    errors = []
    before, after = old["spec"], new["spec"]
    immutable = [("spec.group", "group")]
    if is_condition_true(old, "Established"):
        immutable.append(("spec.scope", "scope"))
        errors += _immutable("spec.names.kind", after["names"], before["names"], "kind")
    for path, field in immutable:
        errors += _immutable(path, after, before, field)
    errors += _immutable("spec.names.plural", after["names"], before["names"], "plural")
    known = {version["name"] for version in after.get("versions", ())}
    for index, stored in enumerate(new.get("status", {}).get("storedVersions", ())):
        if stored not in known:
            detail = (
                f"missing from spec.versions; {stored} was previously a storage version, and must "
                "remain in spec.versions until a storage migration ensures no data remains "
                f"persisted in {stored} and removes {stored} from status.storedVersions"
            )
            path = f"status.storedVersions[{index}]"
            errors.append(FieldError.invalid(path, stored, detail))
    return errors


def _immutable(path: str, new: Object, old: Object, field: str) -> list[FieldError]:
    if new.get(field) == old.get(field):
        return []
    return [FieldError.invalid(path, new.get(field), "field is immutable")]


def is_condition_true(crd: Object, kind: str) -> bool:
    """Return True if a definition has a condition and its status is True."""
    conditions = crd.get("status", {}).get("conditions") or ()
    return any(item["type"] == kind and item["status"] == "True" for item in conditions)


def _validate_group(crd: Object) -> list[FieldError]:
    group = crd["spec"].get("group", "")
    if not group:
        return [FieldError.required("spec.group")]
    errors = _follows(DNS_SUBDOMAIN, group, "spec.group")
    if "." not in group:
        detail = "should be a domain with at least one dot"
        errors.append(FieldError.invalid("spec.group", group, detail))
    protected = any(group == item or group.endswith(f".{item}") for item in _PROTECTED_GROUPS)
    approval = crd["metadata"].get("annotations", {}).get(APPROVAL_ANNOTATION, "")
    path = f"metadata.annotations[{APPROVAL_ANNOTATION}]"
    if protected and not approval:
        detail = f'protected groups must have approval annotation "{APPROVAL_ANNOTATION}"'
        errors.append(FieldError.required(path, detail))
    elif protected and not approval.startswith(("https://", "unapproved")):
        detail = 'must be the URL of an approval, or begin with "unapproved"'
        errors.append(FieldError.invalid(path, approval, detail))
    return errors


def _validate_names(names: Object, path: str) -> list[FieldError]:
    errors = []
    for field in ("plural", "singular"):
        errors += _follows(DNS_1035_LABEL, names.get(field, ""), f"{path}.{field}")
    for field in ("kind", "listKind"):
        value = names.get(field, "")
        if not value:
            errors.append(FieldError.required(f"{path}.{field}"))
        else:
            errors += _follows(DNS_1035_LABEL, value, f"{path}.{field}", value.lower())
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        detail = "kind and listKind may not be the same"
        errors.append(FieldError.invalid(f"{path}.listKind", names["listKind"], detail))
    for field in ("shortNames", "categories"):
        for index, value in enumerate(names.get(field, ())):
            errors += _follows(DNS_1035_LABEL, value, f"{path}.{field}[{index}]")
    return errors


def _follows(rule: NameRule, value: str, path: str, checked: str | None = None) -> list[FieldError]:
    problems = rule.problems(value if checked is None else checked)
    return [FieldError.invalid(path, value, problem) for problem in problems]


def _validate_conversion(conversion: Object) -> list[FieldError]:
    path, strategy = "spec.conversion", conversion.get("strategy")
    if strategy not in ("None", "Webhook"):
        supported = ["None", "Webhook"]
        return [FieldError.not_supported(f"{path}.strategy", strategy or "", supported)]
    webhook = conversion.get("webhook", {})
    if strategy == "None":
        if webhook:
            detail = "should not be set when strategy is not set to Webhook"
            return [FieldError.forbidden(f"{path}.webhook", detail)]
        return []
    errors = []
    if not webhook.get("clientConfig"):
        detail = "required when strategy is set to Webhook"
        errors.append(FieldError.required(f"{path}.webhookClientConfig", detail))
    if not webhook.get("conversionReviewVersions"):
        errors.append(FieldError.required(f"{path}.conversionReviewVersions"))
    if not errors:
        detail = "conversion webhooks are not supported by this server; use the strategy None"
        errors.append(FieldError.forbidden(f"{path}.strategy", detail))
    return errors


# -- versions


def _validate_versions(versions: Sequence[Version]) -> list[FieldError]:
    errors = []
    names = [version.get("name", "") for version in versions]
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}]"
        errors += _follows(DNS_1035_LABEL, names[index], f"{path}.name")
        if not version.get("schema", {}).get("openAPIV3Schema"):
            detail = "schemas are required"
            errors.append(FieldError.required(f"{path}.schema.openAPIV3Schema", detail))
        if version.get("deprecationWarning") and not version.get("deprecated"):
            warning = version["deprecationWarning"]
            detail = "can only be set for deprecated versions"
            errors.append(FieldError.invalid(f"{path}.deprecationWarning", warning, detail))
    if names:
        errors += _follows(DNS_1035_LABEL, names[0], "spec.version")
    if len(set(names)) < len(names):
        detail = "must contain unique version names"
        errors.append(FieldError.invalid("spec.versions", names, detail))
    if sum(bool(version.get("storage")) for version in versions) != 1:
        detail = "must have exactly one version marked as storage version"
        errors.append(FieldError.invalid("spec.versions", names, detail))
    for path, schema in _distinct(versions, "schema", "spec.validation"):
        errors += _validate_schema(schema, f"{path}.openAPIV3Schema")
    for path, columns in _distinct(versions, "additionalPrinterColumns", None):
        errors += _validate_columns(columns, path)
    for path, subresources in _distinct(versions, "subresources", None):
        errors += _validate_scale(subresources, path)
    for path, fields in _distinct(versions, "selectableFields", None):
        errors += _validate_selectable(fields, path)
    return errors


def _distinct(
    versions: Sequence[Version], field: str, shared_path: str | None
) -> list[tuple[str, Any]]:
    """Return a field of the versions with its path: once, without index, if all are equal."""
    values = [version.get(field) for version in versions]
    if values and all(value == values[0] for value in values):
        return [(shared_path or f"spec.{field}", values[0])] if values[0] else []
    return [
        (f"spec.versions[{index}].{field}", value) for index, value in enumerate(values) if value
    ]


def _validate_schema(schema: Object, path: str) -> Sequence[FieldError]:
    content = schema.get("openAPIV3Schema")
    if not content:
        return ()
    try:
        StructuralSchema.parse(content, path=path)
    except SchemaError as error:
        return error.causes
    return ()


def _validate_columns(columns: Sequence[Object], path: str) -> list[FieldError]:
    errors = []
    for index, column in enumerate(columns):
        where = f"{path}[{index}]"
        kind, json_path = column.get("type", ""), column.get("jsonPath", "")
        if not column.get("name"):
            errors.append(FieldError.required(f"{where}.name"))
        if not kind:
            errors.append(FieldError.required(f"{where}.type"))
        elif kind not in _COLUMN_TYPES:
            detail = f"must be one of {','.join(_COLUMN_TYPES)}"
            errors.append(FieldError.invalid(f"{where}.type", kind, detail))
        if (form := column.get("format")) and form not in _COLUMN_FORMATS:
            detail = f"must be one of {','.join(_COLUMN_FORMATS)}"
            errors.append(FieldError.invalid(f"{where}.format", form, detail))
        if not json_path:
            errors.append(FieldError.required(f"{where}.JSONPath"))
        elif not _is_simple_path(json_path):
            detail = "must be a simple json path starting with ."
            errors.append(FieldError.invalid(f"{where}.JSONPath", json_path, detail))
    return errors


def _is_simple_path(path: str) -> bool:
    if not path.startswith("."):
        return False
    try:
        JsonPath(path)
    except ValueError:
        return False
    return True


def _validate_scale(subresources: Object, path: str) -> list[FieldError]:
    scale = subresources.get("scale")
    if scale is None:
        return []
    errors = []
    for field, root in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        value = scale.get(field, "")
        where = f"{path}.scale.{field}"
        if not value:
            errors.append(FieldError.required(where))
        elif not _is_path_under(value, root):
            detail = f"should be a json path under {root}"
            errors.append(FieldError.invalid(where, value, detail))
    selector = scale.get("labelSelectorPath")
    if selector and not (_is_path_under(selector, ".spec") or _is_path_under(selector, ".status")):
        detail = "should be a json path under either .spec or .status"
        where = f"{path}.scale.labelSelectorPath"
        errors.append(FieldError.invalid(where, selector, detail))
    return errors


def _is_path_under(path: str, root: str) -> bool:
    """Return True if a path of plain fields begins with ``root``."""
    return path.startswith(f"{root}.") and "[" not in path


def _validate_selectable(fields: Sequence[Object], path: str) -> list[FieldError]:
    errors = []
    for index, field in enumerate(fields):
        json_path = field.get("jsonPath", "")
        if not json_path:
            errors.append(FieldError.required(f"{path}[{index}].jsonPath"))
        elif not _is_simple_path(json_path) or json_path.startswith(".metadata"):
            detail = "must be a simple path to a field outside of metadata"
            errors.append(FieldError.invalid(f"{path}[{index}].jsonPath", json_path, detail))
    return errors
