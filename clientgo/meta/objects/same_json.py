"""Telling whether two objects came off the wire as the same JSON, without decoding their bodies."""

from __future__ import annotations

import re
from typing import Any, Final

from clientgo.meta.objects.resource import APIObject
from clientgo.meta.objects.unstructured import Unstructured

_KIND: Final = re.compile(rb'\{(?:"(?:kind|apiVersion)":"[^"]*",)*')
"""What the JSON of an object begins with, and an item of such a list does not."""


def is_same_json(one: Any, other: Any) -> bool:
    """Return True if both were decoded from the same JSON, from a list or from a watch event.

    False says nothing: equal objects may be written differently. Changes that a program made to an
    object after it was decoded are not looked at. Thread-safe.
    """
    if type(one) is not type(other) or not isinstance(one, APIObject):
        return False
    if one.metadata.resource_version != other.metadata.resource_version:
        return False
    if isinstance(one, Unstructured) and (
        one.kind != other.kind or one.api_version != other.api_version
    ):
        return False
    if one._raw == other._raw and one._enclosed == other._enclosed:
        return one._raw is not None
    # The items of a list of a built-in kind begin without their kind, which the list says once.
    shorter, longer = sorted((_json(one), _json(other)), key=len)
    if not shorter or not longer.endswith(shorter[1:]):
        return False
    return _KIND.fullmatch(longer, 0, len(longer) - len(shorter) + 1) is not None


def _json(obj: APIObject) -> bytes:
    """Return the JSON of an object; empty for one that did not come off the wire."""
    raw = obj._raw or b""
    return raw.partition(b'"object":')[2].rstrip()[:-1] if obj._enclosed else raw
