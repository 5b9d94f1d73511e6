"""Server-side apply: every field of an object knows who owns it.

::

    live object ──┐
                  ├─ FieldManager.apply / .update ──► object to store, with its managedFields
    what was sent ┘            │
                         OwnershipRules: merge, prune, compare, conflicts
                               │
                           FieldType: what is one field, and what is made of several

Everything works on plain JSON values and changes none. Types come from `DEDUCED`, or from
`clientgo.testcluster.schema.field_types` for built-in kinds and custom resources.

Upstream: ``k8s.io/apimachinery/pkg/util/managedfields`` and
``sigs.k8s.io/structured-merge-diff``.
"""

from clientgo.testcluster.fields.managed_fields.conflicts import ApplyConflictError, FieldConflict
from clientgo.testcluster.fields.managed_fields.entries import ManagedFieldsError, decode_managers
from clientgo.testcluster.fields.managed_fields.field_manager import FieldManager
from clientgo.testcluster.fields.managed_fields.fields.field_path import (
    Path,
    field_path,
    format_path,
)
from clientgo.testcluster.fields.managed_fields.fields.field_set import FieldSet
from clientgo.testcluster.fields.managed_fields.fields.field_types import (
    DEDUCED,
    UNTYPED,
    FieldType,
    ListType,
    MapType,
    ScalarKind,
)
from clientgo.testcluster.fields.managed_fields.fields.typed_values import (
    TypedValueError,
    check_value,
)
from clientgo.testcluster.fields.managed_fields.merge import merge_values
from clientgo.testcluster.fields.managed_fields.ownership import Convert, rewritten

__all__ = [
    "FieldManager",
    "ApplyConflictError",
    "FieldConflict",
    "TypedValueError",
    "ManagedFieldsError",
    "decode_managers",
    "merge_values",
    "Convert",
    "rewritten",
    "check_value",
    "FieldSet",
    "Path",
    "field_path",
    "format_path",
    "FieldType",
    "MapType",
    "ListType",
    "ScalarKind",
    "DEDUCED",
    "UNTYPED",
]
