"""Sends random requests to a server until the time is over; see the package."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.testcluster.server.fuzz.invariants import (
    check_lists,
    check_watches,
    check_writes,
    list_kinds,
    remove_guards,
)
from tests.testcluster.server.fuzz.source import Source
from tests.testcluster.server.fuzz.target import Failure, Target, watched
from tests.testcluster.server.fuzz.webhooks import OddWebhooks
from tests.testcluster.server.fuzz.wire import FuzzedRequest

_SHOWN = 3000
"""Bytes of a request that a failure prints; the file has all."""

_FOLLOWED = ("deletionTimestamp", "ownerReferences", "aggregationRule")
"""Fields of objects that a controller may be at work on when the server stops."""

_MOST_MEGABYTES = 1500.0
"""Memory of a server at the end of a round: history of each resource is bounded, by 64 MiB."""


@dataclass(slots=True)
class Report:
    """What has been found."""

    directory: Path
    requests: int = 0
    rounds: int = 0
    longest_wait: float = 0.0
    most_work: tuple[float, str] = (0.0, "none")
    """The processor time of the server while a request waited, and which request it was."""
    longest_wait_of_others: float = 0.0
    most_megabytes: float = 0.0
    failures: Counter[str] = field(default_factory=Counter)

    def add(self, place: str, request: FuzzedRequest | bytes | None, failure: Failure) -> None:
        """Count a failure; print the first one of its kind."""
        self.failures[failure.signature] += 1
        if self.failures[failure.signature] > 1:
            return
        print(f"\nFAILURE in {place}: {failure}")
        if request is None:
            return
        raw = request if isinstance(request, bytes) else request.encode()
        file = self.directory / f"{place.replace(' ', '-')}.http"
        file.write_bytes(raw)
        print(f"The request ({len(raw)} bytes, in {file}):\n{raw[:_SHOWN]!r}\n", flush=True)

    def line(self) -> str:
        """The figures so far."""
        return (
            f"{self.requests} requests in {self.rounds} rounds; longest wait "
            f"{self.longest_wait:.1f} s, most work {self.most_work[0]:.1f} s for "
            f"{self.most_work[1]}, longest wait of another client "
            f"{self.longest_wait_of_others:.1f} s; "
            f"at most {self.most_megabytes:.0f} MB; {len(self.failures)} sorts of failures"
        )


def run_round(
    seed: str,
    count: int,
    until: float,
    patience: float,
    report: Report,
    *,
    kept: bool,
    has_users: bool,
) -> None:
    """Send the requests of a round to a new server, and check its state at the end.

    With ``kept`` the server has a data directory, from which another one starts at the end; with
    ``has_users`` roles decide what some of the requests may do.
    """
    with tempfile.TemporaryDirectory() as directory, closing(OddWebhooks(seed)) as webhooks:
        options = ["--data-dir", f"{directory}/data"] if kept else []
        target = Target(options, patience, has_users=has_users)
        try:
            kinds, components = target.kinds()
            first = list_kinds(target, kinds)
            source = Source(seed, kinds, components, webhooks.client_config, has_users=has_users)
            with watched(target, patience) as waits:
                for number in range(count):
                    if time.monotonic() > until:
                        break
                    request = source.next()
                    report.requests += 1
                    begun = target.processor_seconds
                    try:
                        if isinstance(answer := target.send(request), dict):
                            source.note(answer)
                    except Failure as failure:
                        report.add(f"round {seed} request {number}", request, failure)
                        target.check_alive()
                    work = target.processor_seconds - begun
                    report.most_work = max(report.most_work, (work, f"{seed} request {number}"))
            report.longest_wait_of_others = max(report.longest_wait_of_others, *waits)
            if max(waits) >= patience:
                raise Failure(f"the health took {max(waits):.1f} s", "the health took long")
            remove_guards(target)
            kinds, _ = target.kinds()
            target.check_consistency(kinds)
            for found in (
                *check_lists(target, kinds),
                *check_watches(target, kinds, first),
                *check_writes(target, kinds),
            ):
                report.add(f"round {seed}", None, found)
            target.check_consistency(kinds)
            report.most_megabytes = max(report.most_megabytes, target.resident_megabytes)
            if target.resident_megabytes > _MOST_MEGABYTES:
                raise Failure(f"{target.resident_megabytes:.0f} MB", "memory")
            state = target.state(kinds) if kept else {}
            target.stop()
            if kept:
                again = Target(options, patience, target.port, has_users=has_users)
                _check_state(again, state)
        finally:
            report.longest_wait = max(report.longest_wait, target.longest_wait)
            target.kill()


def _check_state(target: Target, state: dict[str, Any]) -> None:
    """Check that a server has everything that the one before has kept; stop it."""
    try:
        again = target.state(target.kinds()[0])
        emptied = _terminating_namespaces(state)
        for path, obj in state.items():
            changes = any(field in str(obj) for field in _FOLLOWED)
            changes = changes or obj["metadata"].get("namespace") in emptied
            changes = changes or obj["kind"] == "ResourceQuota"  # what is used is counted again
            if again.get(path) != obj and not changes:
                raise Failure(f"after a restart {path} is {again.get(path)}, and was {obj}")
        target.stop()
    finally:
        target.kill()


def _terminating_namespaces(state: dict[str, Any]) -> set[str]:
    """Return the namespaces that the namespace controller may be emptying."""
    return {
        obj["metadata"]["name"]
        for obj in state.values()
        if (obj["apiVersion"], obj["kind"]) == ("v1", "Namespace")
        and "deletionTimestamp" in obj["metadata"]
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Return 1 if something was found."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.testcluster.server.fuzz", description=__doc__
    )
    parser.add_argument("--minutes", type=float, default=1.0, help="how long (default 1)")
    parser.add_argument("--seed", default="1", help="of all rounds (default 1)")
    parser.add_argument("--round", type=int, help="only this round, to see a failure again")
    parser.add_argument("--requests", type=int, default=10_000, help="of a round (default 10000)")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds for an answer")
    parser.add_argument("--save", type=Path, metavar="DIR", help="where failing requests are kept")
    options = parser.parse_args(argv)
    directory = options.save or Path(tempfile.mkdtemp(prefix="clientgo-fuzz-"))
    directory.mkdir(parents=True, exist_ok=True)
    report = Report(directory)
    until = time.monotonic() + 60 * options.minutes
    number = options.round or 0
    while time.monotonic() < until:
        seed = f"{options.seed}.{number}"
        try:
            run_round(
                seed,
                options.requests,
                until,
                options.patience,
                report,
                kept=number % 2 == 1,
                has_users=number % 4 >= 2,
            )
        except Failure as failure:
            report.add(f"round {seed}", None, failure)
        report.rounds += 1
        print(report.line(), flush=True)
        if options.round is not None:
            break
        number += 1
    for signature, count in report.failures.most_common():
        print(f"{count:6} {signature}")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
