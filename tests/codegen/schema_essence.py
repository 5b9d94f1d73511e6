"""Comparing schemas by what they say."""

from __future__ import annotations

from typing import Any

_OPEN = {"x-kubernetes-preserve-unknown-fields": True}


def essence(schema: Any, *, is_members: bool = False) -> Any:
    """A schema without what can be said in several ways."""
    if not isinstance(schema, dict):
        return schema
    if is_members:
        return {name: essence(member) for name, member in schema.items()}
    kept = {key: value for key, value in schema.items() if key != "description"}
    if "enum" in kept:
        kept["enum"] = sorted(kept["enum"], key=repr)  # typing has one Literal for all orders
    if kept.get("format") in ("int64", "double"):
        del kept["format"]
    if "x-kubernetes-int-or-string" in kept:
        kept.pop("anyOf", None)
        kinds = {type(choice) for choice in kept.get("enum", ())} - {type(None)}
        if len(kinds) == 1:  # which is what the choices say as well
            del kept["x-kubernetes-int-or-string"]
            kept["type"] = {str: "string", int: "integer"}[kinds.pop()]
    for keyword in ("exclusiveMinimum", "exclusiveMaximum"):
        if kept.get(keyword) is False:
            del kept[keyword]
    if "additionalProperties" in kept:
        kept["additionalProperties"] = values = essence(kept["additionalProperties"])
        if values in (True, _OPEN):
            del kept["additionalProperties"]
            kept |= _OPEN
    if "items" in kept:
        kept["items"] = essence(kept["items"])
    properties = kept.pop("properties", {})
    if properties:
        kept["properties"] = essence(properties, is_members=True)
    # A field with a default is never missed.
    required = {name for name in kept.pop("required", ()) if "default" not in properties[name]}
    return {**kept, "required": sorted(required)} if required else kept
