"""Files that hold secrets: only their owner can read them, from their first byte on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from clientgo.util.certificates.authority import KeyPair

CERTIFICATE_FILE: Final = "tls.crt"
KEY_FILE: Final = "tls.key"
"""The names of a Secret of type ``kubernetes.io/tls``, mounted."""


def write_private(path: Path, content: bytes) -> None:
    """Replace a file in one step, or create it with its directory. Raises ``OSError``.

    The file that a symbolic link leads to is replaced, not the link.
    """
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    new.replace(path)


def write_pair(directory: Path, pair: KeyPair) -> None:
    """Write ``tls.crt`` and ``tls.key``, which only their owner can read. Raises ``OSError``."""
    write_private(directory / KEY_FILE, pair.private_key)
    write_private(directory / CERTIFICATE_FILE, pair.certificate)
