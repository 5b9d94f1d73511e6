"""Predicates of the simulator's controllers."""

from __future__ import annotations

from typing import Any

from clientgo.operator.change_events import ChangeEvent
from clientgo.operator.predicates import Predicate


class OfPrimary(Predicate):
    """A predicate for the objects of one kind; what happens to others passes."""

    def __init__(self, kind: type[Any], predicate: Predicate) -> None:
        self._kind = kind
        self._predicate = predicate

    def passes(self, event: ChangeEvent) -> bool:
        return not isinstance(event.obj, self._kind) or self._predicate.passes(event)
