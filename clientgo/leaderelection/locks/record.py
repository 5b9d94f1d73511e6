"""What a lease says about its leader, and its form in a Lease.

Promises: a record survives the way into a `LeaseSpec` and back, to the microsecond; records are
equal if their leases are. The times come from clocks of other machines: a change shows that the
holder lives, but they are never compared with our clock.

Differs from client-go (`tools/leaderelection/resourcelock`, LeaderElectionRecord): fractions of a
second count, so renewals within one second differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from clientgo.api.coordination_v1 import LeaseSpec
from clientgo.meta.timestamps import format_micro_time, parse_time


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderElectionRecord:
    """Who leads, since when, and for how long without a renewal.

    An empty ``holder_identity`` means that none does. ``leader_transitions`` counts how often the
    lease went from one holder to another. ``strategy`` and ``preferred_holder`` matter only where a
    coordinator picks the leader.
    """

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    leader_transitions: int = 0
    strategy: str = ""
    preferred_holder: str = ""


def record_to_lease_spec(record: LeaderElectionRecord) -> LeaseSpec:
    """The spec that says what ``record`` says; parts of it that are not set are left out.

    Source: tools/leaderelection/resourcelock, LeaderElectionRecordToLeaseSpec.
    """
    return LeaseSpec(
        holder_identity=record.holder_identity,
        lease_duration_seconds=record.lease_duration_seconds,
        acquire_time=_to_text(record.acquire_time),
        renew_time=_to_text(record.renew_time),
        lease_transitions=record.leader_transitions,
        strategy=record.strategy or None,
        preferred_holder=record.preferred_holder or None,
    )


def lease_spec_to_record(spec: LeaseSpec) -> LeaderElectionRecord:
    """Return what a lease says; raises ``ValueError`` for a time that is none.

    Source: tools/leaderelection/resourcelock, LeaseSpecToLeaderElectionRecord.
    """
    return LeaderElectionRecord(
        holder_identity=spec.holder_identity or "",
        lease_duration_seconds=spec.lease_duration_seconds or 0,
        acquire_time=_from_text(spec.acquire_time),
        renew_time=_from_text(spec.renew_time),
        leader_transitions=spec.lease_transitions or 0,
        strategy=spec.strategy or "",
        preferred_holder=spec.preferred_holder or "",
    )


def _to_text(moment: datetime | None) -> str | None:
    return None if moment is None else format_micro_time(moment.timestamp())


def _from_text(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromtimestamp(parse_time(text), UTC)
