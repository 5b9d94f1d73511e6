"""A source of a run without threads: what it knows is given by the test, or asked for once.

Promises that polls are asked before the run, as a manager does, and that items of an inbound source
are those that were put there. A failed poll is no failure of the run until the items are read.

Does not promise events: nothing wakes an object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from clientgo.meta import ObjectName
from clientgo.operator.errors import DeclarationError
from clientgo.operator.sources import KindSource, Sink, Source, SourceContext
from clientgo.util.wait import StopEvent


class StillSource(Source):
    """Stands for ``source``. ``given`` has its items, None to ask it."""

    def __init__(self, source: Source, given: Sequence[Any] | None) -> None:
        self.name = source.name
        self.kind = source.kind
        self._source = source
        self._items: list[Any] | None = None if given is None else list(given)
        self._is_given = given is not None
        self._failure: Exception | None = None
        self._context: SourceContext | None = None

    def start(self, context: SourceContext, sink: Sink) -> None:
        self._context = replace(context, stop=StopEvent())

    def stop(self) -> None:
        self._context = None

    def ask(self, key: ObjectName, primary: Any | None) -> None:
        """Get the items of the primary, unless the test has given them. Blocks for a poll."""
        if self._is_given:
            return
        assert self._context is not None, "sources are asked after their start"
        self._items = self._failure = None
        try:
            self._items = self._source.read_once(self._context, key, primary)
        except Exception as error:  # noqa: BLE001 - raised where the items are read
            self._failure = error

    def secondaries(self, key: ObjectName) -> list[Any]:
        if self._items is not None:
            return list(self._items)
        if self._failure is None:
            reason = f"source {self.name} is not started in a single run and has no items of {key}"
        else:
            reason = f"source {self.name} has no items of {key}: {self._failure!r}"
        argument = getattr(self.kind, "__name__", None) or repr(self.name)
        raise LookupError(
            f"{reason}; pass them, secondaries={{{argument}: [...]}}"
        ) from self._failure


def still_sources(
    sources: Sequence[Source], secondaries: Mapping[Any, Sequence[Any]]
) -> list[StillSource]:
    """Return what stands for the sources that are no kinds of objects.

    ``secondaries`` has the items by the kind or the name of their source. Raises
    ``DeclarationError`` for a key that is neither, and for one that several sources have.
    """
    stand_ins = [source for source in sources if not isinstance(source, KindSource)]
    given: dict[str, Sequence[Any]] = {}
    for key, items in secondaries.items():
        found = [each for each in stand_ins if key == each.name or key is each.kind]
        if len(found) != 1:
            raise DeclarationError(_why_not(key, found, sources))
        given[found[0].name] = items
    return [StillSource(source, given.get(source.name)) for source in stand_ins]


def _why_not(key: Any, found: Sequence[Source], sources: Sequence[Source]) -> str:
    shown = getattr(key, "__name__", None) or repr(key)
    if found:
        names = ", ".join(repr(source.name) for source in found)
        return f"secondaries: several sources have {shown}; use a name: {names}"
    if any(isinstance(each, KindSource) and key in (each.kind, each.name) for each in sources):
        return f"secondaries: {shown} is a kind of objects; pass objects in world=[...]"
    return f"secondaries: the controller has no source with the kind or name {shown}"
