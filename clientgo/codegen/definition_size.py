"""How large a definition may be, and how to make one smaller.

Promises that a definition which no API server can store is an error before it is sent, and that
one which only ``kubectl apply`` of the old kind refuses is a warning.

Upstream: controller-tools' ``maxDescLen``.
"""

from __future__ import annotations

from typing import Any, Final

from clientgo.util.copies import CopyableError

MAX_CLIENT_SIDE_APPLY: Final = 262_144
"""Bytes of all annotations of an object; client-side apply keeps the whole object in one."""
MAX_STORED: Final = 1_572_864
"""Bytes of a request that etcd takes, 1.5 MiB."""


class DefinitionTooLargeError(CopyableError, ValueError):
    """No API server stores a definition of this size."""


def shorten_descriptions(definition: dict[str, Any], limit: int) -> None:
    """Cut every description in a definition, in place; 0 removes them.

    Names of properties are left alone, ``description`` among them.
    """
    for version in definition["spec"]["versions"]:
        _shorten(version["schema"]["openAPIV3Schema"], limit)


def size_warning(name: str, text: str) -> str:
    """What to know about the size of a definition's file; empty if nothing.

    Raises :class:`DefinitionTooLargeError`.
    """
    size = len(text.encode())
    if size > MAX_STORED:
        raise DefinitionTooLargeError(
            f"the definition {name} has {size} bytes, and no API server stores more than "
            f"{MAX_STORED}; shorten its descriptions, or mark large fields UNCHECKED"
        )
    if size > MAX_CLIENT_SIDE_APPLY:
        return (
            f"the definition {name} has {size} bytes: client-side kubectl apply refuses more than "
            f"{MAX_CLIENT_SIDE_APPLY}; use server-side apply, or shorten its descriptions"
        )
    return ""


def _shorten(schema: Any, limit: int) -> None:
    if not isinstance(schema, dict):
        return
    description = schema.get("description")
    if description is not None:
        if limit:
            schema["description"] = description[:limit]
        else:
            del schema["description"]
    for property_ in schema.get("properties", {}).values():
        _shorten(property_, limit)
    for below in ("items", "additionalProperties"):
        _shorten(schema.get(below), limit)
