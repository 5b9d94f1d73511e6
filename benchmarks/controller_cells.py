"""The sample controller beside bare threads that send the same requests.

The API server is the embedded one, in a process of its own. For each Foo the controller creates a
Deployment, writes the status, creates an event, and counts the event up when the Deployment comes
back from the server; the threads send these four requests. Both sides end when an informer in this
process has seen that the event of each Foo is counted up.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.grid import Figure, Grid, Scale
from clientgo.api.apps_v1 import Deployment
from clientgo.api.core_v1 import Event, Namespace, ObjectReference
from clientgo.client import Client
from clientgo.informers import SharedInformerFactory
from clientgo.meta import ObjectMeta
from clientgo.record import EventBroadcaster, EventSink
from clientgo.rest import load_config
from sample_controller.__main__ import RESYNC
from sample_controller.controller import NAME, Controller, new_deployment
from sample_controller.demo import install_crd
from sample_controller.types import Foo, FooSpec, FooStatus

WORKERS = 4
TIMEOUT = 300.0


def measure(grid: Grid) -> None:
    """Measure every cell of the layer."""
    _reconciles(grid)
    if grid.scale is Scale.FULL:
        _syncs_in_processes(grid)


def _syncs_in_processes(grid: Grid) -> None:
    """Measure processes that share the objects; each sync computes for 2 ms."""
    example = Path(__file__).parent.parent / "examples/shared_work.py"
    for count in (1, 2):
        command = [sys.executable, "-m", "clientgo", "apiserver", "--listen", "127.0.0.1:0"]
        command += ["--", sys.executable, str(example), str(count), "5"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=True)
        rate = sum(map(float, re.findall(r"(\d+) syncs a second", done.stdout)))
        cell = ("controller", "syncs of 2 ms", 64, f"{count} processes", "ControlLoop", "syncs/s")
        grid.add(Figure(*cell, rate, rate, rate))


def _reconciles(grid: Grid) -> None:
    # The recorder queues 1,000 events and drops the rest; a Foo makes three at most.
    count = grid.pick(tiny=3, quick=200, full=300)
    rounds = grid.pick(tiny=1, quick=3, full=5)
    seconds: dict[str, list[float]] = {"sample controller": [], "bare threads": []}
    with _server() as kubeconfig:
        _bare(kubeconfig, "warm-up", 3)
        _controller(kubeconfig, "warm-up-too", 3)
        for number in range(rounds):
            seconds["bare threads"].append(_bare(kubeconfig, f"bare-{number}", count))
            seconds["sample controller"].append(_controller(kubeconfig, f"foos-{number}", count))
    pairs = zip(seconds["bare threads"], seconds["sample controller"], strict=True)
    ratio = sorted(bare / ours for bare, ours in pairs)[rounds // 2]
    for name, each in seconds.items():
        rates = sorted(count / one for one in each)
        cell = ("controller", "reconciles", count, f"{WORKERS} workers", name, "Foos/s")
        is_peer = name == "bare threads"
        ratios = {} if is_peer else {"bare threads": ratio}
        middle = rates[len(rates) // 2]
        grid.add(Figure(*cell, middle, rates[0], rates[-1], ratios, is_peer=is_peer))


@contextmanager
def _server() -> Iterator[str]:
    """Start a server that has Foos; yield its kubeconfig."""
    with tempfile.TemporaryDirectory() as directory:
        kubeconfig = str(Path(directory) / "kubeconfig")
        command = [sys.executable, "-m", "clientgo", "apiserver", "--listen", "127.0.0.1:0"]
        command += ["--insecure-loopback", "--kubeconfig", kubeconfig]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            process.stdout.readline()
            process.stdout.readline()
            try:
                with Client(load_config(kubeconfig)) as client:
                    install_crd(client)
                yield kubeconfig
            finally:
                process.terminate()


def _foos(client: Client, namespace: str, count: int) -> list[Foo]:
    client.resource(Namespace).create(Namespace(metadata=ObjectMeta(name=namespace)))
    foos = client.resource(Foo).namespace(namespace)
    return [
        foos.create(
            Foo(
                metadata=ObjectMeta(name=f"foo-{number}", namespace=namespace),
                spec=FooSpec(deployment_name=f"foo-{number}", replicas=1),
            )
        )
        for number in range(count)
    ]


def _bare(kubeconfig: str, namespace: str, count: int) -> float:
    """Send the four requests of each Foo from threads; return the seconds."""
    with Client(load_config(kubeconfig)) as client, _events(client, namespace, count) as all_seen:
        foos = _foos(client, namespace, count)
        parts = [foos[number::WORKERS] for number in range(WORKERS)]
        threads = [threading.Thread(target=_send, args=(client, part)) for part in parts]
        started = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        _wait(all_seen)
        return time.perf_counter() - started


def _send(client: Client, foos: list[Foo]) -> None:
    for foo in foos:
        namespace = foo.metadata.namespace
        client.resource(Deployment).namespace(namespace).create(new_deployment(foo))
        foo.status = FooStatus(available_replicas=0)
        client.resource(Foo).namespace(namespace).update_status(foo)
        events = client.resource(Event).namespace(namespace)
        created = events.create(
            Event(
                metadata=ObjectMeta(name=f"{foo.metadata.name}.1", namespace=namespace),
                involved_object=ObjectReference(
                    kind="Foo", namespace=namespace, name=foo.metadata.name, uid=foo.metadata.uid
                ),
                reason="Synced",
                message="Foo synced successfully",
                type="Normal",
                count=1,
            )
        )
        events.patch(created.metadata.name, {"count": 2})


def _controller(kubeconfig: str, namespace: str, count: int) -> float:
    """Run the sample controller until the event of each Foo is counted up; return the seconds."""
    stop = threading.Event()
    with Client(load_config(kubeconfig)) as client, _events(client, namespace, count) as all_seen:
        _foos(client, namespace, count)
        runner = threading.Thread(target=_run, args=(client, namespace, stop))
        started = time.perf_counter()
        runner.start()
        try:
            _wait(all_seen)
            return time.perf_counter() - started
        finally:
            stop.set()
            runner.join()


def _run(client: Client, namespace: str, stop: threading.Event) -> None:
    """Run the sample controller in one namespace."""
    with (
        EventBroadcaster() as broadcaster,
        SharedInformerFactory(client, RESYNC, namespace=namespace) as factory,
    ):
        broadcaster.start_recording_to_sink(EventSink(client))
        controller = Controller(client, factory, broadcaster.new_recorder(NAME))
        factory.start(stop)
        controller.run(stop, WORKERS)


@contextmanager
def _events(client: Client, namespace: str, count: int) -> Iterator[threading.Event]:
    """Watch events; what is yielded is set when so many in the namespace are counted up."""
    all_seen, seen = threading.Event(), set[str]()

    def see(event: Event) -> None:
        if event.metadata.namespace == namespace and (event.count or 0) > 1:
            seen.add(event.metadata.name)
            if len(seen) == count:
                all_seen.set()

    with SharedInformerFactory(client) as factory:
        factory.informer_for(Event).add_event_handler(on_add=see, on_update=lambda _, new: see(new))
        stop = threading.Event()
        factory.start(stop)
        factory.wait_for_cache_sync(stop)
        yield all_seen


def _wait(all_seen: threading.Event) -> None:
    if not all_seen.wait(TIMEOUT):
        raise RuntimeError(f"there are Foos without an event after {TIMEOUT} s")
