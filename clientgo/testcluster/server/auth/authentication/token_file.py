"""The file of users and their tokens, as kube-apiserver reads it.

Each line has a token, a user name, a uid, and the user's groups in quotes::

    sesame,jane,1,"devs,admins"

Upstream: apiserver ``authentication/token/tokenfile``.
"""

from __future__ import annotations

from pathlib import Path

from clientgo.testcluster.server.auth.users import User

_COLUMNS = 3
"""Columns that each line needs; the groups may be missing."""


def has_users(path: Path) -> bool:
    """Return True if a file has lines with columns, and not only a token.

    Raises:
        OSError: the file can't be read.
    """
    return "," in path.read_text(encoding="utf-8")


def read_users(path: Path) -> dict[str, User]:
    """Return the users in a file by their token.

    Raises:
        OSError: the file can't be read.
        ValueError: a line has too few columns.
    """
    import csv  # not needed to start

    users: dict[str, User] = {}
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.reader(file, skipinitialspace=True)
        for line in lines:
            if not line or not line[0]:
                continue
            if len(line) < _COLUMNS:
                raise ValueError(
                    f"{path}, line {lines.line_num}: a token needs a user name and a uid after it"
                )
            token, name, uid, *groups = line
            members = groups[0].split(",") if groups and groups[0] else ()
            users[token] = User(name, uid, tuple(group.strip() for group in members))
    return users
