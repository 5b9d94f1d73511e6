"""Sees from the hops when a controller has nothing left to do."""

from __future__ import annotations

from typing import Final

from clientgo.tools.study.lessons.marks import Line

_KINDS: Final = {"foos": "Foo", "deployments": "Deployment"}


class Settling:
    """What is known of caches, handlers and queue, from the lines of a recording."""

    def __init__(self) -> None:
        self.cached: dict[tuple[str, str], str] = {}
        self.shown: dict[tuple[str, str], str] = {}
        self.watched: dict[str, str] = {}
        self._called: dict[tuple[str, str], str] = {}
        self._calling: set[str] = set()
        """Threads of handlers that have not enqueued a key yet, as each handler here does."""
        self._pending: set[str] = set()
        self._delayed: set[str] = set()

    def apply(self, line: Line) -> None:
        hop, about, thread = line["hop"], line.get("key", ""), line["thread"]
        if hop == "watch.event" and line["type"] != "ERROR":
            self.watched[line["of"]] = line["version"]
        elif hop == "index.update":
            self.cached[line["of"], about] = line["version"]
            if line["action"] == "delete":
                self.cached.pop((line["of"], about), None)
        elif hop == "study.object":
            kind = _KINDS[line["resource"]]
            self.shown[kind, about] = line["version"]
            if line["type"] == "DELETED":
                self.shown.pop((kind, about), None)
        elif hop == "handler.call":
            self._called[line["of"], about] = line["version"]
            self._calling.add(thread)
        elif hop == "queue.add":
            self._calling.discard(thread)
            self._pending.add(about)
            if thread.startswith("workqueue-delays"):
                self._delayed.discard(about)
        elif hop in ("queue.add_after", "queue.add_rate_limited"):
            self._delayed.add(about)
        elif hop == "queue.done" and not line["again"]:
            self._pending.discard(about)

    def is_idle(self) -> bool:
        is_told = self.cached.items() <= self._called.items()
        return is_told and not (self._calling or self._pending or self._delayed)
