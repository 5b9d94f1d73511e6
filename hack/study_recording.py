"""Record the run that the walkthrough shows: ``python -m hack.study_recording``.

Writes docs/assets/study.jsonl. Record it again after a change of the hops, of the sample
controller, or of the library's lines that the page shows.
"""

from __future__ import annotations

from typing import Final

from clientgo.tools.study.recording import Recording
from clientgo.tools.study.session import Session
from clientgo.tools.study.target import foo_target
from hack.site.links import DOCS

RECORDING: Final = DOCS / "assets/study.jsonl"
ACTIONS: Final = ("create", "scale", "ten-edits", "cut-watch", "expire", "fail-syncs")
QUIET: Final = 1.5
"""Seconds without a hop after which the next action begins; a reflector lists again within one."""


def main() -> None:
    recording = Recording()
    with Session(foo_target(), recording) as session:
        wait_until_quiet(recording)
        for action in ACTIONS:
            session.act(action, "default/foo-1")
            wait_until_quiet(recording)
        RECORDING.write_bytes(recording.text())


def wait_until_quiet(recording: Recording) -> None:
    position = recording.read(0, QUIET).end
    while (part := recording.read(position, QUIET)).lines:
        position = part.end


if __name__ == "__main__":
    main()
