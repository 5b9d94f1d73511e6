"""Warnings in API server responses: deprecated versions, unknown fields.

Finds the warnings (HTTP `Warning` headers with code 299) and passes each text to a handler. Source:
client-go `rest` warnings.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterable
from typing import TextIO, TypeAlias

from clientgo.util.copies import uncopyable
from clientgo.util.process import renew_in_child
from clientgo.util.text.escapes import escaped

_log = logging.getLogger("clientgo.rest")

WarningHandler: TypeAlias = Callable[[str], object]
"""Called with each warning, in the thread of the request; must be thread-safe."""

_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"(?: "(?:[^"\\]|\\.)*")?\s*,?\s*')
_ESCAPED = re.compile(r"\\(.)")
_YELLOW, _PLAIN = "\x1b[33;1m", "\x1b[0m"


def warnings_in(headers: Iterable[str]) -> list[str]:
    """The texts of these ``Warning`` headers, without empty ones and other codes."""
    texts = []
    for header in headers:
        for match in _WARNING.finditer(header):
            if text := _ESCAPED.sub(r"\1", match[1]):
                texts.append(text)  # noqa: PERF401 - with the condition a loop reads better
    return texts


def log_warning(text: str) -> None:
    """Log it; what happens unless another handler is chosen."""
    _log.warning("The API server warns: %s", escaped(text))


def suppress_warning(text: str) -> None:
    """Drop it."""


@uncopyable("it has locks; make one in each process")
class WarningWriter:
    """Writes warnings to a stream, as kubectl does; ``count`` is how many it has seen.

    With ``deduplicate`` each text is written once; the texts are remembered for good, so use it in
    programs that end. Thread-safe.
    """

    def __init__(self, out: TextIO, *, deduplicate: bool = False, color: bool = False) -> None:
        self._lock = threading.Lock()
        renew_in_child(self, "_lock")
        self._out = out
        self._seen: set[str] | None = set() if deduplicate else None
        self._label = f"{_YELLOW}Warning:{_PLAIN}" if color else "Warning:"
        self._count = 0

    @property
    def count(self) -> int:
        return self._count

    def __call__(self, text: str) -> None:
        with self._lock:
            if self._seen is not None:
                if text in self._seen:
                    return
                self._seen.add(text)
            self._count += 1
            self._out.write(f"{self._label} {escaped(text)}\n")


_default: WarningHandler = log_warning


def default_warning_handler() -> WarningHandler:
    """The handler of clients and requests that were not given one."""
    return _default


def set_default_warning_handler(handler: WarningHandler) -> None:
    """Choose what happens to warnings in this process; it counts from the next answer on."""
    global _default
    _default = handler
