"""What an elector refuses, and how its record becomes a Lease, as with client-go."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from clientgo.api.coordination_v1 import LeaseSpec
from clientgo.leaderelection import (
    LeaderElectionConfig,
    LeaderElectionRecord,
    Timing,
    lease_spec_to_record,
    record_to_lease_spec,
)
from clientgo.util.clock import REAL_CLOCK
from tests.leaderelection.shared_lease import ScriptedLock, SharedLease
from tests.vectors.durations import seconds
from tests.vectors.loader import params

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("case", params("leader_election_config"))
def test_configuration_and_conversion_are_as_recorded(case: dict[str, Any]) -> None:
    for step in case["steps"]:
        args, expect = step["args"], step["expect"]
        match step["op"]:
            case "new_leader_elector":
                assert _is_refused(args) == (expect["error"] is not None)
            case "leader_election_record_to_lease_spec":
                spec = msgspec.to_builtins(record_to_lease_spec(_record(args)))
                assert _set(spec) == _set(expect["spec"])
            case "lease_spec_to_leader_election_record":
                record = lease_spec_to_record(msgspec.convert(args["spec"], LeaseSpec))
                assert _in_whole_seconds(record) == expect["record"]
            case other:
                pytest.fail(f"unknown operation {other}")


def _is_refused(args: dict[str, Any]) -> bool:
    try:
        LeaderElectionConfig(
            timing=Timing(
                lease_duration=seconds(args["lease_duration_ns"]),
                renew_deadline=seconds(args["renew_deadline_ns"]),
                retry_period=seconds(args["retry_period_ns"]),
            ),
            lock=ScriptedLock(SharedLease(), args["identity"], REAL_CLOCK)
            if args["has_lock"]
            else None,
            on_started_leading=print if args["has_on_started_leading"] else None,
            on_stopped_leading=print if args["has_on_stopped_leading"] else None,
        )
    except ValueError:
        return True
    return False


def _record(args: dict[str, Any]) -> LeaderElectionRecord:
    recorded = args["record"]
    return LeaderElectionRecord(
        holder_identity=recorded["holderIdentity"],
        lease_duration_seconds=recorded["leaseDurationSeconds"],
        acquire_time=_moment(args["acquire_time_unix_ns"]),
        renew_time=_moment(args["renew_time_unix_ns"]),
        leader_transitions=recorded["leaderTransitions"],
        strategy=recorded["strategy"],
        preferred_holder=recorded["preferredHolder"],
    )


def _moment(unix_ns: str | None) -> datetime | None:
    return None if unix_ns is None else _EPOCH + timedelta(microseconds=int(unix_ns) // 1000)


def _set(spec: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in spec.items() if value is not None}


def _in_whole_seconds(record: LeaderElectionRecord) -> dict[str, Any]:
    """A record as JSON as client-go writes it, with times cut to seconds."""

    def text(moment: datetime | None) -> str | None:
        return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    return {
        "acquireTime": text(record.acquire_time),
        "holderIdentity": record.holder_identity,
        "leaderTransitions": record.leader_transitions,
        "leaseDurationSeconds": record.lease_duration_seconds,
        "preferredHolder": record.preferred_holder,
        "renewTime": text(record.renew_time),
        "strategy": record.strategy,
    }
