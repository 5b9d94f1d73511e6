"""The columns of built-in kinds in Tables, as kubectl users know them.

Promises: each kind has the columns, in the order and under the names, that kubectl prints for it.
Descriptions are the project's own.

Upstream: ``pkg/printers/internalversion/printers.go``. There each kind has a function that fills a
row; here a kind is a tuple of columns, and a column a function of the object.
"""

from __future__ import annotations

from collections.abc import Mapping

from clientgo.apiserver.kinds.columns.core_columns import CORE_COLUMNS
from clientgo.apiserver.kinds.columns.network_columns import NETWORK_COLUMNS
from clientgo.apiserver.kinds.columns.pod_columns import POD_COLUMNS
from clientgo.apiserver.kinds.columns.policy_columns import POLICY_COLUMNS
from clientgo.apiserver.kinds.columns.storage_columns import STORAGE_COLUMNS
from clientgo.apiserver.kinds.columns.workload_columns import WORKLOAD_COLUMNS
from clientgo.apiserver.resources.columns import CREATED_AT, NAME, Column

_COLUMNS: Mapping[str, tuple[Column, ...]] = {
    **CORE_COLUMNS,
    **NETWORK_COLUMNS,
    **POD_COLUMNS,
    **POLICY_COLUMNS,
    **STORAGE_COLUMNS,
    **WORKLOAD_COLUMNS,
}


def columns_for(api_version: str, plural: str) -> tuple[Column, ...]:
    """The columns of a built-in resource; name and creation time if it has none of its own."""
    return _COLUMNS.get(f"{api_version}/{plural}", (NAME, CREATED_AT))
