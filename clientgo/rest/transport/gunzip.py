"""Undoing gzip as it arrives.

Promises: a body of several gzip members is read as one; its caller can tell if the body is cut
short. Other bytes after the last member raise `zlib.error`, as Go's `gzip.Reader` refuses them.
"""

from __future__ import annotations

import zlib
from typing import Any

_GZIP = zlib.MAX_WBITS | 16


class GzipDecoder:
    """Feed what arrived, get what it stands for."""

    __slots__ = ("_member",)

    def __init__(self) -> None:
        self._member: Any = None

    @property
    def is_whole(self) -> bool:
        """False in the middle of a member."""
        return self._member is None

    def feed(self, data: bytes) -> bytes:
        """The bytes that ``data`` completes; raises ``zlib.error``."""
        pieces = []
        while data:
            member = self._member or zlib.decompressobj(_GZIP)
            pieces.append(member.decompress(data))
            data = member.unused_data
            self._member = None if member.eof else member
        return b"".join(pieces)
