"""Writing the status of an object that another controller is about."""

from __future__ import annotations

from typing import Any

from clientgo.operator.client import LiveClient, merge_from


def write_status(client: LiveClient, obj: Any, status: Any) -> None:
    """Write a status; no request if the object has it."""
    wanted = type(obj)(metadata=obj.metadata, spec=obj.spec, status=status)
    patch = merge_from(obj, wanted).get("status")
    if patch:
        client.status.patch(obj, {"status": patch})
