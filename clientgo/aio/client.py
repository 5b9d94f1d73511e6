"""Clients whose calls await.

Promises the connections, limits, options and errors of the client that they wrap. A call blocks in
a thread, of which there are 32: more calls wait for their turn, first in first out. A call whose
coroutine is cancelled is cut off and has ended before the coroutine goes on; as with every request
without an answer, the API server may have done it.

Reading a cache needs no call that awaits: listers answer immediately.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from clientgo.aio.call_threads import MOST_THREADS, CallThreads
from clientgo.cache import WatchStream
from clientgo.client import Client, ResourceClient
from clientgo.meta import (
    APIResource,
    KubernetesModel,
    ListOptions,
    Resource,
    Unstructured,
    WatchEvent,
)
from clientgo.util.copies import uncopyable
from clientgo.util.wait import call_when_set

C_co = TypeVar("C_co", covariant=True)
M = TypeVar("M", bound=KubernetesModel)
P = ParamSpec("P")
R = TypeVar("R", bound=Resource)
T = TypeVar("T")


@uncopyable("it calls in threads; make a client in each process")
class Awaiting(Generic[C_co]):
    """Base of a client that awaits the methods of another, which run in threads. Immutable."""

    def __init__(self, client: C_co, calls: CallThreads) -> None:
        self._client = client
        self._calls = calls

    async def _call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        until = kwargs.pop("stop", None)

        def call(stop: threading.Event) -> Any:
            return getattr(self._client, method)(*args, stop=stop, **kwargs)

        return await self._calls.call(call, until)


def awaiting(
    method: Callable[Concatenate[C_co, P], T],
) -> Callable[Concatenate[Awaiting[C_co], P], Coroutine[Any, Any, T]]:
    """Return the method of a client that blocks as one that awaits, with the same arguments."""

    @functools.wraps(method)
    async def call(self: Awaiting[C_co], /, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = await self._call(method.__name__, *args, **kwargs)
        return result

    return call


@uncopyable("it has connections to a server; make one in each process")
class AsyncResourceClient(Awaiting[ResourceClient[T]], Generic[T]):
    """A :class:`~clientgo.client.ResourceClient` whose calls await.

    ``get``, ``list``, ``create``, ``update``, ``update_status``, ``patch``, ``apply``,
    ``apply_status``, ``delete``, ``delete_collection`` and ``exec`` have its arguments.
    """

    get = awaiting(ResourceClient[T].get)
    list = awaiting(ResourceClient[T].list)
    create = awaiting(ResourceClient[T].create)
    update = awaiting(ResourceClient[T].update)
    update_status = awaiting(ResourceClient[T].update_status)
    patch = awaiting(ResourceClient[T].patch)
    apply = awaiting(ResourceClient[T].apply)
    apply_status = awaiting(ResourceClient[T].apply_status)
    delete = awaiting(ResourceClient[T].delete)
    delete_collection = awaiting(ResourceClient[T].delete_collection)
    exec = awaiting(ResourceClient[T].exec)

    def namespace(self, namespace: str) -> AsyncResourceClient[T]:
        """The same, for the objects of one namespace; the empty string means all."""
        return AsyncResourceClient(self._client.namespace(namespace), self._calls)

    async def watch(self, options: ListOptions | None = None) -> AsyncGenerator[WatchEvent[T]]:
        """Yield what happens to the objects, until the server ends the watch.

        The next events are read when the loop asks for them: until then they wait in the
        connection. It has a thread of its own. Raises as :meth:`~clientgo.cache.WatchStream.read`.
        An informer also lists, resumes and retries.
        """
        thread = CallThreads(f"watch-{self._client.resource.plural}", 1)
        try:
            stream = await thread.call(lambda stop: self._client.watch(options, stop))
            try:
                while events := await thread.call(functools.partial(_read, stream)):
                    for event in events:
                        yield event
            finally:
                stream.stop()
        finally:
            thread.stop()


@uncopyable("it has connections to a server; make one in each process")
class AsyncClient(Awaiting[Client]):
    """A :class:`~clientgo.client.Client` whose calls await; an async context manager.

    ``create``, ``update``, ``patch``, ``apply`` and ``delete`` have its arguments. At its end it
    stops its threads; the client stays open. ``threads`` requests are under way at a time.
    """

    create = awaiting(Client.create)
    update = awaiting(Client.update)
    patch = awaiting(Client.patch)
    apply = awaiting(Client.apply)
    delete = awaiting(Client.delete)

    def __init__(self, client: Client, *, threads: int = MOST_THREADS) -> None:
        super().__init__(client, CallThreads("async-client", threads))

    @overload
    def resource(self, kind: type[R]) -> AsyncResourceClient[R]: ...

    @overload
    def resource(self, kind: APIResource) -> AsyncResourceClient[Unstructured]: ...

    @overload
    def resource(self, kind: type[M]) -> AsyncResourceClient[M]: ...

    def resource(self, kind: type[Any] | APIResource) -> AsyncResourceClient[Any]:
        """The objects of one kind, as :meth:`~clientgo.client.Client.resource` has them."""
        return AsyncResourceClient(self._client.resource(kind), self._calls)

    async def aclose(self) -> None:
        """End the threads; calls from now on raise :class:`CoroutineCancelledError`."""
        await asyncio.to_thread(self._calls.stop)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _read(stream: WatchStream, stop: threading.Event) -> Sequence[WatchEvent[Any]]:
    call_when_set(stop, stream.stop)
    return stream.read()
