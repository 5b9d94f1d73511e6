"""Owners of fields in a fake: server-side apply as a server does it.

Promises the ``managedFields``, the merging and the conflicts of an API server, by the published
types of the built-in kinds. Custom resources have no schema here: their lists are replaced whole.

Upstream: client-go ``testing`` field-managed ObjectTracker.
"""

from __future__ import annotations

from clientgo.meta.json_values import JSONObject
from clientgo.testcluster.fields.managed_fields import DEDUCED, FieldManager, FieldType
from clientgo.testcluster.schema.field_types import builtin_field_type
from clientgo.util.clock import Clock


class FieldOwnership:
    """Keeps the owners of the fields of every kind. Stateless, thread-safe.

    ``live`` is the stored object, None if there is none.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def update(
        self, live: JSONObject | None, new: JSONObject, writer: str, subresource: str = ""
    ) -> JSONObject:
        """``new`` with its owners, after ``writer`` has written it."""
        return self._manager(new, subresource).update(live or _empty(new), new, writer)

    def apply(
        self,
        live: JSONObject | None,
        config: JSONObject,
        writer: str,
        subresource: str = "",
        *,
        force: bool = False,
    ) -> JSONObject:
        """``live`` with ``config`` applied to it; raises as :meth:`FieldManager.apply` does."""
        manager = self._manager(config, subresource)
        return manager.apply(live or _empty(config), config, writer, force=force)

    def _manager(self, obj: JSONObject, subresource: str) -> FieldManager:
        return FieldManager(
            api_version=obj["apiVersion"],
            kind=obj["kind"],
            types=_field_type,
            subresource=subresource,
            now=self._clock.time,
        )


def _field_type(api_version: str, kind: str) -> FieldType:
    return builtin_field_type(api_version, kind) or DEDUCED


def _empty(like: JSONObject) -> JSONObject:
    return {"apiVersion": like["apiVersion"], "kind": like["kind"]}
