"""What one run of a reconciler did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from clientgo.api.events_v1 import Event
from clientgo.client import Client
from clientgo.meta import NotFoundError
from clientgo.operator.result import Result
from clientgo.testing.fakes.actions import Action
from clientgo.testing.recording_transport import READING

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class RunRecord:
    """``result`` is what ``reconcile`` or ``cleanup`` returned; None if neither was called, or
    raised: then ``error`` has what the run failed with.

    ``next_look`` is the number of seconds after which the controller would look again if nothing
    happened, by a result, a retry or the safety timer; None for never. ``actions`` are the requests
    of the run, the framework's included, reads from the cache left out. ``obj`` is the object
    afterwards, None if it is gone.
    """

    result: Result | None
    error: Exception | None
    next_look: float | None
    actions: Sequence[Action]
    events: Sequence[Event]
    obj: Any
    client: Client = field(repr=False)
    """Reads and changes the world of the run."""

    def succeeded(self) -> RunRecord:
        """Return the record. Raises ``AssertionError`` if the run failed, with its error."""
        if self.error is not None:
            raise AssertionError(f"the run failed: {self.error!r}") from self.error
        return self

    @property
    def writes(self) -> list[str]:
        """What was written, in short: ``patch gadgets/status default/a``.

        A run that failed before its first write has none too, see :meth:`succeeded`.
        """
        return [str(action) for action in self.actions if action.verb not in READING]

    def get(self, kind: type[S], name: str, namespace: str = "default") -> S | None:
        """An object of the world as it is now, or None."""
        found: Any = self.client.resource(kind)
        objects = found.namespace(namespace) if found.resource.namespaced else found
        try:
            obj: S = objects.get(name)
        except NotFoundError:
            return None
        return obj

    def all(self, kind: type[S]) -> list[S]:
        """All objects of a kind as they are now."""
        objects: Any = self.client.resource(kind)
        return list(objects.list().items)
