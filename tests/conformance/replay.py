"""Replay recordings of a real Kubernetes API server against another one, and compare.

    python -m tests.conformance.replay --server http://127.0.0.1:8001 [--scenario 'watch/*']

Each scenario prints ``ok``, ``FAIL`` or ``skip``; below a FAIL stands the first step that differs
and a diff (``-`` recorded, ``+`` this server). The last line is ``N passed, N failed``.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import difflib
import fnmatch
import json
import lzma
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import urllib3

from tests.conformance.normalisation import comparable
from tests.conformance.pointers import Json, PointerError
from tests.conformance.scenario import WAIT_TIMEOUT, Run, ScenarioError
from tests.conformance.transport import Client
from tests.conformance.webhook_server import WebhookServer

_DATA = Path(__file__).parents[1] / "data/conformance"

SCENARIOS = Path(os.environ.get("CLIENTGO_CONFORMANCE") or _DATA / "scenarios")
"""The recordings that are written by hand; CLIENTGO_CONFORMANCE names another directory."""

GENERATED = _DATA / "generated"
"""Recordings of scenarios that were sampled at random."""


@dataclass
class Outcome:
    """How one scenario went."""

    name: str
    verdict: str  # "ok", "FAIL", "skip"
    detail: str = ""
    seconds: float = 0.0


def differences(step: Mapping[str, Json], expected: Json, actual: Json) -> str:
    """Readable difference between two step results; empty when they agree."""
    compare_message = bool(step.get("compare_message", False))
    sides = comparable(expected, compare_message), comparable(actual, compare_message)
    left, right = (json.dumps(side, sort_keys=True) for side in sides)
    if left == right:
        return ""
    recorded, answered = (json.dumps(side, indent=2, sort_keys=True) for side in sides)
    lines = difflib.unified_diff(
        recorded.splitlines(), answered.splitlines(), "recorded", "this server", lineterm="", n=4
    )
    return "\n".join(lines)


def describe(step: Mapping[str, Json]) -> str:
    """One line telling a step."""
    what = step.get("op", "request")
    if "path" in step:
        what += f" {step.get('method', 'GET')} {step['path']}"
        if step.get("query"):
            what += "?" + "&".join(f"{key}={value}" for key, value in step["query"].items())
    return f"step {step.get('id', '?')}: {what}"


def check(run: Run) -> Outcome:
    """Replay a scenario and compare with its record."""
    started = time.monotonic()
    verdict, detail = "ok", ""
    try:
        run.prepare()
        run.set_up()
        for step in run.document["steps"]:
            if "expect" not in step:
                raise ScenarioError(f"{describe(step)} has no recorded answer")
            actual = run.execute(step)
            if difference := differences(step, step["expect"], actual):
                verdict, detail = "FAIL", f"{describe(step)}\n{difference}"
                break
    except (
        ScenarioError,
        PointerError,
        urllib3.exceptions.HTTPError,
        OSError,
        KeyError,
        TypeError,
        ValueError,
    ) as error:
        verdict, detail = "FAIL", f"{type(error).__name__}: {error}"
    finally:
        run.tear_down()
    return Outcome(run.name, verdict, detail, time.monotonic() - started)


def replay(
    client: Client,
    documents: Mapping[str, Json],
    *,
    jobs: int,
    skip: Sequence[str] = (),
    wait: float = WAIT_TIMEOUT,
) -> Iterator[Outcome]:
    """Run scenarios, several at a time, and yield how each went, in their order."""
    webhook = WebhookServer()

    def run_one(name: str) -> Outcome:
        document = documents[name]
        needs = set(document.get("requires", []))
        if unmet := needs & set(skip):
            return Outcome(name, "skip", "requires " + ", ".join(sorted(unmet)))
        hooks = webhook if "webhook" in needs else None
        return check(Run(name, document, client, hooks, wait))

    try:
        with concurrent.futures.ThreadPoolExecutor(jobs) as executor:
            yield from executor.map(run_one, documents)
    finally:
        webhook.close()


def load(folder: Path = SCENARIOS, pattern: str = "*") -> dict[str, Json]:
    """Scenarios by name (``area/name``): a file each, or an archive ``area.jsonl.xz`` an area."""
    documents = {
        path.relative_to(folder).with_suffix("").as_posix(): json.loads(path.read_bytes())
        for path in sorted(folder.glob("*/*.json"))
    }
    for archive in sorted(folder.glob("*.jsonl.xz")):
        for line in lzma.decompress(archive.read_bytes()).splitlines():
            document = json.loads(line)
            documents[document.pop("name")] = document
    return {
        name: document for name, document in documents.items() if fnmatch.fnmatch(name, pattern)
    }


def summary(outcomes: Sequence[Outcome]) -> str:
    """The last line: how many passed, failed and were skipped."""
    counts = {
        verdict: sum(item.verdict == verdict for item in outcomes)
        for verdict in ("ok", "FAIL", "skip")
    }
    skipped = f", {counts['skip']} skipped" if counts["skip"] else ""
    return f"{counts['ok']} passed, {counts['FAIL']} failed{skipped}"


def describe_failure(outcome: Outcome) -> str:
    """A failed scenario and where it differs."""
    return "\n     ".join([f"FAIL {outcome.name}", *outcome.detail.splitlines()])


def main(arguments: list[str] | None = None) -> int:
    """Replay from the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--server", metavar="URL", required=True, help="base URL of the API server")
    parser.add_argument("--token", help="bearer token")
    parser.add_argument("--ca", metavar="FILE", help="CA certificates to trust")
    parser.add_argument("--insecure", action="store_true", help="don't verify the certificate")
    parser.add_argument("--scenarios", metavar="DIR", type=Path, default=SCENARIOS)
    parser.add_argument("--scenario", metavar="GLOB", default="*", help="area/name must match")
    parser.add_argument("--skip", metavar="NEED", action="append", default=[])
    parser.add_argument("--jobs", metavar="N", type=int, default=4)
    parser.add_argument("--wait", metavar="SECONDS", type=float, default=WAIT_TIMEOUT)
    options = parser.parse_args(arguments)
    documents = load(options.scenarios, options.scenario)
    if not documents:
        print(f"no scenario matches {options.scenario!r} in {options.scenarios}", file=sys.stderr)
        return 2
    client = Client(options.server, options.token, options.ca, options.insecure)
    outcomes = []
    for outcome in replay(
        client, documents, jobs=options.jobs, skip=options.skip, wait=options.wait
    ):
        outcomes.append(outcome)
        shown = f"{outcome.verdict:4} {outcome.name}"
        print(describe_failure(outcome) if outcome.verdict == "FAIL" else shown, flush=True)
    print(summary(outcomes))
    return 1 if any(item.verdict == "FAIL" for item in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
