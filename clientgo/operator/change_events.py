"""The events of a source, which predicates and mappers read. A reconciler never gets one.

Source: controller-runtime pkg/event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class CreateEvent:
    """An object appeared; ``initial`` if it was there when the source started."""

    obj: Any
    initial: bool = False


@dataclass(frozen=True, slots=True)
class UpdateEvent:
    """An object changed; ``resync`` if it did not, and the event is a repetition."""

    old: Any
    new: Any
    resync: bool = False

    @property
    def obj(self) -> Any:
        return self.new


@dataclass(frozen=True, slots=True)
class DeleteEvent:
    """An object is gone; ``final_state_known`` False if ``obj`` may not be its last state."""

    obj: Any
    final_state_known: bool = True


@dataclass(frozen=True, slots=True)
class GenericEvent:
    """Something outside of the cluster happened that concerns an object."""

    obj: Any


ChangeEvent: TypeAlias = CreateEvent | UpdateEvent | DeleteEvent | GenericEvent
