"""Read and write percent-encoded text as Go does: what is encoded need not be UTF-8.

Promises: `unescape` keeps every byte, and `escape` writes it again. A byte that is no UTF-8 is a
lone surrogate meanwhile, as in Python's names of files. `as_utf8` returns what Go writes in JSON.

Upstream: ``PathUnescape`` of Go's ``net/url``, ``encoding/json``.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote_to_bytes

_KEPT = "$&+,/:;=@"
"""Characters that Go leaves as they are in a path, besides letters and digits."""

_LONE = re.compile("[\ud800-\udfff]")


def from_bytes(raw: bytes) -> str:
    """Return bytes as text; those that are no UTF-8 as lone surrogates."""
    return raw.decode("utf-8", "surrogateescape")


def unescape(text: str | bytes) -> str:
    """Return a percent-encoded path as text."""
    return from_bytes(unquote_to_bytes(text))


def escape(path: str) -> str:
    """Return a path percent-encoded."""
    return quote(path, _KEPT, errors="surrogateescape")


def as_utf8(text: str) -> str:
    """Return text in which U+FFFD replaces each byte that is no UTF-8."""
    return _LONE.sub("\ufffd", text)
