"""Choosing a lock by the name of its kind, as flags and configuration files do.

Promises a :class:`LeaseLock` for ``leases``, and for every other name an error that says what to
do. Source: tools/leaderelection/resourcelock, New.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from clientgo.client import Client
from clientgo.leaderelection.locks.lease_lock import LeaseLock
from clientgo.record import EventRecorder
from clientgo.util.copies import CopyableError

LEASES: Final = "leases"

_REMOVED: Final = frozenset({"endpoints", "configmaps", "endpointsleases", "configmapsleases"})


class UnknownLockError(CopyableError, ValueError):
    """There is no lock of this kind, or not any more."""


def new_resource_lock(
    kind: str,
    client: Client,
    namespace: str,
    name: str,
    identity: str,
    *,
    labels: Mapping[str, str] | None = None,
    recorder: EventRecorder | None = None,
) -> LeaseLock:
    """A lock of the given kind; raises :class:`UnknownLockError`."""
    if kind in _REMOVED:
        raise UnknownLockError(
            f"locks of kind {kind!r} were removed; stop all candidates and let them use {LEASES!r}"
        )
    if kind != LEASES:
        raise UnknownLockError(f"there is no lock of kind {kind!r}; use {LEASES!r}")
    return LeaseLock(client, namespace, name, identity, labels=labels, recorder=recorder)
