"""Runs rounds until the time is over; see the package."""

from __future__ import annotations

import argparse
import faulthandler
import gc
import logging
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from clientgo.cache.reflector import reflector
from tests.soak.clients import SoakClient
from tests.soak.events import Recorder
from tests.soak.faults import Faults
from tests.soak.findings import Findings, LogWatch, resident_megabytes
from tests.soak.informers import QUICK, InformerRun
from tests.soak.leaders import Leaders
from tests.soak.operators import Operator
from tests.soak.queues import QueueController, Replicas
from tests.soak.world import SILENCE, World
from tests.soak.writers import Writer

SETTLED = 90.0
"""Seconds after the faults in which everything has to be as on the server. A streamed list whose
end was withheld takes 60 of them."""

LARGE_ROUNDS = 0.05
"""The part of the rounds that has 10,000 objects."""

_SORTS: dict[str, tuple[Callable[[World], SoakClient], float]] = {
    "queue": (QueueController, 0.6),
    "shards": (Replicas, 0.4),
    "leaders": (Leaders, 0.5),
    "events": (Recorder, 0.5),
    "operator": (Operator, 0.5),
}
"""The sorts of clients beside informers, and in which part of the rounds each one runs."""


class Round:
    """One server with its clients: phases of faults, and a check after each."""

    def __init__(self, seed: str, findings: Findings, seconds: float, only: str) -> None:
        self._seed = seed
        self._findings = findings
        self._seconds = seconds
        self._only = only
        self._rng = random.Random(seed)
        self._clients: list[SoakClient] = []

    def run(self, phases: int) -> None:
        """Run all phases, stop the clients, and check that nothing is left of them."""
        findings = self._findings
        findings.place = f"round {self._seed}"
        before = set(threading.enumerate()), open_files()
        with tempfile.TemporaryDirectory() as directory:
            world = World(self._rng, findings, directory if self._rng.random() < 0.3 else None)
            try:
                self._run_phases(world, phases)
            finally:
                findings.place = f"round {self._seed} end"
                self._stop_clients()
                world.close()
        del world
        findings.await_that(lambda: _threads_left(before[0]), "threads are left", 30.0)
        findings.await_that(lambda: _files_left(before[1]), "files are left open", 30.0)
        findings.check_freed()

    def _run_phases(self, world: World, phases: int) -> None:
        rng, findings = self._rng, self._findings
        writers = [Writer(world, f"{self._seed}.{n}", rng.choice((5, 40, 300))) for n in "ab"]
        if rng.random() < LARGE_ROUNDS:
            writers[0].fill(10_000)
        for _ in range(rng.choice((0, 50, 500))):
            writers[0].write()
        self._start_clients(world)
        for phase in range(phases):
            findings.place = f"round {self._seed} phase {phase}"
            stops_early = phase == phases - 1 and rng.random() < 0.4
            self._run_phase(world, writers, stops_early=stops_early)
            for client in self._clients:
                kind = f"{type(client).__name__} has not settled"
                findings.await_that(client.problem, kind, SETTLED)

    def _start_clients(self, world: World) -> None:
        shared = world.client("informers")
        if self._only in ("", "informers"):
            numbers = range(self._rng.randint(2, 6))
            self._clients += [InformerRun(world, shared, number) for number in numbers]
        for name, (start, chance) in _SORTS.items():
            if self._only == name or (not self._only and self._rng.random() < chance):
                self._clients.append(start(world))

    def _run_phase(self, world: World, writers: list[Writer], *, stops_early: bool) -> None:
        """Write, fail and disturb for some seconds, then end the faults and the writers.

        With ``stops_early`` the clients are stopped while the server fails.
        """
        stop = threading.Event()
        faults = Faults(world, str(self._rng.random()))
        runs = [*(writer.run for writer in writers), faults.run]
        threads = [threading.Thread(target=run, args=(stop,), daemon=True) for run in runs]
        for thread in threads:
            thread.start()
        self._disturb_clients()
        if stops_early:
            self._stop_clients()
        stop.set()
        for thread in threads:
            thread.join(60)
            if thread.is_alive():
                self._findings.fail("a writer or the faults do not end", str(thread))
        faults.end()
        if self._rng.random() < 0.15:
            faults.lose_state()

    def _disturb_clients(self) -> None:
        rng, clients = self._rng, self._clients
        deadline = time.monotonic() + self._seconds
        while time.monotonic() < deadline:
            index = rng.randrange(len(clients))
            if rng.random() < 0.2:
                clients[index] = clients[index].replaced()
            else:
                clients[index].disturb()
            time.sleep(rng.choice((0.0, 0.1, 0.5)))

    def _stop_clients(self) -> None:
        for client in self._clients:
            client.stop()
        self._clients = []


def open_files() -> int:
    """Return how many files and sockets are open, 0 where that is not known."""
    directory = Path("/proc/self/fd")
    return len(list(directory.iterdir())) if directory.is_dir() else 0


def _threads_left(before: set[threading.Thread]) -> str:
    names = [thread.name for thread in threading.enumerate() if thread not in before]
    return ", ".join(n for n in names if not n.startswith(("asyncio_", "apiserver-large")))


def _files_left(before: int) -> str:
    gc.collect()
    now = open_files()
    return f"{now}, and {before} before" if now > before + 2 else ""


@contextmanager
def observed(findings: Findings) -> Iterator[LogWatch]:
    """Watch the log and the threads; let reflectors pause for a shorter time than usual."""
    watch = LogWatch(findings)
    library = logging.getLogger("clientgo")
    level, library.propagate = library.level, False
    library.setLevel(logging.INFO)

    def thread_ended(args: threading.ExceptHookArgs) -> None:
        findings.fail("a thread ended", f"{args.thread}: {args.exc_value!r}")

    library.addHandler(watch)
    try:
        with (
            mock.patch.object(threading, "excepthook", thread_ended),
            mock.patch.object(reflector, "DEFAULT_DELAYS", QUICK),
            mock.patch.object(reflector, "LONGEST_SILENCE", SILENCE),
        ):
            yield watch
    finally:
        library.removeHandler(watch)
        library.setLevel(level)
        library.propagate = True


def main(argv: Sequence[str] | None = None) -> int:
    """Return 1 if something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="how long (default 1)")
    parser.add_argument("--seed", default="1", help="of all rounds (default 1)")
    parser.add_argument("--round", type=int, help="only this round")
    parser.add_argument("--phases", type=int, default=3, help="of a round (default 3)")
    parser.add_argument("--seconds", type=float, default=4.0, help="of a phase (default 4)")
    parser.add_argument(
        "--only", default="", choices=("", "informers", *_SORTS), help="one sort of clients"
    )
    parser.add_argument("--logs", action="store_true", help="print the log lines at the end")
    options = parser.parse_args(argv)
    findings = Findings()
    until = time.monotonic() + 60 * options.minutes
    number = options.round or 0
    with observed(findings) as watch:
        while time.monotonic() < until:
            seed = f"{options.seed}.{number}"
            Round(seed, findings, options.seconds, options.only).run(options.phases)
            findings.count("rounds")
            kinds = len(findings.failures)
            memory = resident_megabytes()
            print(f"round {seed}: {memory:.0f} MB, {kinds} sorts of failures", flush=True)
            if options.round is not None:
                break
            number += 1
    print(findings.report())
    if options.logs:
        print(watch.report())
    return 1 if findings.failures else 0


if __name__ == "__main__":
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    sys.exit(main())
