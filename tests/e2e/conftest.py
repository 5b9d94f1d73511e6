"""A small world for each test: an API server, the Foo resource, workloads, the controller."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pytest

from clientgo.api.apps_v1 import Deployment
from clientgo.api.core_v1 import Event
from clientgo.client import Client
from clientgo.meta import ObjectMeta, deep_copy
from clientgo.rest import load_config
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.workloads import WorkloadSimulator
from clientgo.testing.observer import Observer
from clientgo.util.wait import retry_on_conflict
from sample_controller.demo import install_crd, run_controller, running
from sample_controller.types import Foo, FooSpec


def new_foo(name: str, replicas: int | None = 1, deployment: str = "") -> Foo:
    return Foo(
        metadata=ObjectMeta(name=name, namespace="default"),
        spec=FooSpec(deployment_name=deployment or name, replicas=replicas),
    )


@contextmanager
def stopping(stop: threading.Event) -> Iterator[None]:
    """Sets ``stop`` on the way out."""
    try:
        yield
    finally:
        stop.set()


class World:
    """Everything that runs, and what a test does to it as a user would."""

    def __init__(self, server: EmbeddedAPIServer, client: Client, observer: Observer) -> None:
        self.server = server
        self.client = client
        self.foos = client.resource(Foo).namespace("default")
        self.deployments = client.resource(Deployment).namespace("default")
        self._observer = observer
        self._seen_foos = observer.lister(Foo).namespace("default")
        self._seen_deployments = observer.lister(Deployment).namespace("default")

    @classmethod
    def seen_by(cls, client: Client, server: EmbeddedAPIServer, stack: ExitStack) -> World:
        observer = stack.enter_context(Observer(client, Foo, Deployment, Event))
        return cls(server, client, observer)

    def create_foo(self, name: str, replicas: int | None = 1, deployment: str = "") -> Foo:
        return self.foos.create(new_foo(name, replicas, deployment))

    def scale(self, name: str, replicas: int) -> None:
        def attempt() -> None:
            foo = deep_copy(self.foos.get(name))
            foo.spec.replicas = replicas
            self.foos.update(foo)

        retry_on_conflict(attempt)

    def foo(self, name: str) -> Foo:
        return self._seen_foos.get(name)

    def deployment(self, name: str) -> Deployment:
        return self._seen_deployments.get(name)

    def events(self, reason: str) -> list[Event]:
        events = self._observer.lister(Event).namespace("default").list()
        return [event for event in events if event.reason == reason]

    def reconciled(self, name: str, replicas: int) -> bool:
        return (
            self.deployment(name).spec.replicas == replicas
            and self.foo(name).status.available_replicas == replicas
        )

    def eventually(self, seen: object, timeout: float = 60.0) -> None:
        assert callable(seen)
        assert self._observer.wait_until(seen, timeout), "not observed in time"


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=30)
        assert not thread.is_alive(), f"a thread was left running: {thread.name}"


@pytest.fixture
def server() -> Iterator[EmbeddedAPIServer]:
    with EmbeddedAPIServer() as server:
        yield server


@pytest.fixture
def client(server: EmbeddedAPIServer) -> Iterator[Client]:
    config = load_config(str(server.kubeconfig))
    # Without a client-side limit: five hundred Foos would take minutes at 5 requests a second.
    with Client(replace(config, qps=-1.0)) as client:
        install_crd(client)
        yield client


@pytest.fixture
def workers() -> int:
    return 2


@pytest.fixture
def world(server: EmbeddedAPIServer, client: Client, workers: int) -> Iterator[World]:
    with ExitStack() as stack:
        stack.enter_context(running("workloads", WorkloadSimulator(client).run))
        stack.enter_context(
            running("controller", lambda stop: run_controller(client, stop, workers))
        )
        yield World.seen_by(client, server, stack)


class Noticed(logging.Handler):
    """Waits until something has been logged that contains a text."""

    def __init__(self, text: str) -> None:
        super().__init__(logging.WARNING)
        self._text = text
        self._seen = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if self._text in record.getMessage():
            self._seen.set()

    def wait(self, timeout: float = 60.0) -> bool:
        return self._seen.wait(timeout)

    def __enter__(self) -> Noticed:
        logging.getLogger("clientgo").addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("clientgo").removeHandler(self)
