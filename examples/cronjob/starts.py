"""Which start was missed, and when the next one is due."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from examples.cronjob.cron import Cron

MOST_MISSED: Final = 100
"""Starts in a row. Beyond that something is wrong: a clock, or a schedule that nothing keeps up
with; counting on would occupy the operator for nothing."""


class TooManyMissedStartsError(Exception):
    """More starts were missed than can be by accident."""


@dataclass(frozen=True, slots=True)
class Starts:
    """The latest start that is due and was not made, and the next one; None where there is none.

    ``given_up`` is the first that is past its deadline, if there is any.
    """

    missed: datetime | None
    next: datetime | None
    given_up: datetime | None = None


def starts_since(
    last: datetime, now: datetime, cron: Cron, deadline: timedelta | None = None
) -> Starts:
    """What was due after ``last`` and until ``now``, and what is due then.

    Of several missed starts the latest counts; those that are further back than ``deadline`` are
    given up. Raises :class:`TooManyMissedStartsError`.
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
