"""The sockets of this process, as the operating system sees them."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

_DESCRIPTORS = Path("/proc/self/fd")


def client_sockets(port: int) -> int:
    """How many connections of ours to a port of this machine are open."""
    return sum(1 for _ in _connected_to(port))


def keep_alive_is_on(port: int) -> bool:
    """Whether there are connections of ours to a port, and all are probed when they are quiet."""
    options = [
        sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) for sock in _connected_to(port)
    ]
    return bool(options) and all(options)


def _connected_to(port: int) -> Iterator[socket.socket]:
    """A duplicate of each, closed after use; of a descriptor and its duplicates only one."""
    seen = set()
    for entry in list(_DESCRIPTORS.iterdir()):
        with contextlib.suppress(OSError):  # closed meanwhile, or no socket
            name = os.readlink(entry)
            if not name.startswith("socket:") or name in seen:
                continue
            seen.add(name)
            with socket.socket(fileno=os.dup(int(entry.name))) as sock:
                if sock.family == socket.AF_INET and sock.getpeername()[1] == port:
                    yield sock
