"""A cache as its readers see it, if they do not see the objects that are stored.

Promises that an object is converted when it is read, and only if a label selector or an index
chooses it; the store keeps what it has. Each read converts again, so the result is the reader's.

client-go has no counterpart.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from clientgo.cache.store.indexer import Indexer
from clientgo.cache.store.keys import IndexFunc

T = TypeVar("T")


class ViewedIndexer(Indexer[T]):
    """The content of another indexer, ``stored``, with ``view`` applied to what is read.

    Index functions that are added get views as well, of every object that is stored.
    """

    def __init__(self, stored: Indexer[Any], view: Callable[[Any], T]) -> None:
        super().__init__()
        self._storage = stored._storage
        self._tracks_resource_version = stored._tracks_resource_version
        self.stored = stored
        self.view = view

    def get(self, obj: Any) -> T | None:
        return self._viewed(super().get(obj))

    def get_by_key(self, key: str) -> T | None:
        return self._viewed(super().get_by_key(key))

    def list(self) -> builtins.list[T]:
        return [self.view(obj) for obj in super().list()]

    def index(self, name: str, obj: Any) -> builtins.list[T]:
        return [self.view(found) for found in super().index(name, obj)]

    def by_index(self, name: str, value: str) -> builtins.list[T]:
        return [self.view(obj) for obj in super().by_index(name, value)]

    def add_indexers(self, indexers: Mapping[str, IndexFunc]) -> None:
        super().add_indexers({name: self._on_view(function) for name, function in indexers.items()})

    def _viewed(self, obj: Any) -> T | None:
        return None if obj is None else self.view(obj)

    def _on_view(self, function: IndexFunc) -> IndexFunc:
        return lambda obj: function(self.view(obj))
