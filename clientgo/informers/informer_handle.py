"""One user's part in a shared informer, which ends when its last handle is released.

Promises: a handle counts once, however often it is released. The last release ends the watch and
the threads, and frees the cache. A handler that was added through a handle ends with the handle.

Differs from client-go, where an informer of a factory runs until all of them end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from types import TracebackType
from typing import Any, Final, Generic, Self, TypedDict, TypeVar, Unpack

from clientgo.cache import (
    DeletedFinalStateUnknown,
    HighWater,
    InformerStateError,
    Lister,
    Registration,
    ResourceEventHandler,
    SharedIndexInformer,
)
from clientgo.meta import APIResource
from clientgo.util.copies import uncopyable
from clientgo.util.process import generation, refuse_in_child

T = TypeVar("T")


class HandlerKeywords(TypedDict, Generic[T], total=False):
    """The keyword arguments of :meth:`~clientgo.cache.SharedIndexInformer.add_event_handler`."""

    on_add: Callable[[T], object] | None
    on_update: Callable[[T, T], object] | None
    on_delete: Callable[[T | DeletedFinalStateUnknown], object] | None
    on_resync: Callable[[T, T], object] | None
    resync_period: float | None
    coalesce: bool
    high_water: HighWater | None


@uncopyable("it counts as one user of an informer; acquire another")
class InformerHandle(Generic[T]):
    """A handle from ``acquire`` of a factory. Thread-safe; a context manager.

    A released handle keeps neither the informer nor its cache: every use of it raises
    :class:`~clientgo.cache.InformerStateError`.
    """

    def __init__(
        self,
        key: Hashable,
        informer: SharedIndexInformer[T],
        resource: APIResource,
        released: Callable[[InformerHandle[Any]], object],
    ) -> None:
        self.key: Final = key
        """What it was acquired for: the type, or the group, version and resource."""
        self._name = informer.name
        self._informer: SharedIndexInformer[T] | None = informer
        self._resource = resource
        self._released = released
        self._registrations: list[Registration] = []
        self._lock = threading.Lock()
        self._made_in = generation()
        refuse_in_child(
            self, f"the handle of {self._name}", "_lock", advice="acquire one in the child"
        )

    @property
    def informer(self) -> SharedIndexInformer[T]:
        """The shared informer. A handler that is added to it itself stays until that ends."""
        with self._lock:
            return self._held_locked()

    @property
    def lister(self) -> Lister[T]:
        """The lister that reads the informer's cache."""
        return Lister(self.informer.indexer, self._resource)

    def add_event_handler(
        self,
        handler: ResourceEventHandler[T] | None = None,
        **keywords: Unpack[HandlerKeywords[T]],
    ) -> Registration:
        """Add a handler to the informer, until this handle is released."""
        with self._lock:
            registration = self._held_locked().add_event_handler(handler, **keywords)
            self._registrations.append(registration)
            return registration

    def release(self) -> None:
        """Shut down this handle's handlers, and the informer if no other handle holds it.

        Blocks until they have ended, at most 10 s for handlers that do not return. Called by one
        of these handlers, it does not wait for that. Without effect when it was released before.
        """
        with self._lock:
            informer, self._informer = self._informer, None
            registrations, self._registrations = self._registrations, []
        if informer is None:
            return
        for registration in registrations:
            informer.remove_event_handler(registration)
        for registration in registrations:
            informer.shut_down_event_handler(registration)
        self._released(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._made_in == generation():  # a forked child leaves it to its parent
            self.release()

    def _held_locked(self) -> SharedIndexInformer[T]:
        if self._informer is None:
            raise InformerStateError(
                f"the handle of {self._name} was released; acquire another from the factory"
            )
        return self._informer
