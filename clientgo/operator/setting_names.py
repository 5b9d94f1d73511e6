"""Refusing a setting that there is not, and saying which were meant."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

from clientgo.operator.errors import ConfigError


def check_names(names: Iterable[str], known: Collection[str], owner: str) -> None:
    """Raise ``ConfigError`` for a setting that ``owner`` does not have, with what is near."""
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 3)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise ConfigError(f"{owner} has no setting {name!r}{hint}")
