"""The interface of a store of objects, and the errors that stores raise.

Upstream: ``tools/cache`` Store, TransactionError.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from clientgo.util.copies import CopyableError

T = TypeVar("T")


class Store(Protocol[T]):
    """Objects by key. All methods are thread-safe.

    A store returns the objects that it holds, not copies; they must not be changed. Writes raise
    :class:`~clientgo.cache.KeyFuncError` for an object without a key.
    """

    def add(self, obj: T) -> None:
        """Store an object, whether its key is new or not."""

    def update(self, obj: T) -> None:
        """Do the same as :meth:`add`."""

    def delete(self, obj: Any) -> None:
        """Remove what has the key of an object or tombstone, if there is anything."""

    def list(self) -> builtins.list[T]:
        """Return all objects at one instant, in no particular order."""

    def list_keys(self) -> builtins.list[str]:
        """Return all keys at one instant, in no particular order."""

    def get(self, obj: Any) -> T | None:
        """Return what is stored under the key of ``obj``, or ``None``."""

    def get_by_key(self, key: str) -> T | None:
        """Return what is stored under a key, or ``None``."""

    def replace(self, objs: Sequence[T], resource_version: str) -> None:
        """Make ``objs`` the whole content, in one step for readers; on failure change nothing."""

    def resync(self) -> None:
        """Do nothing, unless the store is a queue."""

    def bookmark(self, resource_version: str) -> None:
        """Note that the content is as of ``resource_version``."""

    def last_store_sync_resource_version(self) -> str:
        """Return the resource version of the content; empty if it is not known."""


class UnknownIndexError(CopyableError, LookupError):
    """There is no index of that name."""

    def __init__(self, name: str, existing: Sequence[str]) -> None:
        known = ", ".join(sorted(existing)) or "none"
        super().__init__(f"there is no index {name!r} (indexes: {known}); register it first")
        self.name = name


class IndexConflictError(CopyableError, ValueError):
    """An index of that name exists already; nothing was registered."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(f"indexes exist already: {', '.join(sorted(names))}; choose other names")
        self.names = tuple(names)


class IndexFuncError(CopyableError, ValueError):
    """An index function failed for an object; the call that needed it changed nothing.

    The function's own error is the ``__cause__``.
    """

    def __init__(self, index: str, key: str, cause: BaseException) -> None:
        super().__init__(f"index {index!r} failed for {key!r}, nothing was changed: {cause}")
        self.index = index
        self.key = key


class TransactionError(CopyableError):
    """Some operations of a transaction failed; the others took effect.

    ``succeeded`` has their indices, ``total`` is the number of operations, ``errors`` has the
    errors of the others.
    """

    def __init__(self, succeeded: Sequence[int], total: int, errors: Sequence[Exception]) -> None:
        super().__init__(
            f"{len(errors)} of {total} operations failed: {'; '.join(map(str, errors))}"
        )
        self.succeeded = tuple(succeeded)
        self.total = total
        self.errors = tuple(errors)


@dataclass(frozen=True, slots=True)
class StoreStatistics:
    """A store at one instant: the number of objects, and of values of each index."""

    objects: int
    index_values: dict[str, int]
    resource_version: str
