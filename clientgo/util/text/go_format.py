"""Print values as the Kubernetes API server prints them.

Promises: `quote`, `plain`, `number` and `compact_json` return what Go's ``strconv.Quote``, ``%v``
of JSON values and of a number, and ``json.Marshal`` return.

Does not promise: Go's idea of a printable character. It is that of Python.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

from msgspec import Raw

_FIRST_LARGE_EXPONENT = 6  # from this exponent on, %v uses scientific notation
_FIRST_BYTE, _LAST_BYTE = 0xDC80, 0xDCFF
"""Lone surrogates for bytes that are no UTF-8; see `percent_encoding`."""
_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    '"': '\\"',
    "\\": "\\\\",
}


def quote(text: str) -> str:
    """Return `text` as a double-quoted Go string literal."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_quote_char, text)) + '"'


def _quote_char(char: str) -> str:
    escaped = _ESCAPES.get(char)
    if escaped is not None:
        return escaped
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80 or _FIRST_BYTE <= code <= _LAST_BYTE:
        return f"\\x{code & 0xFF:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def number(value: float) -> str:
    """Return a number as Go's ``%v`` prints an int64 or a float64."""
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'+' if value > 0 else '-'}Inf"
    shortest = Decimal(repr(value)).normalize()
    exponent = shortest.adjusted()
    if shortest.is_zero() or -4 <= exponent < _FIRST_LARGE_EXPONENT:
        return f"{shortest:f}"
    mantissa = f"{shortest.scaleb(-exponent):f}"
    return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02}"


def plain(value: Any) -> str:
    """Return JSON values as Go's ``%v`` prints them: ``map[image:i ports:[80]]``."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{plain(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list | tuple):
        return f"[{' '.join(map(plain, value))}]"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Raw):
        return _text_of_raw(value)
    return value if isinstance(value, str) else number(value)


def compact_json(value: Any, *, sort_keys: bool = True) -> str:
    """Return `value` as Go's ``json.Marshal`` prints it, with HTML characters escaped.

    Go sorts the keys of a map; the fields of a struct come as they are declared.
    """
    return escaped_json(_integral(value), sort_keys=sort_keys)


def escaped_json(value: Any, *, sort_keys: bool = True) -> str:
    """Return `value` compact, with HTML characters escaped, and numbers as Python writes them."""
    text = json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys, default=_text_of_raw
    )
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _text_of_raw(value: Any) -> str:
    """Return JSON that was not decoded, as a text."""
    if isinstance(value, Raw):
        return bytes(value).decode()
    raise TypeError(f"a {type(value).__name__} is no JSON value")


def _integral(value: Any) -> Any:
    """Turn floats without a fraction into ints, because Go prints 2.0 as 2."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _integral(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_integral(item) for item in value]
    return value
