"""Schemas: validation, defaults and pruning of objects.

    object ──► prune ──► default ──► validate ──► storage
                 │           │           │
              unknown     defaults    causes (FieldError)
               fields        └── all three by a StructuralSchema

The embedded API server does this to every custom resource. Built-in kinds have their own
validation, with the same `FieldError`.

>>> schema = StructuralSchema.parse({"type": "object", "properties": {"n": {"type": "integer"}}})
>>> [str(error) for error in schema.validate({"n": "x"})]
['n: Invalid value: "string": n in body must be of type integer: "string"']
"""

from clientgo.meta.validation.field_errors import (
    FieldError,
    FieldErrorReason,
    Verbatim,
    aggregate_message,
)
from clientgo.testcluster.schema.json_schema import JSONSchema
from clientgo.testcluster.schema.structural_schema import SchemaError, StructuralSchema

__all__ = [
    "FieldError",
    "FieldErrorReason",
    "JSONSchema",
    "SchemaError",
    "StructuralSchema",
    "Verbatim",
    "aggregate_message",
]
