"""The parsed schemas of definitions, which are checked, read for warnings and then served.

Promises: a schema is parsed once for all of this. The last few are remembered. Thread-safe.
"""

from __future__ import annotations

import threading
from typing import Any, Final

import msgspec

from clientgo.meta.repeated_values import value_key
from clientgo.testcluster.schema import StructuralSchema
from clientgo.testcluster.schema.structural_schema import SCHEMA_PATH

_MOST: Final = 4
"""Schemas that are remembered: the versions of a definition. One may have 3 MiB of JSON."""

_lock = threading.Lock()
_valid: dict[tuple[bytes, bool], StructuralSchema] = {}
"""By the encoded schema, and if it was checked as that of a version with a status subresource."""


def parse_schema(
    schema: Any, *, path: str = SCHEMA_PATH, has_status: bool = False
) -> StructuralSchema:
    """Check a schema, as `StructuralSchema.parse`; return an equal one that was parsed before.

    Raises:
        SchemaError: it is not valid.
    """
    encoded = value_key(schema)
    with _lock:
        found = _valid.get((encoded, has_status)) or _valid.get((encoded, True))
    if found is not None:
        return found
    # The result keeps parts of what it is parsed from, and the caller may change those.
    own = msgspec.json.decode(encoded) if encoded else schema
    parsed = StructuralSchema.parse(own, path=path, has_status=has_status)
    if encoded:
        with _lock:
            while len(_valid) >= _MOST:
                del _valid[next(iter(_valid))]
            _valid[encoded, has_status] = parsed
    return parsed
