#!/usr/bin/env python3
"""Write docs/evidence/conformance.md: how many recordings of a real API server are reproduced.

Replays every recording on an embedded server. The scenarios that were sampled at random and still
differ are listed in tests/conformance/differing.txt; tests/conformance fails when another one
differs, and when one of them no longer does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from clientgo.testcluster.server import EmbeddedAPIServer
from tests.conformance import replay
from tests.conformance.transport import Client

ROOT: Final = Path(__file__).parents[1]
DOCUMENT: Final = ROOT / "docs/evidence/conformance.md"
DIFFERING: Final = ROOT / "tests/conformance/differing.txt"

_WRITTEN: Final = {
    "apply": "server-side apply, managed fields, conflicts",
    "create": "dry run, field validation, names, media types, refusals",
    "crd": "structural schemas, pruning, defaults, CEL rules, versions, printer columns, removal",
    "crud": "life cycles of built-in kinds",
    "delete": "options, preconditions, finalizers, collections",
    "discovery": "per version and aggregated",
    "event": "one store, two API groups",
    "gc": "background, foreground, orphan",
    "lease": "leader election",
    "list": "selectors, paging, resource versions, Tables, metadata only",
    "namespace": "termination",
    "patch": "JSON, merge and strategic merge patch",
    "rbac": "roles and bindings as plain storage, access reviews",
    "server": "version, health, unknown paths",
    "subresource": "status, scale, tokens",
    "update": "optimistic locking, generation",
    "watch": "resuming, initial events, bookmarks, selectors, 410",
    "webhook": "mutating and validating, over HTTPS",
}
_SAMPLED: Final = {
    "apply": "server-side apply of built-in and custom kinds, with managed fields",
    "builtin": "defaults, validation and updates of built-in kinds",
    "cel": "validation rules of definitions",
    "crd": "definitions and custom resources",
    "deletion": "options, finalizers, preconditions",
    "listwatch": "options, selectors, tables, watches",
    "odd": "requests that clients rarely send",
    "patch": "patches of all three types",
}

_HEAD: Final = """\
# Conformance

Written by `make tables`; do not edit. The embedded API server is held to recordings of a real
Kubernetes 1.36 API server: scenarios of requests and watches with the answers of that server,
normalized where runs must differ (uids, versions, times). `make test` replays all of them; a
different answer fails the suite with a diff.

The same tool tests any running server:

```sh
python -m tests.conformance.replay --server http://127.0.0.1:8001 --scenario 'watch/*'
CLIENTGO_CONFORMANCE=/path/to/other/scenarios make test PYTEST_ARGS=tests/conformance
```
"""


def differing() -> set[str]:
    """Return the sampled scenarios that are known to differ."""
    return set(DIFFERING.read_text(encoding="utf-8").split())


def render(written: Mapping[str, object], sampled: Mapping[str, object], failed: set[str]) -> str:
    """Return the document."""
    return "\n".join(
        [
            _HEAD,
            "## Scenarios written by hand",
            "",
            *_table(_WRITTEN, written, set()),
            "",
            "There are no exceptions.",
            "",
            "## Scenarios sampled at random",
            "",
            "Kinds, verbs, bodies, patches and options are drawn at random. The ones that still",
            "differ are listed in `tests/conformance/differing.txt`.",
            "",
            *_table(_SAMPLED, sampled, failed),
            "",
        ]
    )


def _table(areas: Mapping[str, str], names: Mapping[str, object], failed: set[str]) -> list[str]:
    totals = Counter(name.partition("/")[0] for name in names)
    wrong = Counter(name.partition("/")[0] for name in failed)
    rows = [
        f"| {area} | {totals[area]} | {totals[area] - wrong[area]} | {about} |"
        for area, about in areas.items()
    ]
    total = f"| all | {totals.total()} | {totals.total() - wrong.total()} | |"
    return ["| area | scenarios | passing | what it is about |", "|---|---|---|---|", *rows, total]


def main() -> None:
    """Replay the sampled scenarios, and write the list and the document."""
    sampled = replay.load(replay.GENERATED)
    with EmbeddedAPIServer() as server:
        client = Client(server.url, token=None, ca=None, insecure=False)
        outcomes = list(replay.replay(client, sampled, jobs=8))
    failed = {item.name for item in outcomes if item.verdict == "FAIL"}
    DIFFERING.write_text("".join(f"{name}\n" for name in sorted(failed)), encoding="utf-8")
    DOCUMENT.write_text(render(replay.load(), sampled, failed), encoding="utf-8")


if __name__ == "__main__":
    main()
