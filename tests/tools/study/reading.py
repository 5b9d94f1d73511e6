"""Waiting for lines of a recording."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from clientgo.tools.study.recording import Recording

Line = dict[str, Any]


class Reader:
    """Waits for lines of a recording, each once."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._position = 0
        self.seen: list[Line] = []

    def wait_for(self, what: str, wanted: Callable[[Line], object]) -> Line:
        """Return the next line that is wanted."""
        while True:
            part = self._recording.read(self._position, 30)
            assert part.lines, f"{what}: not seen within 30 s; the last {self.seen[-3:]}"
            for line in part.lines:
                self._position += 1
                read = json.loads(line)
                self.seen.append(read)
                if wanted(read):
                    return read

    def has(self, hop: str, **fields: Any) -> bool:
        """Return True if a hop was seen already."""
        return any(line["hop"] == hop and fields.items() <= line.items() for line in self.seen)

    def wait_for_hop(self, hop: str, **fields: Any) -> Line:
        return self.wait_for(
            f"{hop} {fields}",
            lambda line: line["hop"] == hop and fields.items() <= line.items(),
        )
