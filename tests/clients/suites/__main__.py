"""Fetch the test suites of other clients and run them against the embedded API server.

::

    python -m tests.clients.suites                # all
    python -m tests.clients.suites kr8s kopf

A line for each suite, and one for each test that does what `suites.yaml` does not expect.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from pathlib import Path

from tests.clients.suites.suite import Suite, fetch, load_suites, run, unexpected


def main() -> int:
    """Run the suites; return 1 if a test does what is not expected."""
    suites = load_suites()
    parser = argparse.ArgumentParser(prog="python -m tests.clients.suites")
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"of {', '.join(suites)}")
    parser.add_argument("--directory", type=Path, default=Path(".suites"), help="(%(default)s)")
    options = parser.parse_args()
    # The simulator logs what it tries again because a test has deleted something meanwhile.
    logging.getLogger("clientgo").setLevel(logging.CRITICAL)
    if unknown := set(options.names) - set(suites):
        parser.error(f"no suite is called {', '.join(sorted(unknown))}")
    surprises = [
        _run(suites[name], options.directory.resolve()) for name in options.names or suites
    ]
    return 1 if any(surprises) else 0


def _run(suite: Suite, directory: Path) -> list[str]:
    directory.mkdir(parents=True, exist_ok=True)
    fetch(suite, directory)
    started = time.monotonic()
    outcome = run(suite, directory)
    seconds = time.monotonic() - started
    print(
        f"{suite.name} ({suite.package}): {len(outcome.passed)} passed, "
        f"{len(outcome.failed)} failed, {len(outcome.skipped)} skipped by the suite, "
        f"{len(suite.left_out)} left out ({seconds:.0f} s)",
        flush=True,
    )
    lines = unexpected(suite, outcome)
    for line in lines:
        print(f"  {line}", flush=True)
    return lines


if __name__ == "__main__":
    sys.exit(main())
