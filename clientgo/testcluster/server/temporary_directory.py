"""The temporary directory of a server, for its kubeconfig and what it makes itself.

Promises: only the user can read it. It is removed with the server, and after a killed process by
the next server that starts. The lock of a file in it shows that its process lives: unlike a process
id, it is not used again, and it holds between containers that share the directory above.

Does not promise to remove what killed processes leave on Windows.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

if sys.platform != "win32":
    import fcntl

_PREFIX: Final = "clientgo-apiserver-"
_LOCK: Final = "lock"


class TemporaryDirectory:
    """A new directory; ``path`` says where."""

    def __init__(self) -> None:
        """Make it, after those of killed processes are removed.

        Raises:
            OSError: it can't be made.
        """
        _remove_abandoned()
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
            self._lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            if _locks(self._lock) and (self.path / _LOCK).exists():
                return
            os.close(self._lock)  # another server has taken it for an abandoned one just now

    def remove(self) -> None:
        """Remove it with everything in it. Idempotent."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _remove_abandoned() -> None:
    if sys.platform == "win32":
        return
    with os.scandir(tempfile.gettempdir()) as entries:  # there may be thousands
        own = [
            entry
            for entry in entries
            if entry.name.startswith(_PREFIX)
            and not entry.is_symlink()
            and os.access(f"{entry.path}/{_LOCK}", os.W_OK)
        ]
    for entry in own:
        with contextlib.suppress(OSError):  # another server may remove it at the same time
            if entry.stat(follow_symlinks=False).st_uid == os.getuid():
                _remove_if_unlocked(entry.path)


def _remove_if_unlocked(path: str) -> None:
    lock = os.open(f"{path}/{_LOCK}", os.O_RDWR)
    try:
        if _locks(lock):
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)


def _locks(descriptor: int) -> bool:
    """Lock a file; return False if another process has locked it."""
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
