"""A short recording: a Foo is created, synced, fails, and is retried."""

from __future__ import annotations

import json
from typing import Any

FOO = "default/foo-1"
REFLECTOR, HANDLER, WORKER = "Foo reflector", "Foo handler 1", "worker-1"


def version(number: int, replicas: int) -> dict[str, Any]:
    """Return a version of the Foo; its fields are not always in the same order."""
    metadata = {"name": "foo-1", "resourceVersion": str(number)}
    spec = {"deploymentName": "foo-1", "replicas": replicas}
    if number % 2:
        metadata, spec = (dict(reversed(part.items())) for part in (metadata, spec))
    return {"kind": "Foo", "metadata": metadata, "spec": spec}


def foo(number: int, replicas: int, kind: str) -> tuple[str, dict[str, Any]]:
    changed = {"resource": "foos", "type": kind, "object": version(number, replicas)}
    return "study.object", {"key": FOO, "version": str(number), "thread": "study foos"} | changed


def informed(number: int, kind: str, outcome: str) -> list[tuple[str, dict[str, Any]]]:
    about = {"of": "Foo", "key": FOO, "version": str(number)}
    action = {"ADDED": "add", "MODIFIED": "update"}[kind]
    return [
        ("watch.event", {"type": kind, "thread": REFLECTOR, **about}),
        ("fifo.append", {"delta": kind.title(), "thread": REFLECTOR, **about}),
        ("fifo.pop", {"deltas": [kind.title()], "thread": "Foo", **about}),
        ("index.update", {"action": action, "thread": "Foo", **about}),
        ("handler.call", {"handler": "Foos", "event": action, "thread": HANDLER, **about}),
        ("queue.add", {"of": "foos", "key": FOO, "outcome": outcome, "thread": HANDLER}),
    ]


SYNC = {"of": "foos", "key": FOO, "thread": WORKER}
CODE = {
    "file": "demo/controller.py",
    "line": 2,
    "first": 1,
    "text": ["def sync(name):", "    1 / 0"],
}

HOPS: list[tuple[str, dict[str, Any]]] = [
    ("study.target", {"informers": ["Foo"]}),
    ("study.source", {"of": "sync", "whose": "own", **CODE}),
    ("watch.opened", {"of": "Foo", "version": "1", "thread": REFLECTOR}),
    foo(2, 1, "ADDED"),
    *informed(2, "ADDED", "new"),
    ("queue.get", SYNC),
    ("sync.start", SYNC),
    foo(3, 4, "MODIFIED"),
    *informed(3, "MODIFIED", "while_processing"),
    ("sync.end", {"error": "ZeroDivisionError: division by zero", "seconds": 0.01, **SYNC}),
    ("queue.add_rate_limited", {"delay": 0.5, "failures": 1, **SYNC}),
    ("queue.add_after", {"delay": 0.5, **SYNC}),
    ("queue.done", {"again": True, **SYNC}),
]


def recorded() -> list[bytes]:
    """Return the lines of the recording."""
    return [
        json.dumps(
            {"n": n, "at": n / 100, "thread": "main", "hop": hop, "of": "", **details}
        ).encode()
        for n, (hop, details) in enumerate(HOPS, 1)
    ]


def place_of(hop: str, number: int = 1) -> int:
    """Return how many lines there are up to and with the n-th hop of a name."""
    places = [place for place, (name, _) in enumerate(HOPS, 1) if name == hop]
    return places[number - 1]
