"""Text from outside in a line for people: it cannot begin another line, or steer the terminal.

Promises that control characters (C0, DEL, C1), line separators, marks of direction, what has no
width, and lone surrogates are written as escapes (``\\n``, ``\\x1b``, ``\\u202e``). Letters of
all languages stay. A zero-width joiner is escaped too: two names that look the same must not be.

Differs from client-go, where klog quotes values only, and kubectl escapes ESC and CR only.
"""

from __future__ import annotations

import json
import re
from typing import Final

_UNSAFE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e007f]"
)


def escaped(text: str) -> str:
    """The text as one line, with escapes as in JSON; most texts have none."""
    return _UNSAFE.sub(_escape, text)


def escaped_lines(text: str) -> str:
    """Like :func:`escaped`, for a text that has several lines: they stay."""
    return "\n".join(map(escaped, text.split("\n")))


def quoted(text: str) -> str:
    """The text in double quotes, with escapes as in JSON."""
    return escaped(json.dumps(text, ensure_ascii=False))


def is_safe(text: str) -> bool:
    """Return True if the text needs no escapes."""
    return _UNSAFE.search(text) is None


def _escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1]
