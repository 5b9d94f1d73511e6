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
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.grid import Figure, Grid, Scale
from benchmarks.processes import memory, processor_time
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
from clientgo.rest import ConfigError, TransportError, load_config
from clientgo.workqueue import RateLimitingQueue, run_workers
from sample_controller.demo import MissingError, install_crd
from sample_controller.types import Foo, FooSpec

OURS: Final = "clientgo"
NAMESPACE: Final = "benchmark"
TIMEOUT: Final = 120
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


class Cell(NamedTuple):
    """What was measured, and its unit."""

    operation: str
    unit: str


SECONDS = Cell("until the statuses are written", "s")
CPU = Cell("processor time for a Foo", "ms")
MEMORY = Cell("most memory", "MB")


class Bench:
    """Creates the Foos, makes their Deployments available, and waits for the statuses."""

    def __init__(self, client: Client, count: int) -> None:
        self._client = client
        self._names = [f"foo-{number}" for number in range(count)]
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
            informers = factory.informer_for(Foo), factory.informer_for(Deployment)
            for informer in informers:
                informer.add_event_handler(
                    on_add=self._see,
                    on_update=lambda _, new: self._see(new),
                    on_delete=self._forget,
                )
            worker = threading.Thread(
                target=run_workers, args=(stop, self._queue, self._make_available)
            )
            factory.start(stop)
            wait_for_cache_sync(stop, *informers)
            worker.start()
            try:
                self._clean()
                yield
            finally:
                stop.set()
                worker.join()

    def measure(self, command: list[str]) -> dict[Cell, float]:
        """Run a controller for one round."""
        count = len(self._names)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as it:
            try:
                self._create(["warm-up"])
                self._wait(lambda: bool(self._ready), "it keeps a Deployment for a Foo", it)
                _wait_until_idle(it.pid)
                before, cpu, started = self._writes(), processor_time(it.pid), time.perf_counter()
                writers = [
                    threading.Thread(target=self._create, args=[self._names[number::_WRITERS]])
                    for number in range(_WRITERS)
                ]
                for writer in writers:
                    writer.start()
                self._wait(lambda: len(self._ready) > count, "the status of each Foo", it)
                seconds = time.perf_counter() - started
                for writer in writers:
                    writer.join()
                _wait_until_idle(it.pid)
                took = 1e3 * (processor_time(it.pid) - cpu) / count
                found = {SECONDS: seconds, CPU: took, MEMORY: memory("VmHWM", it.pid) / 2**20}
            finally:
                it.terminate()
        for what, sent in sorted((self._writes() - before).items()):
            found[Cell(f"{what}, for a Foo", "requests")] = sent / count
        self._clean()
        return found

    def _create(self, names: list[str]) -> None:
        for name in names:
            metadata = ObjectMeta(name=name, namespace=NAMESPACE)
            self._foos.create(
                Foo(metadata=metadata, spec=FooSpec(deployment_name=name, replicas=1))
            )

    def _clean(self) -> None:
        for kind in (Foo, Deployment, Event):
            self._client.resource(kind).namespace(NAMESPACE).delete_collection()
        self._wait(lambda: not self._left, "Foos and Deployments are deleted")

    def _see(self, obj: Foo | Deployment) -> None:
        with self._changed:
            self._left.add((obj.kind, obj.metadata.name))
            if isinstance(obj, Foo) and obj.status.available_replicas == obj.spec.replicas:
                self._ready.add(obj.metadata.name)
                self._changed.notify_all()
        if isinstance(obj, Deployment) and not (obj.status and obj.status.available_replicas):
            self._queue.add(ObjectName.of(obj))

    def _forget(self, gone: Foo | Deployment | DeletedFinalStateUnknown) -> None:
        obj = gone.obj if isinstance(gone, DeletedFinalStateUnknown) else gone
        with self._changed:
            self._left.discard((obj.kind, obj.metadata.name))
            self._ready.discard(obj.metadata.name)
            self._changed.notify_all()

    def _make_available(self, name: ObjectName) -> None:
        status = {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1}
        with suppress(NotFoundError):
            self._deployments.patch(name.name, {"status": status}, subresource="status")

    def _wait(
        self, seen: Callable[[], bool], what: str, process: subprocess.Popen[bytes] | None = None
    ) -> None:
        """Wait for what a controller does, while it runs."""
        with self._changed:
            for _ in range(TIMEOUT):
                if self._changed.wait_for(seen, 1.0):
                    return
                if process is not None and process.poll() is not None:
                    raise MissingError(f"it ended with {process.returncode}; run it to see why")
        raise MissingError(f"not within {TIMEOUT} s: {what}")

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
    """Measure, print the figures, write them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_server")
    add = parser.add_argument
    add("--kubeconfig", required=True, help="of a server on which nothing else happens")
    add("--beside", metavar="COMMAND", action="append", default=[], help="another controller")
    add("--foos", type=int, default=600)
    add("--rounds", type=int, default=5)
    add("--out", type=Path, help="write the result here, as JSON")
    options = parser.parse_args(arguments)
    ours = [sys.executable, "-m", "sample_controller", "--kubeconfig", options.kubeconfig]
    others = [shlex.split(command) for command in options.beside]
    commands = {OURS: ours, **{Path(command[0]).name: command for command in others}}
    grid, found, name = Grid(Scale.FULL), {each: [] for each in commands}, OURS
    try:
        with Client(load_config(options.kubeconfig)) as client:
            version = DiscoveryClient(client.config).server_version()
            grid.versions["API server"] = version.git_version
            with suppress(AlreadyExistsError):
                install_crd(client)
            with suppress(AlreadyExistsError):
                client.create(Namespace(metadata=ObjectMeta(name=NAMESPACE)))
            bench = Bench(client, options.foos)
            with bench.running():
                for _ in range(options.rounds):
                    for name, command in commands.items():
                        found[name].append(bench.measure(command))
    except (ConfigError, StatusError, TransportError, MissingError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    _add(grid, found, options.foos)
    if options.out:
        options.out.write_text(json.dumps(grid.result(), indent=1) + "\n", encoding="utf-8")
    return 0


def _add(grid: Grid, found: Mapping[str, list[dict[Cell, float]]], count: int) -> None:
    """Add the figures of each controller, ours with its ratios to the others."""
    for of in dict.fromkeys(cell for rounds in found.values() for each in rounds for cell in each):
        values = {name: [each.get(of, 0.0) for each in rounds] for name, rounds in found.items()}
        middle = {name: statistics.median(each) for name, each in values.items()}
        for name, each in values.items():
            if not middle[name]:
                continue  # a conflict now and then belongs to the run
            ratios = {}
            if name == OURS and of.unit != "requests":
                ratios = {peer: middle[peer] / middle[OURS] for peer in found if peer != OURS}
            cell = ("real server", of.operation, count, "2 workers", name, of.unit)
            grid.add(
                Figure(
                    *cell,
                    *(middle[name], min(each), max(each), ratios),
                    smaller_is_better=True,
                    is_peer=name != OURS or of.unit == "requests",
                )
            )


def _wait_until_idle(pid: int) -> None:
    """Wait until a process takes no processor time; there is nothing to be woken by."""
    spent = -1.0
    while (now := processor_time(pid)) - spent > _IDLE:
        spent = now
        time.sleep(SAMPLE)


if __name__ == "__main__":
    sys.exit(main())
