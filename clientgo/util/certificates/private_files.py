"""Files that hold secrets: only their owner can read them, from their first byte on.

Promises: a link that another user may have made is not followed. Such a user could choose which
file is overwritten, or read the secret.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
from collections import deque
from pathlib import Path
from typing import Final

from clientgo.util.certificates.authority import KeyPair

_log = logging.getLogger("clientgo.util.certificates")

CERTIFICATE_FILE: Final = "tls.crt"
KEY_FILE: Final = "tls.key"
"""The names of a Secret of type ``kubernetes.io/tls``, mounted."""

_MOST_LINKS: Final = 40
"""Links on the way to a file, as Linux counts them."""


def write_private(path: Path, content: bytes) -> None:
    """Replace a file in one step, or create it with its directory. Raises ``OSError``.

    The file that a symbolic link leads to is replaced, not the link. A link in a directory that
    others can write is a ``PermissionError``.
    """
    path = _resolved(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    new.replace(path)


def make_private(path: Path) -> None:
    """Let only its owner read a file with a secret; log if others could.

    Raises ``OSError`` if it is no file, or if another user may have put it there.
    """
    path = _resolved(path)
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        status = os.fstat(descriptor)
        mode = status.st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        if os.name != "posix":
            return
        if status.st_uid not in (0, os.getuid()):
            raise PermissionError(errno.EPERM, "it belongs to another user", str(path))
        if not mode & (stat.S_IRWXG | stat.S_IRWXO):
            return
        try:
            os.fchmod(descriptor, mode & stat.S_IRWXU)
        except OSError as error:  # it is another user's, or a file system of a Secret
            _log.warning("other users can use %s, which holds a secret: %s", path, error.strerror)
        else:
            _log.warning(
                "other users could use %s, which holds a secret; now they can't. Remove it, to "
                "have another one made, if one of them may have read it",
                path,
            )
    finally:
        os.close(descriptor)


def write_pair(directory: Path, pair: KeyPair) -> None:
    """Write ``tls.crt`` and ``tls.key``, which only their owner can read. Raises ``OSError``."""
    write_private(directory / KEY_FILE, pair.private_key)
    write_private(directory / CERTIFICATE_FILE, pair.certificate)


def _resolved(path: Path) -> Path:
    """Return a path without links; refuse those that another user may have made.

    Linux refuses them too, in directories like ``/tmp``, unless ``fs.protected_symlinks`` is off.
    """
    path = path.absolute()
    found, left = Path(path.anchor), deque(path.parts[1:])
    links = 0
    while left:
        part = left.popleft()
        if part == os.pardir:
            found = found.parent
            continue
        if not (found / part).is_symlink():
            found /= part
            continue
        _check_link(found / part, is_last=not left)
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        target = (found / part).readlink()
        left.extendleft(reversed(target.parts[1:] if target.is_absolute() else target.parts))
        if target.is_absolute():
            found = Path(target.anchor)
    return found


def _check_link(link: Path, *, is_last: bool) -> None:
    """Check the maker of a link on the way to a file, or of the file's name itself."""
    if not hasattr(os, "getuid"):
        return
    trusted = (0, os.getuid())
    directory = link.parent.stat()
    is_private = directory.st_uid in trusted and not directory.st_mode & stat.S_IWOTH
    if is_private and not directory.st_mode & stat.S_IWGRP:
        return
    if (is_private or not is_last) and link.lstat().st_uid in trusted:
        return
    raise PermissionError(
        errno.EPERM,
        f"it leads through the link {link}, in a directory that others can write; choose a path in "
        "a directory of your own",
        str(link),
    )
