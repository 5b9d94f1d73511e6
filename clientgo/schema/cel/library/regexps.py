"""Finding text by pattern."""

from __future__ import annotations

import itertools

from ...linear_matcher import MatchLimitError
from ..errors import CelEvaluationError
from ..functions import Overload, method
from ..types import INT, STRING, list_of
from .strings import compiled


def _find(text: str, pattern: str) -> str:
    return next(iter(_find_all(text, pattern, 1)), "")


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = compiled(pattern).find_all(text)
    try:
        return list(itertools.islice(found, limit if limit >= 0 else None))
    except MatchLimitError as error:
        raise CelEvaluationError(str(error)) from error


OVERLOADS: tuple[Overload, ...] = (
    method("find", STRING, [STRING], STRING, _find),
    method("findAll", STRING, [STRING], list_of(STRING), _find_all),
    method("findAll", STRING, [STRING, INT], list_of(STRING), _find_all),
)
