"""What a production cluster does to a controller sooner or later, and that it converges after."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from urllib.parse import urlsplit

import pytest

from clientgo.cache import SharedIndexInformer, wait_for_cache_sync
from clientgo.client import Client, ResourceListWatch
from clientgo.rest import RestConfig
from clientgo.testcluster.server import EmbeddedAPIServer
from sample_controller.demo import run_controller, running
from sample_controller.types import Foo
from tests.e2e.conftest import World, new_foo, stopping
from tests.tcp_proxy import TCPProxy


def test_the_controller_goes_on_after_the_api_server_was_restarted(world: World) -> None:
    world.create_foo("before", replicas=1)
    world.eventually(lambda: world.reconciled("before", 1))

    world.server.restart()
    world.create_foo("after", replicas=2)
    world.scale("before", 3)

    world.eventually(lambda: world.reconciled("after", 2))
    world.eventually(lambda: world.reconciled("before", 3))


def test_the_controller_goes_on_after_a_restart_that_lost_the_history(world: World) -> None:
    """RFL-22: a watch that is refused with 410 is followed by a new list."""
    world.create_foo("before", replicas=1)
    world.eventually(lambda: world.reconciled("before", 1))

    world.server.restart(keep_history=False)
    world.scale("before", 3)

    world.eventually(lambda: world.reconciled("before", 3))


@pytest.fixture
def cable(server: EmbeddedAPIServer) -> Iterator[TCPProxy]:
    """What the controller under test is connected through."""
    with TCPProxy(urlsplit(server.url).port or 0) as proxy:
        yield proxy


def test_what_changed_while_history_expired_is_seen(
    server: EmbeddedAPIServer, client: Client, cable: TCPProxy
) -> None:
    """FIELD-27, RFL-22: a deletion in a gap that history no longer covers is found by a list."""
    foos = client.resource(Foo).namespace("default")
    foos.create(new_foo("stays"))
    foos.create(new_foo("goes"))
    stop = threading.Event()
    seen = Seen()
    with Client(RestConfig(server=cable.url, qps=-1.0)) as through_cable:
        informer: SharedIndexInformer[Foo]
        informer = SharedIndexInformer(ResourceListWatch(through_cable.resource(Foo)), Foo)
        informer.add_event_handler(on_add=seen.add, on_update=seen.update, on_delete=seen.delete)
        with running("informer", lambda _: informer.run(stop)), stopping(stop):
            assert wait_for_cache_sync(stop, informer)

            cable.cut()
            foos.delete("goes")
            foos.patch("stays", {"spec": {"replicas": 2}})
            foos.create(new_foo("comes"))
            server.expire_history()
            cable.mend()

            seen.wait_for({"add comes", "update stays", "delete goes"})
            assert set(informer.indexer.list_keys()) == {"default/stays", "default/comes"}


def test_the_controller_repairs_what_happened_behind_its_back(
    server: EmbeddedAPIServer, client: Client, cable: TCPProxy
) -> None:
    with ExitStack() as stack:
        through_cable = stack.enter_context(Client(RestConfig(server=cable.url, qps=-1.0)))
        stack.enter_context(running("controller", lambda end: run_controller(through_cable, end)))
        world = World.seen_by(client, server, stack)
        world.create_foo("a", replicas=1)
        world.eventually(lambda: world.deployment("a"))
        lost = world.deployment("a").metadata.uid

        cable.cut()
        world.deployments.delete("a")
        server.expire_history()
        cable.mend()

        world.eventually(lambda: world.deployment("a").metadata.uid != lost)


def _run(informer: SharedIndexInformer[Foo], stop: threading.Event, _: object) -> None:
    informer.run(stop)


def test_two_informers_on_one_kind_see_the_same(world: World, client: Client) -> None:
    stop = threading.Event()
    informers: list[SharedIndexInformer[Foo]] = [
        SharedIndexInformer(ResourceListWatch(client.resource(Foo)), Foo) for _ in "ab"
    ]
    both = [Seen(), Seen()]
    with ExitStack() as stack:
        for informer, seen in zip(informers, both, strict=True):
            informer.add_event_handler(on_add=seen.add, on_update=seen.update)
            stack.enter_context(running("informer", partial(_run, informer, stop)))
        stack.enter_context(stopping(stop))
        assert wait_for_cache_sync(stop, *informers)

        world.create_foo("a", replicas=2)

        for seen in both:
            seen.wait_for({"add a", "update a"})


class Seen:
    """A handler that remembers what it was told."""

    def __init__(self) -> None:
        self._told: set[str] = set()
        self._more = threading.Condition()

    def _tell(self, what: str) -> None:
        with self._more:
            self._told.add(what)
            self._more.notify_all()

    def add(self, obj: Foo) -> None:
        self._tell(f"add {obj.metadata.name}")

    def update(self, old: Foo, new: Foo) -> None:
        self._tell(f"update {new.metadata.name}")

    def delete(self, obj: object) -> None:
        name = getattr(obj, "key", "").rpartition("/")[2] or obj.metadata.name  # type: ignore[attr-defined]
        self._tell(f"delete {name}")

    def wait_for(self, expected: set[str], timeout: float = 30.0) -> None:
        with self._more:
            assert self._more.wait_for(lambda: expected <= self._told, timeout), self._told
