"""What belongs to the parent process fails in a forked child, and what can go on does."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest

from clientgo.aio import AsyncClient, EventLoop
from clientgo.api.core_v1 import ConfigMap, Pod
from clientgo.cache import Lister, SharedIndexInformer
from clientgo.client import Client, ResourceListWatch
from clientgo.informers import SharedInformerFactory
from clientgo.leaderelection import (
    USUAL_TIMING,
    LeaderElectionConfig,
    LeaderElector,
    Leadership,
    lease_lock_from_config,
)
from clientgo.meta import ObjectMeta, resource_of
from clientgo.observe.serving import Server
from clientgo.observe.trace import Tracer, tracing
from clientgo.operator import Manager
from clientgo.record import EventBroadcaster
from clientgo.rest.transport.in_flight import InFlight
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.util.clock import REAL_CLOCK
from clientgo.util.flowcontrol import TokenBucket
from clientgo.util.process import forks, generation, refuse_in_child, renew_in_child
from clientgo.util.wait import StopEvent, call_when_set, stop_on_signals
from clientgo.workqueue import DelayingQueue, PriorityQueue, Queue, RateLimitingQueue
from tests.record.builders import event
from tests.util.process.forking import in_child, in_children

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
    # Python 3.12 warns of every fork of a process that has threads.
    pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning"),
]


class Thing:
    def __init__(self) -> None:
        self.lock = threading.Lock()


def test_what_goes_on_in_the_child_gets_new_locks_and_is_renewed() -> None:
    thing = Thing()
    renewed: list[Thing] = []
    renew_in_child(thing, "lock", renew=renewed.append)
    with thing.lock:
        answer = in_child(lambda: (thing.lock.acquire(timeout=60), renewed == [thing]))

    assert answer == "(True, True)"
    assert renewed == []


def test_what_is_refused_says_who_made_it_and_what_to_do() -> None:
    thing = Thing()
    refuse_in_child(thing, "the thing", "lock", advice="make another one")

    def use() -> None:
        with thing.lock:
            pass

    assert in_child(use) == (
        f"ForkedProcessError: the thing was made in process {os.getpid()} and does not work in a "
        "process that was forked from it; make another one"
    )
    use()


def test_a_registered_object_is_freed_silently_where_no_function_can_be_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The garbage collector frees it anywhere, such as at the limit of recursion."""
    reported: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)
    things: list[Thing] = []

    def descend(depth: int, at_last: Callable[[], object]) -> None:
        if depth:
            descend(depth - 1, at_last)
        else:
            at_last()

    deepest = sys.getrecursionlimit()
    while True:
        try:
            descend(deepest, [].clear)
            break
        except RecursionError:
            deepest -= 1
    for depth in range(deepest - 4, deepest):
        things.append(Thing())
        renew_in_child(things[0], "lock")
        descend(depth, things.clear)
        assert things == []
    assert reported == []


def test_what_is_freed_is_forgotten() -> None:
    renew_in_child(kept := Thing(), "lock")
    alive = len(forks._registry._renewals)
    for _ in range(3 * alive + 1000):
        renew_in_child(Thing(), "lock")
    assert len(forks._registry._renewals) <= 2 * alive + 64
    assert kept in [reference() for reference, _ in forks._registry._renewals]


def test_what_is_registered_while_freed_objects_are_forgotten_is_kept() -> None:
    """An object whose last reference goes there may register others as it is freed."""
    registry = forks._Registry()
    late = [Thing() for _ in range(1000)]

    class Parting:
        def __del__(self) -> None:
            for thing in late:
                registry.add(thing, repr)

    last = [Parting()]
    going: Any = last.clear, repr  # as a reference to what is freed when it is followed
    registry._renewals.append(going)

    registry.add(Thing(), repr)

    assert {reference() for reference, _ in registry._renewals} >= set(late)


def test_a_registered_object_can_be_freed() -> None:
    thing = Thing()
    renew_in_child(thing, "lock")
    refuse_in_child(thing, "it", "lock", advice="")
    gone = weakref.ref(thing)

    del thing
    gc.collect()

    assert gone() is None


def test_a_renewal_that_fails_does_not_keep_the_others_from_theirs() -> None:
    bad, good = Thing(), Thing()

    def fail(_: Thing) -> None:
        raise RuntimeError("no")

    renew_in_child(bad, renew=fail)
    renew_in_child(good, "lock")
    with good.lock:
        assert in_child(lambda: good.lock.acquire(timeout=60)) == "True"


def test_the_generation_counts_forks() -> None:
    here = generation()

    assert in_child(generation) == str(here + 1)
    assert generation() == here


@pytest.mark.parametrize("make", [Queue, DelayingQueue, RateLimitingQueue, PriorityQueue])
@pytest.mark.parametrize(
    "use",
    [
        lambda queue: queue.add("a"),
        lambda queue: queue.get(),
        lambda queue: queue.done("a"),
        lambda queue: queue.shut_down(),
        lambda queue: queue.shut_down_with_drain(),
        lambda queue: queue.statistics(),
    ],
)
def test_a_queue_of_the_parent_fails_in_the_child(
    make: type[Queue[str]], use: Callable[[Queue[str]], object]
) -> None:
    with make(name="foos") as queue:
        assert in_child(lambda: use(queue)).startswith("ForkedProcessError: work queue 'foos' was")
        queue.add("a")


def test_a_delay_of_a_queue_of_the_parent_fails_in_the_child() -> None:
    with DelayingQueue[str](name="foos") as queue:
        queue.add_after("a", 3600.0)
        assert in_child(lambda: queue.add_after("b", 0.1)).startswith("ForkedProcessError")


def test_an_event_of_the_parent_runs_no_callback_of_the_parent_in_the_child() -> None:
    """A stop of the child must not shut the parent's connections down."""
    own, plain = StopEvent(), threading.Event()
    called: list[str] = []
    call_when_set(own, lambda: called.append("own"))
    call_when_set(plain, lambda: called.append("plain"))

    def stop() -> object:
        ran = threading.Event()
        own.set()
        call_when_set(plain, ran.set)
        plain.set()
        return ran.wait(30), called

    assert in_child(stop) == "(True, [])"
    plain.set()


def test_a_signal_of_the_child_does_not_stop_the_parent() -> None:
    with stop_on_signals() as stop:
        answer = in_child(lambda: os.kill(os.getpid(), signal.SIGTERM))
        assert answer == "", "the default of SIGTERM ends the child"
        assert not stop.wait(0.2)

    def handle() -> bool:
        with stop_on_signals() as stop:
            os.kill(os.getpid(), signal.SIGTERM)
            return stop.wait(30)

    with stop_on_signals():
        assert in_child(handle) == "True"


def test_an_informer_of_the_parent_fails_in_the_child() -> None:
    with EmbeddedAPIServer() as server:
        client = Client(server.url)
        informer: SharedIndexInformer[Pod] = SharedIndexInformer(
            ResourceListWatch(client.resource(Pod)), Pod
        )
        lister: Lister[Pod] = Lister(informer.indexer, resource_of(Pod))
        uses: list[Callable[[], Any]] = [
            lambda: informer.run(threading.Event()),
            informer.has_synced,
            lambda: informer.add_event_handler(on_add=print),
            lister.list,
            lambda: lister.namespace("default").get("a"),
        ]
        answers = [in_child(use) for use in uses]

    assert [answer.split(" ")[0] for answer in answers] == ["ForkedProcessError:"] * len(uses)
    assert "an informer in the child" in answers[0]


def test_an_informer_factory_of_the_parent_fails_in_the_child() -> None:
    factory = SharedInformerFactory(Client("http://127.0.0.1:1"))

    assert in_child(lambda: factory.informer_for(Pod)).startswith(
        "ForkedProcessError: the informer factory was made in process"
    )


def test_an_elector_of_the_parent_fails_in_the_child() -> None:
    """Parent and child have one identity: both would lead."""
    config = LeaderElectionConfig(
        lock=lease_lock_from_config(
            "http://127.0.0.1:1", "default", "foo", "me", timing=USUAL_TIMING
        ),
        timing=USUAL_TIMING,
        on_started_leading=lambda leadership: None,
        on_stopped_leading=lambda led: None,
    )
    elector = LeaderElector(config)
    uses: list[Callable[[], Any]] = [
        lambda: elector.run(threading.Event()),
        elector.is_leader,
        elector.get_leader,
    ]

    for use in uses:
        assert "make an elector with another identity in the child" in in_child(use)


def test_the_leadership_of_the_parent_does_not_hold_in_the_child() -> None:
    leadership = Leadership("me", 1, REAL_CLOCK.monotonic() + 60.0, REAL_CLOCK)

    assert in_child(leadership.check).startswith("ForkedProcessError: the leadership of me was")
    leadership.check()


def test_an_event_broadcaster_of_the_parent_fails_in_the_child() -> None:
    with EventBroadcaster() as broadcaster:
        broadcaster.start_event_watcher(lambda event: None)
        answer = in_child(lambda: broadcaster.publish(event("m")))

    assert answer.startswith("ForkedProcessError: the queue of events")


def test_what_awaits_in_the_parent_fails_in_the_child() -> None:
    async def nothing() -> None: ...

    loop = EventLoop("jobs")
    loop.run("begin", nothing())
    requests = AsyncClient(Client("http://127.0.0.1:1"))
    answers = in_children(
        [
            lambda: loop.run("again", nothing()),
            lambda: asyncio.run(requests.resource(Pod).get("a")),
        ]
    )

    assert answers[0].startswith("ForkedProcessError: the event loop of jobs was made in process")
    assert answers[1].startswith("ForkedProcessError: async-client with its threads was made in")
    loop.run("go on", nothing())
    assert loop.stop() == []


def test_children_of_a_client_use_connections_of_their_own() -> None:
    """Shared ones make children hang, or read answers to each other's requests."""
    with EmbeddedAPIServer() as server:
        config_maps = Client(server.url).resource(ConfigMap).namespace("default")
        for number in range(8):
            config_maps.create(ConfigMap(metadata=ObjectMeta(name=f"n{number}")))

        def read(number: int) -> int:
            return sum(
                config_maps.get(f"n{number}").metadata.name == f"n{number}" for _ in range(50)
            )

        assert in_children([partial(read, number) for number in range(8)]) == ["50"] * 8
        assert read(0) == 50


def test_a_request_of_the_parent_goes_on_and_the_child_holds_no_descriptor_of_it() -> None:
    """Else the server would not see that the parent has closed its connection."""
    ours, theirs = socket.socketpair()
    request = InFlight(StopEvent())
    request.attach(ours)

    assert in_child(lambda: (ours.fileno(), request.release())) == "(-1, True)"

    ours.sendall(b"on")
    assert theirs.recv(2) == b"on"
    request.release()
    ours.close()
    theirs.settimeout(30)
    assert theirs.recv(1) == b""
    theirs.close()


def test_a_client_works_in_the_child_though_another_thread_used_it_at_the_fork() -> None:
    bucket = TokenBucket(1.0, 1)
    taken, release = threading.Event(), threading.Event()

    def hold() -> None:
        with bucket._lock:
            taken.set()
            release.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    taken.wait(60)
    answer = in_child(lambda: bucket.take(0.0))
    release.set()
    holder.join()

    assert answer == "True"


def left_in_child(enter: Callable[[], Any]) -> str:
    """Enter a context here, and leave it in a forked child by SystemExit."""
    context = enter()
    context.__enter__()

    def leave() -> str:
        try:
            with ExitStack() as stack:
                stack.push(context)
                sys.exit(3)
        except SystemExit as end:
            return f"exit {end.code}"

    try:
        return in_child(leave)
    finally:
        context.__exit__(None, None, None)


CONTEXTS: dict[str, Callable[[], Any]] = {
    "a queue": lambda: RateLimitingQueue[str](name="foos"),
    "a factory": lambda: SharedInformerFactory(Client("http://127.0.0.1:1")),
    "a client": lambda: Client("http://127.0.0.1:1"),
    "a broadcaster": lambda: EventBroadcaster(),
    "a server": lambda: Server("127.0.0.1:0", {}),
    "an API server": EmbeddedAPIServer,
    "a manager": lambda: Manager(Client("http://127.0.0.1:1"), name="left", metrics="0"),
    "signals": stop_on_signals,
    "a trace": lambda: tracing(Tracer()),
}


@pytest.mark.parametrize("name", CONTEXTS)
def test_a_forked_child_leaves_a_block_of_its_parent_quietly(name: str) -> None:
    """The error of the context stood in place of the child's SystemExit."""
    assert left_in_child(CONTEXTS[name]) == "exit 3"
