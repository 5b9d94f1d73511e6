"""A watch by each client in a process of its own: libraries for Python, and client-go.

``python -m benchmarks.peer_cells`` measures client-go and ours alone, and writes the result that
the page of benchmarks takes client-go's figures from.

client-go runs where a Go toolchain is found and the program in ``benchmarks/go`` can be built.
Without access to its modules name a directory with a Go module that has them, for example in its
``vendor`` folder, in the variable ``CLIENT_GO``: the program is built as one of its packages.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.grid import RESULTS, Figure, Grid, Scale
from benchmarks.peers import PEERS
from clientgo.testing import bench

OURS = "clientgo"
GO = "client-go"
GO_SOURCE = Path(__file__).parent / "go"
TIMEOUT, BUILD_TIMEOUT = 120.0, 600.0
LONGEST = 10.0
"""Seconds after which a slow client runs no more rounds."""


Found = dict[str, list[dict[str, float]]]
"""What the runs of each client printed."""


class PeerError(Exception):
    """A client that can't do what is asked here, with the reason."""


def measure(grid: Grid, names: Sequence[str] = ()) -> None:
    """Run each client in turn, ours as one of them: its start, and few and many events.

    ``names`` are the clients for Python; without any, all.
    """
    count = grid.pick(tiny=20, quick=2_000, full=10_000)
    rounds = grid.pick(tiny=1, quick=3, full=5)
    few, many = grid.pick(tiny=8, quick=800, full=800), 4 * count
    with tempfile.TemporaryDirectory() as directory:
        commands = _commands(grid, Path(directory), names or list(PEERS))
        with bench.recorded_server(few // 4, few, "managed foo") as url:
            short = grid.pick(tiny=1, quick=1, full=5)  # most of it is the start of a process
            _add_start(grid, _rounds(grid, commands, url, 1, short))
            _add_rate(grid, _rounds(grid, commands, url, few, short), few)
        with bench.recorded_server(count, many, "managed foo") as url:
            found = _rounds(grid, commands, url, many, rounds)
    _add_rate(grid, found, many)
    _add_figures(grid, found, ("memory of this process", "MB"), many, "megabytes", 1.0)


def _rounds(
    grid: Grid, commands: dict[str, list[str]], url: str, events: int, rounds: int
) -> Found:
    """Let each client handle so many events; one that can't is run no more."""
    found: Found = {}
    for _ in range(rounds):
        for name, command in tuple(commands.items()):
            if sum(each["seconds"] for each in found.get(name, ())) > LONGEST:
                continue
            try:
                run = _run([*command, f"{url}/live", str(events)], TIMEOUT)
                found.setdefault(name, []).append(json.loads(run))
            except PeerError as error:
                found.pop(name, None)
                del commands[name]
                grid.skip(f"informer, watch beside {name}", str(error))
    return found


def _commands(grid: Grid, directory: Path, names: Sequence[str]) -> dict[str, list[str]]:
    """Return what runs each client, but for the address and the number of events."""
    if grid.scale is Scale.TINY:
        names = [OURS]
    python = [sys.executable, "-m", "benchmarks.peers"]
    commands = {name: [*python, name] for name in names}
    if grid.scale is Scale.FULL:
        try:
            program = _build(directory)
        except PeerError as error:
            grid.skip(f"informer, watch beside {GO}", str(error))
        else:
            built = _run(["go", "version", "-m", program], TIMEOUT)
            for name, pattern in (("go", r": go(\S+)"), (GO, r"\tk8s.io/client-go\tv(\S+)")):
                if found := re.search(pattern, built):
                    grid.versions[name] = found[1]
            commands[f"{GO}, typed"] = [program, "typed"]
            commands[f"{GO}, dynamic"] = [program, "dynamic"]
    return commands


def _build(directory: Path) -> str:
    """Build the program for client-go; return its path."""
    if shutil.which("go") is None:
        raise PeerError("no Go toolchain is installed")
    program = str(directory / "peer")
    if module := os.environ.get("CLIENT_GO"):
        package = "clientgo_benchmark"
        placed = {f"{Path(module).resolve()}/{package}/main.go": str(GO_SOURCE / "main.go")}
        overlay = directory / "overlay.json"
        overlay.write_text(json.dumps({"Replace": placed}), encoding="utf-8")
        build = ["go", "build", "-C", module, "-overlay", str(overlay)]
        _run([*build, "-o", program, f"./{package}"], BUILD_TIMEOUT)
    else:
        source = directory / "go"
        shutil.copytree(GO_SOURCE, source)
        build = ["go", "build", "-C", str(source), "-mod=mod", "-o", program, "."]
        _run(build, BUILD_TIMEOUT)
    return program


def _run(command: list[str], timeout: float) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired as error:
        raise PeerError(f"not done after {timeout:.0f} s") from error
    if done.returncode:
        raise PeerError((done.stderr.strip().splitlines() or ["no message"])[-1])
    return done.stdout


def _add_start(grid: Grid, found: Found) -> None:
    _add_figures(grid, found, ("start to the first event", "ms"), 0, "seconds", 1e3)
    _add_figures(grid, found, ("start by processor time", "ms"), 0, "cpu", 1e3)


def _add_rate(grid: Grid, found: Found, events: int) -> None:
    _add_figures(grid, found, ("watch in a process of its own", "events/s"), events, "seconds")
    _add_figures(grid, found, ("the same by processor time", "events/s"), events, "cpu")


def _add_figures(
    grid: Grid, found: Found, of: tuple[str, str], events: int, measured: str, factor: float = 0.0
) -> None:
    """Add a figure of each client, ours with its ratio to the others.

    That is what was measured times the factor; without one, events by what was measured.
    """
    operation, unit = of
    middles = {
        name: statistics.median(each[measured] for each in runs) for name, runs in found.items()
    }
    for name, runs in found.items():
        values = [factor * each[measured] if factor else events / each[measured] for each in runs]
        others = middles if name == OURS else {}
        ratios = {peer: theirs / middles[OURS] for peer, theirs in others.items()}
        ratios.pop(OURS, None)
        range_ = (statistics.median(values), min(values), max(values))
        cell = ("informer", operation, events, "", name, unit)
        smaller = bool(factor)
        grid.add(Figure(*cell, *range_, ratios, smaller_is_better=smaller, is_peer=name != OURS))


def main() -> None:
    """Measure ours beside client-go."""
    grid = Grid(Scale.FULL)
    measure(grid, [OURS])
    written = json.dumps(grid.result(), indent=1) + "\n"
    (RESULTS / "client-go.json").write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main()
