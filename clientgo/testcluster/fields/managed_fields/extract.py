"""What one manager has applied to an object, read back from its managed fields.

Promises: the result can be changed and applied again, which gives up nothing that the manager owns.

Upstream: ``ExtractInto`` in ``k8s.io/apimachinery/pkg/util/managedfields``.
"""

from __future__ import annotations

from clientgo.meta.json_values import JSONObject, copy_json
from clientgo.meta.nesting import refuses_too_deep
from clientgo.testcluster.fields.managed_fields.entries import APPLY, ManagedFieldsError
from clientgo.testcluster.fields.managed_fields.fields.field_set import FieldSet
from clientgo.testcluster.fields.managed_fields.fields.field_types import FieldType
from clientgo.testcluster.fields.managed_fields.fields.typed_values import check_value
from clientgo.testcluster.fields.managed_fields.merge import extract_fields


@refuses_too_deep(ManagedFieldsError)
def extract_applied(
    obj: JSONObject, field_type: FieldType, manager: str, subresource: str = ""
) -> JSONObject:
    """Return apiVersion, kind and the fields that `manager` owns by applying them.

    Empty if it owns none. The name has no owner; add it before applying again. Raises
    `TypedValueError` if `obj` is not of `field_type`, ``ValueError`` if the entry is malformed.
    """
    check_value(obj, field_type)
    for entry in obj.get("metadata", {}).get("managedFields") or []:
        if (
            entry.get("manager") == manager
            and entry.get("operation") == APPLY
            and entry.get("subresource", "") == subresource
        ):
            fields = FieldSet.from_fields_v1(entry.get("fieldsV1") or {})
            extracted = extract_fields(obj, fields.leaves(), field_type)
            identity = {name: obj[name] for name in ("apiVersion", "kind") if name in obj}
            result: JSONObject = copy_json(identity | extracted)
            return result
    return {}
