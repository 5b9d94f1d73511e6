"""The log that SQLite keeps beside its file, as a killed process leaves it.

Promises: a log from whose middle something is lost is found before SQLite opens it. SQLite itself
reads a log up to its first damaged frame and forgets the rest without a word: for SQLite that is a
transaction that was not over when the power failed.

Does not promise to tell a damaged or missing end of the log from such a transaction.

Upstream: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
"""

from __future__ import annotations

import struct
import sys
from array import array
from pathlib import Path
from typing import Final

_HEADER: Final = struct.Struct(">8I")
"""Magic, version, bytes of a page, number of the checkpoint, two salts, checksum."""

_FRAME: Final = struct.Struct(">6I")
"""Page, pages of the file after a commit or 0, two salts, checksum."""

_MAGIC: Final = {0x377F0682: "little", 0x377F0683: "big"}
"""The order of bytes in the words that are summed."""

_Sum = tuple[int, int]


def log_problem(path: Path) -> str:
    """Return what is wrong with a log, or ""."""
    log = path.read_bytes()
    if len(log) < _HEADER.size:
        return "the log is cut off"
    magic, _, page, _, *salts, first, second = _HEADER.unpack_from(log)
    order = _MAGIC.get(magic)
    if order is None or _checksum(log[:24], (0, 0), order) != (first, second):
        return "the head of the log is damaged"
    size = _FRAME.size + page
    last = (first, second)
    is_damaged = has_commit = False
    for start in range(_HEADER.size, len(log) - size + 1, size):
        _, commit, *found, first, second = _FRAME.unpack_from(log, start)
        content = log[start : start + 8] + log[start + _FRAME.size : start + size]
        if found != salts or _checksum(content, last, order) != (first, second):
            is_damaged = True
        elif has_commit:  # a transaction begins only after the one before is on disk
            return "the log is damaged"
        elif is_damaged and commit:
            has_commit = True
        last = (first, second)
    return ""


def _checksum(content: bytes, last: _Sum, order: str) -> _Sum:
    """Return the checksum of a part of the log, which continues that of the part before."""
    words = array("I", content)
    if order != sys.byteorder:
        words.byteswap()
    first, second = last
    pairs = iter(words)
    for one, two in zip(pairs, pairs, strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + two + first) & 0xFFFFFFFF
    return first, second
