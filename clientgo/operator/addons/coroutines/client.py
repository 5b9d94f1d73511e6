"""The client of coroutines: each call awaits.

Promises the same connections, caches, guards and errors as ``ctx.client``. Reads of a declared kind
from a cache take place immediately. All other calls run in threads, of which a manager has 32: more
requests wait for their turn, and a limit of requests per second delays them there. A call whose
coroutine is cancelled is cut off; as with every request without an answer, the API server may have
done it.
"""

from __future__ import annotations

import builtins
import threading
from typing import Any, TypeVar, Unpack, overload

from clientgo.aio import Awaiting, CallThreads, awaiting
from clientgo.meta import NotFoundError, Unstructured
from clientgo.operator.client.configured_client import AnyKind
from clientgo.operator.client.live_client import CachedClient, LiveClient, Subresource
from clientgo.operator.client.reading_client import NamedKind, Selecting
from clientgo.util.copies import uncopyable

C_co = TypeVar("C_co", covariant=True)
S = TypeVar("S")


@uncopyable("it has connections to a server; make one in each process")
class AwaitingUntil(Awaiting[C_co]):
    """Awaits the methods of what has an ``until``; requests end at ``stop``, too."""

    def __init__(self, client: C_co, calls: CallThreads, stop: threading.Event) -> None:
        super().__init__(client, calls)
        self._stop = stop

    async def _call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        client: Any = self._client

        def call(stop: threading.Event) -> Any:
            return getattr(client.until(stop), method)(*args, **kwargs)

        return await self._calls.call(call, self._stop)


class AsyncSubresource(AwaitingUntil[Subresource]):
    """A part of objects that has its own requests, which await."""

    get = awaiting(Subresource.get)
    create = awaiting(Subresource.create)
    update = awaiting(Subresource.update)
    patch = awaiting(Subresource.patch)
    apply = awaiting(Subresource.apply)


class AsyncLiveClient(AwaitingUntil[LiveClient]):
    """A :class:`~clientgo.operator.client.LiveClient` whose calls await. Immutable.

    ``mutate`` and other functions that a call takes run in a thread. For a watch, declare a source.
    """

    # The same client, otherwise

    @property
    def live(self) -> AsyncLiveClient:
        """The same client, reading at the API server."""
        return self._like(self._client.live)

    def namespaced(self, namespace: str) -> AsyncLiveClient:
        """Objects without a namespace get this one; another one is an error."""
        return self._like(self._client.namespaced(namespace))

    def dry_run(self) -> AsyncLiveClient:
        """Writes are checked by the API server and not stored."""
        return self._like(self._client.dry_run())

    def without_own_writes(self) -> AsyncLiveClient:
        """Reads of caches are what the watches have brought, without the writes of this process."""
        return self._like(self._client.without_own_writes())

    def as_manager(self, field_manager: str) -> AsyncLiveClient:
        """Writes are in the name of another field manager."""
        return self._like(self._client.as_manager(field_manager))

    def strict(self) -> AsyncLiveClient:
        """Writes with fields that the API server does not know are refused."""
        return self._like(self._client.strict())

    # Reading

    @overload
    async def get(self, kind: type[S], name: str, namespace: str = "") -> S: ...

    @overload
    async def get(self, kind: NamedKind, name: str, namespace: str = "") -> Unstructured: ...

    async def get(self, kind: AnyKind, name: str, namespace: str = "") -> Any:
        """Return one object. Raises ``NotFoundError``."""
        if self._is_cached(kind):
            return self._client.get(kind, name, namespace)
        return await self._call("get", kind, name, namespace)

    @overload
    async def find(self, kind: type[S], name: str, namespace: str = "") -> S | None: ...

    @overload
    async def find(
        self, kind: NamedKind, name: str, namespace: str = ""
    ) -> Unstructured | None: ...

    async def find(self, kind: AnyKind, name: str, namespace: str = "") -> Any:
        """Like :meth:`get`, with None for what is not there."""
        try:
            return await self.get(kind, name, namespace)
        except NotFoundError:
            return None

    @overload
    async def list(self, kind: type[S], **options: Unpack[Selecting]) -> builtins.list[S]: ...

    @overload
    async def list(
        self, kind: NamedKind, **options: Unpack[Selecting]
    ) -> builtins.list[Unstructured]: ...

    async def list(self, kind: AnyKind, **options: Unpack[Selecting]) -> builtins.list[Any]:
        """Return objects of a namespace, or of all."""
        if self._is_cached(kind):
            return self._client.list(kind, **options)
        found: builtins.list[Any] = await self._call("list", kind, **options)
        return found

    # Writing

    create = awaiting(LiveClient.create)
    update = awaiting(LiveClient.update)
    patch = awaiting(LiveClient.patch)
    apply = awaiting(LiveClient.apply)
    delete = awaiting(LiveClient.delete)
    delete_all_of = awaiting(LiveClient.delete_all_of)
    create_or_update = awaiting(LiveClient.create_or_update)

    @property
    def status(self) -> AsyncSubresource:
        """The statuses of objects."""
        return self.subresource("status")

    def subresource(self, name: str) -> AsyncSubresource:
        """Another part of objects, as ``scale``."""
        return AsyncSubresource(self._client.subresource(name), self._calls, self._stop)

    # Inside

    def _like(self, client: LiveClient) -> AsyncLiveClient:
        return AsyncLiveClient(client, self._calls, self._stop)

    def _is_cached(self, kind: AnyKind) -> bool:
        """Return True if a read of a kind sends no request: a mere name may have to be looked up,
        and a client that only a cache serves reads there."""
        return isinstance(kind, type) and isinstance(self._client, CachedClient)
