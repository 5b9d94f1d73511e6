"""Values as the Kubernetes API server prints them.

Promises: ``quote``, ``number`` and ``compact_json`` give the text that Go's ``strconv.Quote``,
``%v`` of a number and ``json.Marshal`` give, so that a validation message reads as on a cluster.

Does not promise: byte equality for every exotic Unicode code point; "printable" is Python's notion.

Unlike client-go, whose language prints this way by itself, we have to spell the rules out.
"""

from __future__ import annotations

import json
from typing import Any

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
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def number(value: float) -> str:
    """Return a number as Go's ``%v`` prints an int64 or a float64."""
    if isinstance(value, int):
        return str(value)
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    mantissa, separator, exponent = repr(value).partition("e")
    if not separator:
        return mantissa
    return f"{mantissa}e{exponent[0] if exponent[0] in '+-' else '+'}{exponent.lstrip('+-'):0>2}"


def compact_json(value: Any) -> str:
    """Return `value` as Go's ``json.Marshal`` prints it: sorted keys, HTML characters escaped."""
    text = json.dumps(_integral(value), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _integral(value: Any) -> Any:
    """Turn floats without a fraction into ints, because Go prints 2.0 as 2."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _integral(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_integral(item) for item in value]
    return value
