"""Missed starts and the next start."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from clientgo.util.text.cron_schedule import Cron

MOST_MISSED: Final = 100
"""Starts in a row. With more, a clock is wrong or the schedule is too dense."""


class TooManyMissedStartsError(Exception):
    """Too many starts were missed."""


@dataclass(frozen=True, slots=True)
class Starts:
    """The latest missed start and the next one, or None.

    ``given_up`` is the first start past its deadline, or None.
    """

    missed: datetime | None
    next: datetime | None
    given_up: datetime | None = None


def starts_since(
    last: datetime, now: datetime, cron: Cron, deadline: timedelta | None = None
) -> Starts:
    """Return the missed start after ``last`` until ``now``, and the next one.

    Of several missed starts the latest counts; those older than ``deadline`` are given up. Raises
    :class:`TooManyMissedStartsError`.
    """
    earliest, given_up = last, None
    if deadline is not None and now - deadline > last:
        earliest = now - deadline
        first = cron.next(last)
        given_up = first if first is not None and first <= earliest else None
    missed, count = None, 0
    due = cron.next(earliest)
    while due is not None and due <= now:
        missed, count = due, count + 1
        if count > MOST_MISSED:
            raise TooManyMissedStartsError(
                f"more than {MOST_MISSED} starts were missed since {earliest.isoformat()}; set or "
                "lower spec.startingDeadlineSeconds, or check the clocks"
            )
        due = cron.next(due)
    return Starts(missed, cron.next(now), given_up)
