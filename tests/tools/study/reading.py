"""Waiting for lines of a recording."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

from clientgo.tools.study.recording import Recording

Line = dict[str, Any]
TIMEOUT = 30.0


def is_at_rest(lines: Sequence[Line]) -> bool:
    """Return True if nothing follows from these hops any more, but for writes that come back."""
    waiting: set[str] = set()
    delayed: dict[str, float] = {}
    for line in lines:
        hop, key = line["hop"], line.get("key", "")
        if hop == "queue.add_after":
            delayed[key] = line["at"] + line["delay"]
        elif hop == "queue.add":
            waiting.add(key)
            if key in delayed and line["at"] > delayed[key] - 0.001:
                del delayed[key]
        elif hop == "queue.done" and not line["again"]:
            waiting.discard(key)
    hops = [line["hop"] for line in lines]
    is_handled = hops.count("handler.call") == hops.count("index.update") > 0
    changes = sum(line.get("event") in ("add", "update") for line in lines)  # each adds a key
    return is_handled and hops.count("queue.add") >= changes and not waiting and not delayed


class Reader:
    """Waits for lines of a recording, each once."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._position = 0
        self.seen: list[Line] = []

    def wait_for(self, what: str, wanted: Callable[[Line], object]) -> Line:
        """Return the next line that is wanted."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            part = self.recording.read(self._position, max(deadline - time.monotonic(), 0))
            # A controller that resyncs adds lines for ever.
            is_late = not part.lines or time.monotonic() > deadline
            assert not is_late, f"{what}: not seen within {TIMEOUT} s; the last {self.seen[-3:]}"
            for line in part.lines:
                self._position += 1
                read = json.loads(line)
                self.seen.append(read)
                if wanted(read):
                    return read

    def forget(self) -> None:
        """Look only at what follows."""
        part = self.recording.read(self._position, 0)
        self._position += len(part.lines)
        self.seen.clear()

    def has(self, hop: str, **fields: Any) -> bool:
        """Return True if a hop was seen already."""
        return any(line["hop"] == hop and fields.items() <= line.items() for line in self.seen)

    def see(self, hop: str, **fields: Any) -> Line:
        """Return the first hop of a kind that was seen or is seen now."""
        for line in self.seen:
            if line["hop"] == hop and fields.items() <= line.items():
                return line
        return self.wait_for_hop(hop, **fields)

    def settle(self) -> None:
        """Wait until nothing follows from what was seen."""
        if not is_at_rest(self.seen):
            self.wait_for("the controller at rest", lambda _: is_at_rest(self.seen))

    def wait_for_hop(self, hop: str, **fields: Any) -> Line:
        return self.wait_for(
            f"{hop} {fields}",
            lambda line: line["hop"] == hop and fields.items() <= line.items(),
        )
