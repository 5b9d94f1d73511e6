"""Check the syntax of cron schedules, as Kubernetes' CronJobs have them.

Promises: five fields, the descriptors ``@yearly`` to ``@hourly``, and ``@every 90s``, as the Go
library behind Kubernetes (robfig/cron ``ParseStandard``) reads them.

Does not promise: the next time of a schedule.
"""

from __future__ import annotations

from typing import Final

from clientgo.util.copies import CopyableError
from clientgo.util.text.durations import parse_go_duration


class CronError(CopyableError, ValueError):
    """A text is no cron schedule."""


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: Final[tuple[tuple[int, int, dict[str, int]], ...]] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    (0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_DESCRIPTORS = frozenset(
    {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
)
_EVERY = "@every "


def parse_cron(schedule: str) -> None:
    """Check a schedule.

    Raises:
        CronError: it can't be read.
    """
    if not schedule:
        raise CronError("empty spec string")
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        _zone, space, schedule = schedule.partition(" ")
        if not space:
            raise CronError("the schedule has a time zone only")
        schedule = schedule.strip()
    if schedule.startswith("@"):
        _check_descriptor(schedule)
        return
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        raise CronError(f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: {schedule}")
    for text, (lowest, highest, names) in zip(fields, _FIELDS, strict=True):
        for part in text.split(","):
            if part:
                _check_range(part, lowest, highest, names)


def _check_descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    if not text.startswith(_EVERY):
        raise CronError(f"unrecognized descriptor: {text}")
    try:
        parse_go_duration(text.removeprefix(_EVERY))
    except ValueError as error:
        raise CronError(f"failed to parse duration {text}: {error}") from error


def _check_range(text: str, lowest: int, highest: int, names: dict[str, int]) -> None:
    """Check ``number | number-number | * | ?``, each with an optional ``/step``."""
    bounds, *steps = text.split("/")
    ends = bounds.split("-")
    if len(ends) > 2:
        raise CronError(f"too many hyphens: {text}")
    if len(steps) > 1:
        raise CronError(f"too many slashes: {text}")
    if ends[0] in ("*", "?"):
        start, end = lowest, highest
    else:
        start = _number(ends[0], names)
        end = _number(ends[-1], names)
        if steps and len(ends) == 1:
            end = highest
    if steps and _number(steps[0], {}) == 0:
        raise CronError(f"step of range should be a positive number: {text}")
    if start < lowest:
        raise CronError(f"beginning of range ({start}) below minimum ({lowest}): {text}")
    if end > highest:
        raise CronError(f"end of range ({end}) above maximum ({highest}): {text}")
    if start > end:
        raise CronError(f"beginning of range ({start}) beyond end of range ({end}): {text}")


def _number(text: str, names: dict[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    digits = text.removeprefix("+")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 18:
        raise CronError(f"failed to parse int from {text}")
    return int(digits)
