"""A fuzz test for converters: there and back again must give the same object.

::

    def test_nothing_is_lost() -> None:
        roundtrip(FooV1alpha1Converter())

Promises: a failure names the sample and the seed, with which it happens again, and the fields.

Upstream: cluster-api ``util/conversion`` FuzzTestFunc.
"""

from __future__ import annotations

import random
import reprlib
from collections.abc import Iterator
from typing import Any

import msgspec

from clientgo.meta import Codec, Resource, resource_of
from clientgo.meta.json_values import JSONObject
from clientgo.operator.webhooks.conversions import KindConversions, declared_conversion
from clientgo.operator.webhooks.typed_objects import body_fields
from clientgo.testing.operator.random_objects import random_object


def roundtrip(
    converter: Any, *, samples: int = 100, seed: int = 0, hub_to_hub: bool = True
) -> None:
    """Convert random objects there and back; ``AssertionError`` for the first that changes.

    ``hub_to_hub`` False leaves out the way from the hub and back, for a spoke that cannot say all
    that the hub can. Raises what converters raise, and ``DeclarationError`` for what is none.
    """
    conversions = KindConversions([converter])
    declared = declared_conversion(converter)
    assert declared is not None  # or KindConversions has refused it
    for number in range(samples):
        numbers = random.Random(f"{seed}/{number}")
        where = f"sample {number} of seed {seed}"
        _there_and_back(conversions, declared.spoke, declared.hub, numbers, where)
        if hub_to_hub:
            _there_and_back(conversions, declared.hub, declared.spoke, numbers, where)


def _there_and_back(
    conversions: KindConversions,
    kind: type[Resource],
    through: type[Resource],
    numbers: random.Random,
    where: str,
) -> None:
    came = random_object(kind, numbers)
    between = conversions.convert(came, resource_of(through).version)
    back = conversions.convert(between, resource_of(kind).version)
    before, after = _as_typed(kind, came), _as_typed(kind, back)
    if before != after:
        changes = [line for name in before for line in _changes(before[name], after[name], name)]
        raise AssertionError(
            f"{_said(kind)} changes on its way through {_said(through)} and back ({where}):\n"
            + "\n".join(changes or ["  a field that its type does not declare"])
            + f"\nbetween the two it was {between}\n"
            "correct the converter; an annotation can keep what a version has no field for"
        )


def _said(kind: type[Resource]) -> str:
    """Return a class with its version: the classes of two versions often have one name."""
    return f"{kind.__name__} {resource_of(kind).version}"


def _as_typed(kind: type[Resource], plain: JSONObject) -> dict[str, Any]:
    """With defaults filled in: what was left out may come back as its default."""
    obj = Codec(kind).decode(msgspec.json.encode(plain))
    return {name: getattr(obj, name) for name in ("metadata", *body_fields(kind))}


def _changes(before: Any, after: Any, path: str) -> Iterator[str]:
    """Yield a line for each field that differs."""
    if isinstance(before, msgspec.Struct) and type(before) is type(after):
        for field in msgspec.structs.fields(before):
            values = getattr(before, field.name), getattr(after, field.name)
            yield from _changes(*values, f"{path}.{field.encode_name}")
    elif before != after:
        yield f"  {path}: {reprlib.repr(before)} came back as {reprlib.repr(after)}"
