"""The sources that the cache of one kind is filled for, and the labels that they have in common."""

from __future__ import annotations

import logging

from clientgo.operator.cache.scope import KindScope, Reader
from clientgo.operator.errors import DeclarationError

_log = logging.getLogger("clientgo.operator.cache")


class Readers:
    """Not thread-safe: its cache's lock guards it."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._readers: dict[str, Reader] = {}
        self.labels = ""
        """What all readers select by, so that the API server can do it."""

    def add(self, reader: Reader, *, is_watched: bool) -> None:
        """Take note of a reader. ``is_watched``: the labels cannot change any more.

        Raises :class:`~clientgo.operator.errors.DeclarationError` if the cache runs with labels
        that this reader does not have.
        """
        readers = self._readers | {reader.name: reader}
        selections = {known.labels for known in readers.values()}
        labels = selections.pop() if len(selections) == 1 else ""
        if not is_watched:
            self.labels = labels
        elif self.labels and labels != self.labels:
            raise DeclarationError(
                f"{reader.name} watches {self._kind} with labels {reader.labels or '(none)'}, "
                f"but only those with {self.labels} are cached already, for "
                f"{', '.join(sorted(self._readers))}; declare it before the manager starts, "
                "or use the same labels"
            )
        self._readers = readers

    def report_limits(self, scope: KindScope) -> None:
        """Log which objects are cached, and which sources expect more."""
        readers = sorted(self._readers.values(), key=lambda reader: reader.name)
        if limits := scope.limits(self.labels):
            names = ", ".join(reader.name for reader in readers)
            _log.info("%s: only objects %s are cached, for %s", self._kind, limits, names)
        for reader in readers:
            if hidden := scope.hidden_from(reader):
                _log.warning(
                    "%s watches all %s, but its CacheScope limits the cache to objects %s: the "
                    "source does not see others; limit the source too, or widen the CacheScope",
                    reader.name,
                    self._kind,
                    hidden,
                )
