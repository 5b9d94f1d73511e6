"""Runs every scenario against this library and the official client, and prints who survives.

``make field-peers``. Each scenario runs in a process of its own, because an informer that hangs or
spins would disturb the next. With names of rows as arguments only those are run.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import platform
import sys
from collections.abc import Iterable
from importlib.metadata import version
from multiprocessing.connection import Connection

from tests.field.clientgo_subject import ClientgoSubject
from tests.field.official_subject import OfficialSubject
from tests.field.scenario import Field, Scenario
from tests.field.scenarios import all_scenarios
from tests.field.subject import MakeSubject

SUBJECTS: dict[str, MakeSubject] = {
    f"clientgo {version('clientgo')}": ClientgoSubject,
    f"kubernetes {version('kubernetes')}": OfficialSubject,
}

_PATIENCE = 8.0
"""Seconds for what must happen; the official client pauses 5 s after a list that failed."""

_LONGEST = 90.0
"""Seconds after which a scenario that does not end by itself counts as not survived."""

_processes = multiprocessing.get_context("fork")


def main(rows: Iterable[str]) -> None:
    wanted = set(rows)
    chosen = [each for each in all_scenarios() if not wanted or each.row in wanted]
    survived = dict.fromkeys(SUBJECTS, 0)
    print(f"Python {platform.python_version()}, {platform.system()}, {os.cpu_count()} cores\n")
    print("| row | what must hold | " + " | ".join(SUBJECTS) + " |")
    print("|---" * (2 + len(SUBJECTS)) + "|")
    for each in chosen:
        cells = []
        for name, make in SUBJECTS.items():
            has_survived, said = _outcome(each, make)
            survived[name] += has_survived
            cells.append(": ".join(filter(None, ("yes" if has_survived else "**no**", said))))
        print(f"| {each.row} | {each.claim} | " + " | ".join(cells) + " |", flush=True)
    totals = (f"{count} of {len(chosen)}" for count in survived.values())
    print("| | survived | " + " | ".join(totals) + " |")


def _outcome(scenario: Scenario, make: MakeSubject) -> tuple[bool, str]:
    ours, theirs = _processes.Pipe(duplex=False)
    process = _processes.Process(target=_run, args=(scenario, make, theirs))
    process.start()
    theirs.close()
    try:
        if ours.poll(_LONGEST):
            outcome: tuple[bool, str] = ours.recv()
            return outcome
        return False, f"it did not end within {_LONGEST:g} s"
    except EOFError:
        return False, "the process died"
    finally:
        process.kill()
        process.join()


def _run(scenario: Scenario, make: MakeSubject, outcome: Connection) -> None:
    logging.getLogger().addHandler(logging.NullHandler())
    field = Field(make, patience=_PATIENCE)
    try:
        outcome.send((True, scenario.run(field) or ""))
    except AssertionError as error:
        outcome.send((False, str(error)))
    except Exception as error:
        outcome.send((False, f"{type(error).__name__}: {error}"))
    os._exit(0)  # threads that a library cannot stop must not keep the process


if __name__ == "__main__":
    main(sys.argv[1:])
