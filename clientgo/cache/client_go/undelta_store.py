"""A store that hands its whole content on after every change.

Promises that a function gets the full list after each write that succeeded. Does not promise one
list per state: two writers may cause the same list twice. Reads cause nothing.

Upstream: ``tools/cache`` UndeltaStore.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from clientgo.cache.store.changes import DeltaType
from clientgo.cache.store.indexer import Indexer
from clientgo.cache.store.keys import KeyFunc, deletion_handling_meta_namespace_key

T = TypeVar("T")


class UndeltaStore(Indexer[T]):
    """An :class:`~clientgo.cache.Indexer` that calls ``push`` with all its objects.

    ``push`` runs in the thread that writes, outside the store's lock; what it raises is raised by
    the write, which has taken effect.
    """

    def __init__(
        self,
        push: Callable[[builtins.list[T]], object],
        key_func: KeyFunc = deletion_handling_meta_namespace_key,
    ) -> None:
        super().__init__(key_func)
        self._push = push

    def add(self, obj: T) -> None:
        super().add(obj)
        self._push(self.list())

    def delete(self, obj: Any) -> None:
        super().delete(obj)
        self._push(self.list())

    def replace(self, objs: Sequence[T], resource_version: str) -> None:
        super().replace(objs, resource_version)
        self._push(self.list())

    def apply(
        self, changes: Sequence[tuple[DeltaType, Any]]
    ) -> builtins.list[T | Exception | None]:
        results = super().apply(changes)
        self._push(self.list())
        return results
