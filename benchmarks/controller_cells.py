"""The sample controller beside bare threads that send the same requests.

The API server is the embedded one, in a process of its own. For each Foo the controller creates a
Deployment and an event and writes the Foo's status; the threads send these three requests.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.grid import Figure, Grid
from clientgo.api.apps_v1 import Deployment
from clientgo.api.core_v1 import Event, Namespace, ObjectReference
from clientgo.client import Client
from clientgo.meta import ObjectMeta, deep_copy
from clientgo.rest import load_config
from clientgo.testing.observer import Observer
from sample_controller.__main__ import run
from sample_controller.controller import new_deployment
from sample_controller.demo import install_crd
from sample_controller.options import Options
from sample_controller.types import Foo, FooSpec

WORKERS = 4
TIMEOUT = 300.0


def measure(grid: Grid) -> None:
    """Measure the only cell of the layer."""
    count = grid.pick(tiny=3, quick=300, full=2_000)
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
    """Send the three requests of each Foo from threads; return the seconds."""
    with Client(load_config(kubeconfig)) as client:
        foos = _foos(client, namespace, count)
        parts = [foos[number::WORKERS] for number in range(WORKERS)]
        threads = [threading.Thread(target=_send, args=(client, part)) for part in parts]
        started = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.perf_counter() - started


def _send(client: Client, foos: list[Foo]) -> None:
    for foo in foos:
        namespace = foo.metadata.namespace
        client.resource(Deployment).namespace(namespace).create(new_deployment(foo))
        changed = deep_copy(foo)
        changed.status.available_replicas = 0
        client.resource(Foo).namespace(namespace).update_status(changed)
        client.resource(Event).namespace(namespace).create(
            Event(
                metadata=ObjectMeta(name=f"{foo.metadata.name}.1", namespace=namespace),
                involved_object=ObjectReference(
                    kind="Foo", namespace=namespace, name=foo.metadata.name, uid=foo.metadata.uid
                ),
                reason="Synced",
                message="Foo synced successfully",
                type="Normal",
            )
        )


def _controller(kubeconfig: str, namespace: str, count: int) -> float:
    """Run the sample controller until each Foo has its event; return the seconds."""
    stop = threading.Event()
    with Client(load_config(kubeconfig)) as client:
        _foos(client, namespace, count)
        with Observer(client, Event) as observer:
            events = observer.lister(Event).namespace(namespace)
            options = Options(namespace=namespace, workers=WORKERS)
            runner = threading.Thread(target=run, args=(client, options, stop))
            started = time.perf_counter()
            runner.start()
            try:
                if not observer.wait_until(lambda: len(events.list()) >= count, TIMEOUT):
                    raise RuntimeError(f"{len(events.list())} of {count} Foos after {TIMEOUT} s")
                return time.perf_counter() - started
            finally:
                stop.set()
                runner.join()
