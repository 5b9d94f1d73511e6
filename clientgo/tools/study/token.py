"""The token in the address of the page, without which it answers nothing.

Promises: a user and a port have the same token each time, so that a program that is started again
on its port serves the tabs that are open. Another user can't compute it.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import secrets
from pathlib import Path
from typing import Final

from clientgo.util.certificates.private_files import make_private, write_private

_LENGTH: Final = 32
"""Bytes of the key, and characters of a token: 128 bits."""

_log = logging.getLogger("clientgo.tools.study")


def page_token(port: int) -> str:
    """Return the token for a port. Reads the user's key, and makes it if there is none."""
    return hmac.new(_key(), f"study {port}".encode(), hashlib.sha256).hexdigest()[:_LENGTH]


def key_file() -> Path:
    """Return the file of the key, which is in the directory for the state of programs."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "clientgo" / "study.key"


def _key() -> bytes:
    """Return the key; if there can be no file, one that is forgotten at the end."""
    new = secrets.token_bytes(_LENGTH)
    try:
        path = key_file()
        if not path.exists():
            write_private(path, new)
        make_private(path)
        found = path.read_bytes()
    except (OSError, RuntimeError) as error:
        _log.info("a restart will not serve open tabs, because there is no key: %s", error)
        return new
    return found if len(found) == _LENGTH else new
