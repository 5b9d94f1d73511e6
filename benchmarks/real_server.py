"""The sample controller beside others on one API server: ``python -m benchmarks.real_server``.

Controllers run in turn, each in a process of its own::

    python -m benchmarks.real_server --kubeconfig F --beside './sample-controller --kubeconfig F'

A round creates Foos while the controller runs, and makes each Deployment available by writing its
status, as kubelets and the Deployment controller would. It ends when the status of each Foo says
so. Processor time is that of the controller alone, until it is idle again. What the controller
wrote is taken from the metrics of the API server, if it has them: this program sends other writes.

A controller has to keep a Deployment for each Foo, as Kubernetes' sample-controller does. Give all
the same limit of requests: client-go's default is 5 a second, ours has none. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from benchmarks.grid import Figure, Grid, Scale
from clientgo.api.apps_v1 import Deployment
from clientgo.api.core_v1 import Event, Namespace
from clientgo.cache import DeletedFinalStateUnknown, wait_for_cache_sync
from clientgo.client import Client, DiscoveryClient
from clientgo.informers import SharedInformerFactory
from clientgo.meta import (
    AlreadyExistsError,
    GroupVersion,
    NotFoundError,
    ObjectMeta,
    ObjectName,
    StatusError,
)
from clientgo.rest import load_config
from clientgo.workqueue import RateLimitingQueue, run_workers
from sample_controller.demo import install_crd
from sample_controller.types import Foo, FooSpec

OURS: Final = "clientgo"
NAMESPACE: Final = "benchmark"
TIMEOUT: Final = 120.0
_WRITERS: Final = 2
SAMPLE = 1.0
_IDLE: Final = 0.02
"""A process is idle that takes less processor time than this in one sample, both in seconds."""
_COUNTED: Final = re.compile(r"^apiserver_request_total\{(.*)\} (\S+)$", re.MULTILINE)
_OF_CONTROLLER: Final = {
    ("deployments", "", "POST"): "Deployments created",
    ("deployments", "", "PUT"): "Deployments updated",
    ("foos", "status", "PUT"): "statuses written",
    ("events", "", "POST"): "events created",
    ("events", "", "PATCH"): "events counted up",
}


@dataclass(frozen=True)
class Round:
    """What one round of one controller took."""

    seconds: float
    cpu: float
    megabytes: float
    writes: Mapping[str, int]


class Bench:
    """Creates the Foos, makes their Deployments available, and waits for the statuses."""

    def __init__(self, client: Client, count: int) -> None:
        self._client = client
        self._count = count
        self._foos = client.resource(Foo).namespace(NAMESPACE)
        self._deployments = client.resource(Deployment).namespace(NAMESPACE)
        self._queue: RateLimitingQueue[ObjectName] = RateLimitingQueue()
        self._changed = threading.Condition()
        self._ready: set[str] = set()
        self._left: set[tuple[str, str]] = set()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Watch Foos and Deployments until the end of the block."""
        stop = threading.Event()
        with SharedInformerFactory(self._client, namespace=NAMESPACE) as factory:
            foos = factory.informer_for(Foo)
            deployments = factory.informer_for(Deployment)
            foos.add_event_handler(
                on_add=self._see, on_update=lambda _, new: self._see(new), on_delete=self._forget
            )
            deployments.add_event_handler(on_add=self._see, on_delete=self._forget)
            worker = threading.Thread(
                target=run_workers, args=(stop, self._queue, self._make_available)
            )
            factory.start(stop)
            wait_for_cache_sync(stop, foos, deployments)
            worker.start()
            try:
                self._clean()
                yield
            finally:
                stop.set()
                worker.join()

    def measure(self, command: list[str]) -> Round:
        """Run a controller for one round."""
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as it:
            try:
                self._create("warm-up", 1)
                self._wait(lambda: bool(self._ready), f"{command[0]} keeps a Deployment for a Foo")
                _wait_until_idle(it.pid)
                before, cpu, started = self._writes(), _cpu(it.pid), time.perf_counter()
                parts = [
                    threading.Thread(target=self._create, args=(f"foo-{each}", number))
                    for each, number in enumerate(_shares(self._count, _WRITERS))
                ]
                for part in parts:
                    part.start()
                self._wait(lambda: len(self._ready) > self._count, "the status of each Foo")
                seconds = time.perf_counter() - started
                for part in parts:
                    part.join()
                _wait_until_idle(it.pid)
                done = Round(seconds, _cpu(it.pid) - cpu, _peak(it.pid), self._writes() - before)
            finally:
                it.terminate()
        self._clean()
        return done

    def _create(self, prefix: str, count: int) -> None:
        for each in range(count):
            name = f"{prefix}-{each}"
            self._foos.create(
                Foo(
                    metadata=ObjectMeta(name=name, namespace=NAMESPACE),
                    spec=FooSpec(deployment_name=name, replicas=1),
                )
            )

    def _clean(self) -> None:
        for kind in (Foo, Deployment, Event):
            self._client.resource(kind).namespace(NAMESPACE).delete_collection()
        self._wait(lambda: not self._left, "Foos and Deployments are deleted")

    def _see(self, obj: Foo | Deployment) -> None:
        with self._changed:
            self._left.add((type(obj).__name__, obj.metadata.name))
            if isinstance(obj, Deployment):
                self._queue.add(ObjectName.of(obj))
            elif obj.status.available_replicas == obj.spec.replicas:
                self._ready.add(obj.metadata.name)
                self._changed.notify_all()

    def _forget(self, gone: Foo | Deployment | DeletedFinalStateUnknown) -> None:
        obj = gone.obj if isinstance(gone, DeletedFinalStateUnknown) else gone
        with self._changed:
            self._left.discard((type(obj).__name__, obj.metadata.name))
            self._ready.discard(obj.metadata.name)
            self._changed.notify_all()

    def _make_available(self, name: ObjectName) -> None:
        status = {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1}
        with suppress(NotFoundError):
            self._deployments.patch(name.name, {"status": status}, subresource="status")

    def _wait(self, seen: Callable[[], bool], what: str) -> None:
        with self._changed:
            if not self._changed.wait_for(seen, TIMEOUT):
                raise TimeoutError(f"not within {TIMEOUT:.0f} s: {what}")

    def _writes(self) -> Counter[str]:
        """Return how many writes of a controller the server has answered, by kind."""
        request = self._client.rest(GroupVersion("", "v1")).get().absolute_path("/metrics")
        try:
            text = request.do_raw().decode()
        except StatusError:
            return Counter()
        found: Counter[str] = Counter()
        for labels, value in _COUNTED.findall(text):
            of = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            what = _OF_CONTROLLER.get((of["resource"], of["subresource"], of["verb"]))
            if what is not None:
                refused = "" if of["code"].startswith("2") else f", {of['code']}"
                found[what + refused] += int(float(value))
        return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, write the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_server")
    add = parser.add_argument
    add("--kubeconfig", required=True, help="of a server on which nothing else happens")
    add("--beside", metavar="COMMAND", action="append", default=[], help="another controller")
    add("--foos", type=int, default=600)
    add("--rounds", type=int, default=5)
    add("--out", type=Path, help="write the result here, as JSON")
    options = parser.parse_args(arguments)
    ours = [sys.executable, "-m", "sample_controller", "--kubeconfig", options.kubeconfig]
    commands = {OURS: ours}
    for text in options.beside:
        command = shlex.split(text)
        commands[Path(command[0]).name] = command
    grid = Grid(Scale.FULL)
    with Client(load_config(options.kubeconfig)) as client:
        discovery = DiscoveryClient(client.config)
        grid.versions["API server"] = discovery.server_version().git_version
        with suppress(AlreadyExistsError):
            install_crd(client)
        with suppress(AlreadyExistsError):
            client.resource(Namespace).create(Namespace(metadata=ObjectMeta(name=NAMESPACE)))
        bench = Bench(client, options.foos)
        found: dict[str, list[Round]] = {name: [] for name in commands}
        with bench.running():
            for _ in range(options.rounds):
                for name, command in commands.items():
                    found[name].append(bench.measure(command))
    _add(grid, found, options.foos)
    if options.out:
        options.out.write_text(json.dumps(grid.result(), indent=1) + "\n", encoding="utf-8")
    return 0


def _add(grid: Grid, found: Mapping[str, list[Round]], count: int) -> None:
    """Add the figures of each controller, ours with its ratios to the others."""
    for operation, unit, field, factor in (
        ("until the statuses are written", "s", "seconds", 1.0),
        ("processor time for a Foo", "ms", "cpu", 1e3 / count),
        ("most memory", "MB", "megabytes", 1.0),
    ):
        values = {
            name: [factor * getattr(each, field) for each in rounds]
            for name, rounds in found.items()
        }
        middle = {name: statistics.median(each) for name, each in values.items()}
        for name, each in values.items():
            ratios = {peer: middle[peer] / middle[OURS] for peer in found if peer != OURS}
            cell = ("real server", operation, count, "2 workers", name, unit)
            grid.add(
                Figure(
                    *cell,
                    middle[name],
                    min(each),
                    max(each),
                    ratios if name == OURS else {},
                    smaller_is_better=True,
                    is_peer=name != OURS,
                )
            )
    for name, rounds in found.items():
        for what in sorted(set().union(*(each.writes for each in rounds))):
            counts = [each.writes.get(what, 0) / count for each in rounds]
            cell = ("real server", f"{what}, for a Foo", count, "2 workers", name, "requests")
            figure = Figure(*cell, statistics.median(counts), min(counts), max(counts))
            if figure.value:  # a conflict now and then belongs to the run
                grid.add(replace(figure, smaller_is_better=True, is_peer=True))


def _shares(count: int, parts: int) -> list[int]:
    return [count // parts + (each < count % parts) for each in range(parts)]


def _wait_until_idle(pid: int) -> None:
    """Wait until a process takes no processor time; there is nothing to be woken by."""
    spent = -1.0
    while (now := _cpu(pid)) - spent > _IDLE:
        spent = now
        time.sleep(SAMPLE)


def _cpu(pid: int) -> float:
    """Return the seconds of processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _peak(pid: int) -> float:
    """Return the most memory of a process so far, in MB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    found = re.search(r"VmHWM:\s*(\d+)", status)
    return int(found[1]) / 1024 if found else 0.0


if __name__ == "__main__":
    sys.exit(main())
