"""Health checks of informers, for liveness and readiness probes.

``check_alive`` fails when a restart would help, ``check_synced`` when waiting will help. An API
server that is down fails neither: restarting its clients does not help.
"""

from __future__ import annotations

from typing import Any, Final

from clientgo.cache import SharedIndexInformer
from clientgo.util.copies import CopyableError

LONGEST_SILENCE: Final = 900.0
"""Seconds. A server ends every watch within ten minutes, so a longer silence is a failure."""


class UnhealthyError(CopyableError):
    """An informer has ended, does not receive anything, or has not had its first list."""


def check_alive(informer: SharedIndexInformer[Any]) -> None:
    """Raise UnhealthyError if an informer has ended, or has received nothing for too long."""
    statistics = informer.statistics()
    if statistics.stopped:
        raise UnhealthyError(f"the informer of {informer.name} has ended")
    silence = statistics.reflector and statistics.reflector.seconds_since_heard
    if silence and silence > LONGEST_SILENCE:
        raise UnhealthyError(f"the informer of {informer.name} received nothing for {silence:g} s")


def check_synced(informer: SharedIndexInformer[Any]) -> None:
    """Raise UnhealthyError if an informer has not had its first list."""
    if not informer.has_synced():
        raise UnhealthyError(f"the cache of {informer.name} is empty: {informer.last_error()}")
