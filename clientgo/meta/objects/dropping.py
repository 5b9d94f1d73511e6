"""Make a cached object smaller by what few programs read."""

from __future__ import annotations

from typing import Any

import msgspec

from clientgo.meta.objects.object_meta import ABSENT
from clientgo.meta.objects.resource import APIObject


def drop_managed_fields(obj: Any) -> bool:
    """Cut the managed fields out of an object, in place and usually without decoding it.

    For an object that nothing else uses yet, as in a transform. They are often half of it. Return
    False for other values. Raises :class:`~clientgo.meta.ObjectDecodeError` for JSON that can't be
    decoded.
    """
    if not isinstance(obj, APIObject):
        return False
    metadata = obj.metadata
    if metadata._managed_fields is ABSENT:
        return True
    if obj._raw is not None:
        member = b'"managedFields":' + bytes(metadata._managed_fields)
        if obj._raw.count(member) == 1:
            before, _, after = obj._raw.partition(member)
            obj._raw = before.removesuffix(b",") + (
                after if before[-1:] == b"," else after.lstrip(b",")
            )
        else:  # it is written in another way, or the same text is elsewhere too
            plain = obj._original()
            plain["metadata"].pop("managedFields", None)
            obj._raw, obj._enclosed = msgspec.json.encode(plain), False
    metadata._managed_fields = ABSENT
    return True
