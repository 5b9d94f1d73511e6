"""Conversions between types, and the types of values."""

from __future__ import annotations

import contextlib
import math
import re
from typing import Any

from clientgo.testcluster.cel.errors import CelEvaluationError
from clientgo.testcluster.cel.functions import Overload, function
from clientgo.testcluster.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
)
from clientgo.testcluster.cel.values import (
    INT_RANGE,
    UINT_RANGE,
    Duration,
    Timestamp,
    Uint,
    checked_int,
    checked_uint,
    type_of,
)
from clientgo.util.text import go_format
from clientgo.util.text.durations import parse_go_duration

_INTEGER = re.compile(r"[-+]?[0-9]+")
_UNSIGNED = re.compile(r"[0-9]+")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?inf(?:inity)?|nan", re.IGNORECASE)
_HEXADECIMAL = re.compile(
    r"[-+]?0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)p[-+]?[0-9]+", re.IGNORECASE
)
_INT_BOUND = float(INT_RANGE.start)  # which is an overflow itself, as upstream
_BOOLEANS = {
    **dict.fromkeys(("1", "t", "true", "TRUE", "True", "T"), True),
    **dict.fromkeys(("0", "f", "false", "FALSE", "False", "F"), False),
}


def _same(value: Any) -> Any:
    return value


def _double_to_int(value: float) -> int:
    if not _INT_BOUND < value < -_INT_BOUND:
        raise CelEvaluationError("integer overflow")
    return int(value)


def _double_to_uint(value: float) -> Uint:
    if not 0 <= value < float(UINT_RANGE.stop):
        raise CelEvaluationError("unsigned integer overflow")
    return Uint(int(value))


def _parse_int(text: str) -> int:
    if _INTEGER.fullmatch(text) is None:
        raise CelEvaluationError(f"type conversion error from 'string' to 'int': {text!r}")
    return checked_int(_whole(text))


def _parse_uint(text: str) -> Uint:
    if _UNSIGNED.fullmatch(text) is None:
        raise CelEvaluationError(f"type conversion error from 'string' to 'uint': {text!r}")
    return checked_uint(_whole(text))


def _whole(text: str) -> int:
    """Return an integer; a value beyond 64 bits for more digits than Python reads."""
    digits = text.lstrip("+-0")
    return int(text) if len(digits) <= 20 else UINT_RANGE.stop


def _parse_double(text: str) -> float:
    """Return the number that Go's ``strconv.ParseFloat`` reads."""
    if _NOT_FINITE.fullmatch(text):
        return float(text)
    number = math.inf
    if _NUMBER.fullmatch(text):
        number = float(text)
    elif _HEXADECIMAL.fullmatch(text):
        with contextlib.suppress(OverflowError):
            number = float.fromhex(text)
    if math.isinf(number):
        raise CelEvaluationError(f"type conversion error from 'string' to 'double': {text!r}")
    return number


def _parse_bool(text: str) -> bool:
    try:
        return _BOOLEANS[text]
    except KeyError:
        problem = f"type conversion error from 'string' to 'bool': {text!r}"
        raise CelEvaluationError(problem) from None


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CelEvaluationError("invalid UTF-8 in bytes, cannot convert to string") from error


def _parse_duration(text: str) -> Duration:
    try:
        return Duration(parse_go_duration(text))
    except ValueError as error:
        raise CelEvaluationError(str(error)) from error


def _parse_timestamp(text: str) -> Timestamp:
    try:
        return Timestamp.parse(text)
    except ValueError as error:
        raise CelEvaluationError(str(error)) from error


OVERLOADS: tuple[Overload, ...] = (
    function("type", [DYN], TYPE, type_of),
    *(function(kind.name, [kind], kind, _same) for kind in (INT, UINT, DOUBLE, STRING, BYTES)),
    function("bool", [BOOL], BOOL, _same),
    function("int", [UINT], INT, lambda value: checked_int(int(value))),
    function("int", [DOUBLE], INT, _double_to_int),
    function("int", [STRING], INT, _parse_int),
    function("int", [TIMESTAMP], INT, lambda moment: moment.nanoseconds // 10**9),
    function("int", [DURATION], INT, lambda duration: duration.nanoseconds),
    function("uint", [INT], UINT, checked_uint),
    function("uint", [DOUBLE], UINT, _double_to_uint),
    function("uint", [STRING], UINT, _parse_uint),
    function("double", [INT], DOUBLE, float),
    function("double", [UINT], DOUBLE, float),
    function("double", [STRING], DOUBLE, _parse_double),
    function("string", [BOOL], STRING, lambda value: "true" if value else "false"),
    function("string", [INT], STRING, str),
    function("string", [UINT], STRING, lambda value: str(int(value))),
    function("string", [DOUBLE], STRING, go_format.number),
    function("string", [BYTES], STRING, _decode),
    function("string", [TIMESTAMP], STRING, str),
    function("string", [DURATION], STRING, str),
    function("bytes", [STRING], BYTES, str.encode),
    function("bool", [STRING], BOOL, _parse_bool),
    function("duration", [STRING], DURATION, _parse_duration),
    function("duration", [DURATION], DURATION, _same),
    function("timestamp", [STRING], TIMESTAMP, _parse_timestamp),
    function("timestamp", [INT], TIMESTAMP, Timestamp.of_seconds),
    function("timestamp", [TIMESTAMP], TIMESTAMP, _same),
)
