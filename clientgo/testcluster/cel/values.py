"""The values of CEL expressions.

Promises: bool, int, float, str, bytes, None, list and dict are CEL values of the same kind. The
classes here are the other kinds. All are immutable.

Does not promise: that an int from outside has 64 bits.
"""

from __future__ import annotations

import datetime
import math
import re
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from clientgo.testcluster.cel import types
from clientgo.testcluster.cel.errors import CelEvaluationError, NoSuchOverloadError
from clientgo.testcluster.cel.types import CelType

INT_RANGE: Final = range(-(2**63), 2**63)
UINT_RANGE: Final = range(2**64)
_SECOND: Final = 10**9
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_TIMESTAMP_RANGE: Final = range(-62_135_596_800 * _SECOND, 253_402_300_800 * _SECOND)
_RFC3339 = re.compile(
    r"(\d{4}-\d{2}-\d{2}T)(\d{1,2})(:\d{2}:\d{2})(?:[.,](\d{1,9})\d*)?(Z|[+-]\d{2}:\d{2})", re.ASCII
)


class Uint(int):
    """An unsigned integer."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span of time in nanoseconds."""

    cel_type: ClassVar[CelType] = types.DURATION
    nanoseconds: int

    def __bool__(self) -> bool:
        return self.nanoseconds != 0

    def __str__(self) -> str:
        seconds, rest = divmod(abs(self.nanoseconds), _SECOND)
        sign = "-" if self.nanoseconds < 0 else ""
        fraction = f".{rest:09}".rstrip("0") if rest else ""
        return f"{sign}{seconds}{fraction}s"


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A point in time in nanoseconds since 1970, and how far the zone it was written in is ahead.

    The zone decides its text only; `offset` is in seconds.
    """

    cel_type: ClassVar[CelType] = types.TIMESTAMP
    nanoseconds: int
    offset: int = field(default=0, compare=False)

    def __bool__(self) -> bool:
        """Return False for the start of the year 1, which is the zero value of upstream."""
        return self.nanoseconds != _TIMESTAMP_RANGE.start

    @classmethod
    def of_seconds(cls, seconds: int) -> Timestamp:
        """Return the time that is so many seconds after 1970.

        Raises:
            CelEvaluationError: it is not in the years 1 to 9999.
        """
        return cls.checked(seconds * _SECOND)

    @classmethod
    def checked(cls, nanoseconds: int, offset: int = 0) -> Timestamp:
        """Return a time.

        Raises:
            CelEvaluationError: it is not in the years 1 to 9999.
        """
        if nanoseconds not in _TIMESTAMP_RANGE:
            raise CelEvaluationError("timestamp overflow")
        return cls(nanoseconds, offset)

    @classmethod
    def parse(cls, text: str) -> Timestamp:
        """Parse a time in RFC 3339.

        Raises:
            ValueError: it is not such a time, or not in the years 1 to 9999.
        """
        match = _RFC3339.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not a time in RFC 3339")
        day, hour, rest, fraction, zone = match.groups()
        shown = f"{day}{hour:0>2}{rest}{'+00:00' if zone == 'Z' else zone}"
        moment = datetime.datetime.fromisoformat(shown)
        seconds = (moment - _EPOCH) // datetime.timedelta(seconds=1)
        offset = moment.utcoffset() or datetime.timedelta()
        nanoseconds = seconds * _SECOND + int((fraction or "0").ljust(9, "0"))
        return cls.checked(nanoseconds, int(offset.total_seconds()))

    def later(self, nanoseconds: int) -> Timestamp:
        """Return the time that is so much later, in the same zone.

        Raises:
            CelEvaluationError: it is not in the years 1 to 9999.
        """
        return self.checked(self.nanoseconds + nanoseconds, self.offset)

    def in_zone(self, zone: datetime.tzinfo = datetime.UTC) -> datetime.datetime:
        """Return the calendar time, cut to seconds."""
        moment = _EPOCH + datetime.timedelta(seconds=self.nanoseconds // _SECOND)
        return moment.astimezone(zone)

    @property
    def fraction(self) -> int:
        """The nanoseconds since the last full second."""
        return self.nanoseconds % _SECOND

    def __str__(self) -> str:
        fraction = f".{self.fraction:09}".rstrip("0") if self.fraction else ""
        local = self.in_zone(datetime.timezone(datetime.timedelta(seconds=self.offset)))
        zone = local.isoformat()[-6:] if self.offset else "Z"
        return f"{local.replace(tzinfo=None).isoformat()}{fraction}{zone}"


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be absent; `ABSENT` is the one that is."""

    cel_type: ClassVar[CelType] = CelType(types.OPTIONAL_NAME)
    value: Any
    present: bool = True

    def get(self) -> Any:
        """Return the value.

        Raises:
            CelEvaluationError: there is none.
        """
        if not self.present:
            raise CelEvaluationError("optional.none() dereference")
        return self.value


ABSENT: Final = Optional(None, present=False)


class SetList(list[Any]):
    """A list of type set. Its order is ignored."""

    __slots__ = ()


class KeyedList(list[Any]):
    """A list of type map, with key fields. Its order is ignored."""

    __slots__ = ("key_names",)

    def __init__(self, items: list[Any], key_names: tuple[str, ...]) -> None:
        super().__init__(items)
        self.key_names = key_names

    def key(self, item: Any) -> tuple[Any, ...]:
        """Return the values of the key fields of an item."""
        return tuple(item.get(name) for name in self.key_names)


_TYPES: Final[dict[type, CelType]] = {
    bool: types.BOOL,
    int: types.INT,
    Uint: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    type(None): types.NULL,
    list: CelType(types.LIST_NAME),
    SetList: CelType(types.LIST_NAME),
    KeyedList: CelType(types.LIST_NAME),
    dict: CelType(types.MAP_NAME),
    CelType: types.TYPE,
}


class ObjectValue(dict[str, Any]):
    """An object that an expression has made, of a named type."""

    __slots__ = ("cel_type",)

    def __init__(self, cel_type: CelType, fields: dict[str, Any]) -> None:
        super().__init__(fields)
        self.cel_type = cel_type


def type_of(value: Any) -> CelType:
    """Return the type of a value, without parameters."""
    known = _TYPES.get(type(value))
    return known if known is not None else value.cel_type


def is_number(value: Any) -> bool:
    """Return True if `value` is an int, uint or double."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def equal(left: Any, right: Any) -> bool:
    """Compare two values as ``==`` does: numbers by value, other values by type and value."""
    if is_number(left) and is_number(right):
        if isinstance(left, float) is isinstance(right, float):
            return bool(left == right)
        return float(left) == float(right)  # as upstream: large integers lose digits
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and _equal_lists(left, right)
    if isinstance(left, dict) and isinstance(right, dict):
        return len(left) == len(right) and all(
            has_key(right, name) and equal(member, right[name]) for name, member in left.items()
        )
    if isinstance(left, Optional) and isinstance(right, Optional):
        return left.present == right.present and equal(left.value, right.value)
    return type(left) is type(right) and bool(left == right)


def has_key(members: dict[Any, Any], key: Any) -> bool:
    """Return True if a map has a key. Unlike in Python, true is not 1."""
    try:
        if key not in members:
            return False
    except TypeError:
        return False
    if key not in (0, 1):
        return True
    is_bool = isinstance(key, bool)
    return any(isinstance(name, bool) is is_bool for name in members if name == key)


def contains(items: list[Any], wanted: Any) -> bool:
    """Return True if a list has an item equal to `wanted`."""
    return any(equal(item, wanted) for item in items)


def _equal_lists(left: list[Any], right: list[Any]) -> bool:
    if isinstance(left, SetList):
        return all(contains(right, item) for item in left)
    if isinstance(left, KeyedList):
        by_key = {left.key(item): item for item in right}
        return all(
            left.key(item) in by_key and equal(item, by_key[left.key(item)]) for item in left
        )
    return all(map(equal, left, right))


def concatenate(left: list[Any], right: list[Any]) -> list[Any]:
    """Return ``left + right``: a union of sets; items of `right` replace those of a list map."""
    if isinstance(left, SetList):
        return SetList([*left, *(item for item in right if not contains(left, item))])
    if isinstance(left, KeyedList):
        overriding = {left.key(item): item for item in right}
        kept = [overriding.pop(left.key(item), item) for item in left]
        return KeyedList([*kept, *overriding.values()], left.key_names)
    return [*left, *right]


def compare(left: Any, right: Any) -> int:
    """Return -1, 0 or 1 for values that have an order.

    Raises:
        CelEvaluationError: one is not a number (NaN).
        NoSuchOverloadError: they have none.
    """
    if is_number(left) and is_number(right):
        if isinstance(left, float) or isinstance(right, float):
            left, right = float(left), float(right)
            if math.isnan(left) or math.isnan(right):
                raise CelEvaluationError("NaN values cannot be ordered")
    elif type(left) is not type(right) or not hasattr(left, "__lt__"):
        raise NoSuchOverloadError("no such overload")
    try:
        return int(left > right) - int(left < right)
    except TypeError:
        raise NoSuchOverloadError("no such overload") from None


def checked_int(value: int) -> int:
    """Return `value` if it is a 64-bit integer.

    Raises:
        CelEvaluationError: it is out of range.
    """
    if value not in INT_RANGE:
        raise CelEvaluationError("integer overflow")
    return value


def checked_uint(value: int) -> Uint:
    """Return `value` if it is an unsigned 64-bit integer.

    Raises:
        CelEvaluationError: it is out of range.
    """
    if value not in UINT_RANGE:
        raise CelEvaluationError("unsigned integer overflow")
    return Uint(value)
