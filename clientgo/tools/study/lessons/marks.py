"""Lines of a recording, and the marks that a script leaves between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from clientgo.util.copies import CopyableError

Line = Mapping[str, Any]
"""A line of a recording: a hop, or a mark of the lesson."""

MARK: Final = "study.lesson"
"""The ``hop`` of the marks that a script leaves in the recording. They have a ``number``, and their
``what`` is one of

- ``run``: a run begins, with the number ``run``; there is no object and no controller;
- ``begin``: what comes before is how the lesson is prepared;
- ``say``: a sentence, before what it is about; ``fast`` if its hops are shown quickly;
- ``ask``: the moment that matters; ``pill`` is the one to look at;
- ``end``: nothing follows; ``counts`` is what was counted;
- ``failed``: it does not go on, ``text`` says why; ``abort``: nor does this run.
"""


class LessonError(CopyableError):
    """A lesson did not run as it says."""


def matches(line: Line, hop: str, fields: Mapping[str, Any]) -> bool:
    """Return True for a line of a hop with these fields."""
    return line["hop"] == hop and fields.items() <= line.items()
