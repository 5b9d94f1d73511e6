"""Coroutines beside informers, queues and clients, in the event loop that a program has.

::

    informer ──► handler, or blocking(coroutine) ──► queue of keys ──► async for key in keys(queue)
       └──► await wait_for_cache_sync(stop, informer)                  await run_workers(...)
                                                                       await client.update(...)

Threads, caches and connections are those of the rest of the library. What blocks there has a twin
of the same name and meaning here. Nothing that does not await imports this package.
"""

from clientgo.aio.call_threads import CallThreads, CoroutineCancelledError
from clientgo.aio.client import AsyncClient, AsyncResourceClient, Awaiting, awaiting
from clientgo.aio.event_loop import EventLoop
from clientgo.aio.keys import get, keys, run_workers
from clientgo.aio.waiting import blocking, in_thread, running, wait_for_cache_sync, wait_for_event
from clientgo.aio.watchdog import reporting_blocks

__all__ = [
    # a queue
    "keys",
    "get",
    "run_workers",
    # informers
    "running",
    "wait_for_cache_sync",
    # requests
    "AsyncClient",
    "AsyncResourceClient",
    "Awaiting",
    "awaiting",
    # threads that wait for coroutines, and coroutines that wait for threads
    "blocking",
    "in_thread",
    "wait_for_event",
    "CallThreads",
    "CoroutineCancelledError",
    # an event loop in a thread of its own
    "EventLoop",
    "reporting_blocks",
]
