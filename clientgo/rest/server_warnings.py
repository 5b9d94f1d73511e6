"""Warnings in API server responses: deprecated versions, unknown fields.

Finds the warnings (HTTP `Warning` headers with code 299) and passes each text to a handler. Source:
client-go `rest` warnings.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

from clientgo.util.text.escapes import escaped

_log = logging.getLogger("clientgo.rest")

WarningHandler: TypeAlias = Callable[[str], object]
"""Called with each warning, in the thread of the request; must be thread-safe."""

_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"(?: "(?:[^"\\]|\\.)*")?\s*,?\s*')
_ESCAPED = re.compile(r"\\(.)")


def warnings_in(headers: Iterable[str]) -> list[str]:
    """The texts of these ``Warning`` headers, without empty ones and other codes."""
    texts = []
    for header in headers:
        for match in _WARNING.finditer(header):
            if text := _ESCAPED.sub(r"\1", match[1]):
                texts.append(text)  # noqa: PERF401 - with the condition a loop reads better
    return texts


def log_warning(text: str) -> None:
    """Log it: the handler of clients and requests that were given no other."""
    _log.warning("The API server warns: %s", escaped(text))
