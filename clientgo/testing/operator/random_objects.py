"""Random values that fit a declared type, as JSON: what a fuzz test feeds its subject with.

Promises: the same random numbers give the same value; every field of a type is sometimes there
and, if it has a default, sometimes not; limits of numbers and lengths are kept.

Does not promise a text for every ``pattern``, see ``codegen.schemas.matching_text``: a field
without one raises ``TypeError``.
"""

from __future__ import annotations

import base64
import math
import random
import uuid
from collections.abc import Callable
from typing import Any, Final

from msgspec import inspect

from clientgo.codegen.schemas.matching_text import text_matching
from clientgo.meta import Resource, resource_of
from clientgo.meta.json_values import JSONObject

_MOST_ITEMS: Final = 3
_DEEPEST: Final = 8
"""Types may hold themselves; so deep, everything is left out that can be."""

_MOST_REPEATS: Final = 6
"""How often more than it must what a pattern repeats may come."""

_LETTERS: Final = "abcxyz-. é0"


def random_object(kind: type[Resource], numbers: random.Random) -> JSONObject:
    """An object of ``kind``, with labels and annotations. Raises ``TypeError``."""
    resource = resource_of(kind)
    words = {f"{_word(numbers)}{n}": _word(numbers) for n in range(numbers.randrange(3))}
    metadata: JSONObject = {"name": f"random-{numbers.randrange(10**6)}", "uid": _word(numbers)}
    if words:
        metadata |= {"labels": words, "annotations": dict(words)}
    body: JSONObject = _value(inspect.type_info(kind.__body__), numbers, 0)
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": metadata,
        **body,
    }


def _value(declared: inspect.Type, numbers: random.Random, depth: int) -> Any:
    make = _MAKERS.get(type(declared))
    if make is None:
        raise TypeError(f"no random value can be made for {declared}")
    return make(declared, numbers, depth)


def _struct(declared: inspect.StructType, numbers: random.Random, depth: int) -> JSONObject:
    made: JSONObject = {}
    for field in declared.fields:
        if not field.required and (depth > _DEEPEST or numbers.random() < 0.3):
            continue
        value = _value(field.type, numbers, depth + 1)
        if value is not None:  # null is the same as absent to the API
            made[field.encode_name] = value
    return made


def _union(declared: inspect.UnionType, numbers: random.Random, depth: int) -> Any:
    return _value(numbers.choice(declared.types), numbers, depth)


def _items(item: inspect.Type, numbers: random.Random, depth: int, declared: Any) -> list[Any]:
    least = declared.min_length or 0
    most = declared.max_length if declared.max_length is not None else least + _MOST_ITEMS
    count = least if depth > _DEEPEST else numbers.randint(least, most)
    return [_value(item, numbers, depth + 1) for _ in range(count)]


def _list(declared: Any, numbers: random.Random, depth: int) -> list[Any]:
    return _items(declared.item_type, numbers, depth, declared)


def _dict(declared: inspect.DictType, numbers: random.Random, depth: int) -> JSONObject:
    values = _items(declared.value_type, numbers, depth, declared)
    if declared.key_type in (inspect.StrType(), inspect.AnyType()):
        return {f"{_word(numbers)}{index}": value for index, value in enumerate(values)}
    return {str(_value(declared.key_type, numbers, depth)): value for value in values}


def _set(declared: Any, numbers: random.Random, depth: int) -> list[Any]:
    made = _items(declared.item_type, numbers, depth, declared)
    return [item for index, item in enumerate(made) if item not in made[:index]]


def _integer(declared: inspect.IntType, numbers: random.Random, _depth: int) -> int:
    low, high = _limits(declared, 1)
    step = declared.multiple_of or 1
    return step * numbers.randint(math.ceil(low / step), math.floor(high / step))


def _float(declared: inspect.FloatType, numbers: random.Random, _depth: int) -> float:
    low, high = _limits(declared, 0.001)
    return round(numbers.uniform(low, high), 3)


def _limits(declared: Any, step: float) -> tuple[float, float]:
    """The lowest and the highest value; a range of 200 where one of them is open."""
    low, high = declared.ge, declared.le
    if low is None and declared.gt is not None:
        low = declared.gt + step
    if high is None and declared.lt is not None:
        high = declared.lt - step
    if low is None:
        low = -100 if high is None else high - 200
    return low, low + 200 if high is None else high


def _text(declared: inspect.StrType, numbers: random.Random, _depth: int) -> str:
    least = declared.min_length or 0
    if declared.pattern is not None:
        try:
            return text_matching(
                declared.pattern,
                numbers,
                shortest=least,
                longest=declared.max_length,
                repeats=numbers.randrange(_MOST_REPEATS),
            )
        except ValueError as error:
            raise TypeError(f"no random text can be made: {error}") from error
    most = declared.max_length if declared.max_length is not None else least + 8
    return "".join(numbers.choices(_LETTERS, k=numbers.randint(least, most)))


def _bytes(declared: Any, numbers: random.Random, _depth: int) -> str:
    least = declared.min_length or 0
    most = declared.max_length if declared.max_length is not None else least + 4
    return base64.b64encode(numbers.randbytes(numbers.randint(least, most))).decode()


def _time(_declared: Any, numbers: random.Random, _depth: int) -> str:
    return f"{_date(_declared, numbers, _depth)}T{numbers.randrange(24):02}:30:00Z"


def _date(_declared: Any, numbers: random.Random, _depth: int) -> str:
    return f"20{numbers.randrange(10, 40)}-0{numbers.randint(1, 9)}-{numbers.randint(10, 28)}"


def _uuid(_declared: Any, numbers: random.Random, _depth: int) -> str:
    return str(uuid.UUID(int=numbers.getrandbits(128), version=4))


def _anything(_declared: Any, numbers: random.Random, _depth: int) -> Any:
    return numbers.choice([True, 1, _word(numbers), [_word(numbers)], {_word(numbers): 1}])


def _word(numbers: random.Random) -> str:
    return "".join(numbers.choices("abcdef", k=4))


_MAKERS: Final[dict[type[Any], Callable[[Any, random.Random, int], Any]]] = {
    inspect.StructType: _struct,
    inspect.UnionType: _union,
    inspect.ListType: _list,
    inspect.VarTupleType: _list,
    inspect.SetType: _set,
    inspect.FrozenSetType: _set,
    inspect.DictType: _dict,
    inspect.IntType: _integer,
    inspect.FloatType: _float,
    inspect.StrType: _text,
    inspect.BytesType: _bytes,
    inspect.DateTimeType: _time,
    inspect.DateType: _date,
    inspect.UUIDType: _uuid,
    inspect.AnyType: _anything,
    inspect.RawType: _anything,
    inspect.BoolType: lambda _declared, numbers, _depth: numbers.random() < 0.5,
    inspect.NoneType: lambda _declared, _numbers, _depth: None,
    inspect.LiteralType: lambda declared, numbers, _depth: numbers.choice(declared.values),
    inspect.EnumType: lambda declared, numbers, _depth: numbers.choice(
        [member.value for member in declared.cls]
    ),
}
