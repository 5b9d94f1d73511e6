"""What all clients of a round have in common."""

from __future__ import annotations

import threading
import time

from clientgo.leaderelection import Timing
from tests.soak.findings import Findings

TIMING = Timing(lease_duration=10, renew_deadline=5, retry_period=0.5)
"""A process that is held up for the five seconds between the two may work beside its successor."""
STOP_BOUND = 40.0
"""Seconds in which any client has to stop, also while the server fails."""


class SoakClient:
    """A client under test. ``start`` is its constructor."""

    def disturb(self) -> None:
        """Do something that the client has to survive."""

    def replaced(self) -> SoakClient:
        """Return what continues instead: by default the same."""
        return self

    def problem(self) -> str:
        """Return what differs from the server; empty if nothing does."""
        raise NotImplementedError

    def stop(self) -> None:
        """Stop, and note a failure if that takes too long."""
        raise NotImplementedError


def stop_threads(
    findings: Findings, what: str, stop: threading.Event, threads: list[threading.Thread]
) -> None:
    began = time.monotonic()
    stop.set()
    for thread in threads:
        thread.join(120)
    took = time.monotonic() - began
    if took > STOP_BOUND or any(thread.is_alive() for thread in threads):
        alive = [thread.name for thread in threads if thread.is_alive()]
        findings.fail(f"{what} does not stop", f"{took:.1f} s, {alive}")
