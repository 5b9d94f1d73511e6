"""The durations of an election, and what follows from them.

Promises: durations that cannot work are refused; the guarded work is told to stop `stop_margin`
before the lease ends. Between two checks of its stop event, the work must take less than that.

Differs from client-go (`tools/leaderelection`, LeaderElectionConfig), where the work may be stopped
after its lease has expired. Fractions of a second, which a Lease cannot hold, are rounded up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

JITTER_FACTOR: Final = 1.2
"""Candidates wait between one and 2.2 retry periods, so that they do not all try together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long a lease lasts and how it is kept. All in seconds.

    Candidates that see no renewal for ``lease_duration`` take the lease over. The leader renews
    it every ``retry_period``; if that has failed for ``renew_deadline`` it steps down. All
    candidates should use the same durations. A clock that runs ahead of another by a share of
    ``stop_margin / lease_duration`` is what the margin allows for at most, less the time that the
    guarded work takes to end.

    Raises ``ValueError`` for durations that cannot work.

    Source: tools/leaderelection, LeaderElectionConfig.
    """

    lease_duration: float
    renew_deadline: float
    retry_period: float

    def __post_init__(self) -> None:
        lease, renew, retry = self.lease_duration, self.renew_deadline, self.retry_period
        if not lease > renew:
            raise ValueError(
                f"lease_duration ({lease} s) must be greater than renew_deadline ({renew} s)"
            )
        if not renew > JITTER_FACTOR * retry:
            raise ValueError(
                f"renew_deadline ({renew} s) must be greater than {JITTER_FACTOR} times "
                f"retry_period ({retry} s)"
            )
        for name, value in (
            ("lease_duration", lease),
            ("renew_deadline", renew),
            ("retry_period", retry),
        ):
            if not (value > 0 and math.isfinite(value)):
                raise ValueError(f"{name} must be greater than zero and finite, not {value} s")
        if lease < 1:
            raise ValueError(f"lease_duration must be at least 1 s, not {lease} s: a Lease counts "
                             "whole seconds")  # fmt: skip

    @property
    def lease_seconds(self) -> int:
        """What the Lease says: whole seconds, never less than ``lease_duration``."""
        return math.ceil(self.lease_duration)

    @property
    def request_timeout(self) -> float:
        """How long one request may take: short enough that another can follow in time."""
        return self.renew_deadline / 2

    @property
    def stop_margin(self) -> float:
        """How much of the lease is left at least when the guarded work is told to stop."""
        return min(self.retry_period, self.lease_duration - self.renew_deadline)

    @property
    def safe_period(self) -> float:
        """How long after a renewal was sent the guarded work may act, if no other follows."""
        return self.lease_duration - self.stop_margin

    @property
    def is_cut_short(self) -> bool:
        """Return True if the lease ends before ``renew_deadline`` can be used in full."""
        return self.retry_period + self.renew_deadline > self.safe_period


USUAL_TIMING: Final = Timing(lease_duration=15, renew_deadline=10, retry_period=2)
"""What Kubernetes' own components use: a dead leader is replaced within 24 seconds."""

PATIENT_TIMING: Final = Timing(lease_duration=60, renew_deadline=40, retry_period=8)
"""Survives an API server that does not answer for 40 seconds; takeover takes up to 96."""
