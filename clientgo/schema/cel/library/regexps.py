"""Finding text by pattern."""

from __future__ import annotations

from ..functions import Overload, method
from ..types import INT, STRING, list_of
from .strings import compiled


def _find(text: str, pattern: str) -> str:
    match = compiled(pattern).search(text)
    return match[0] if match is not None else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = [match[0] for match in compiled(pattern).finditer(text)]
    return found[:limit] if limit >= 0 else found


OVERLOADS: tuple[Overload, ...] = (
    method("find", STRING, [STRING], STRING, _find),
    method("findAll", STRING, [STRING], list_of(STRING), _find_all),
    method("findAll", STRING, [STRING, INT], list_of(STRING), _find_all),
)
