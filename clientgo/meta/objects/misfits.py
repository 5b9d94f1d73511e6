"""Which objects do not fit their class."""

from __future__ import annotations

import msgspec

from clientgo.meta.decoding import convert_leniently
from clientgo.meta.objects.resource import Resource


def misfits(obj: Resource) -> tuple[str, ...]:
    """Return what of an object its class does not allow, by path; empty if all of it fits.

    An object that is older than the rules of its class is read all the same. Raises
    :class:`~clientgo.meta.ObjectDecodeError` for a value of another JSON type.
    """
    plain = obj.to_dict()
    try:
        convert_leniently(plain, obj.__body__)
    except msgspec.ValidationError:
        return tuple(obj._convert_misfitting(plain)[1])
    return ()
