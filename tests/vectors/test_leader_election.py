"""Candidates send what client-go's send, at the same time, up to where ours are safer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from clientgo.leaderelection import LeaderElectionRecord, LeaderElector, LeaseExpiredError, Timing
from tests.leaderelection.scene import Candidate, Scene
from tests.leaderelection.shared_lease import Call
from tests.vectors.durations import seconds
from tests.vectors.leader_election_differences import Parting, Safer, attempts_of, parting_of
from tests.vectors.loader import params

_START = 946684800
_ERRORS = {
    "not_found": "NotFoundError",
    "server_error": "InternalServerError",
    "conflict": "ConflictError",
    "already_exists": "AlreadyExistsError",
}


class ReplayedElector(LeaderElector):
    """Tries to acquire when the recorded one did, whose jitter was seeded."""

    attempts_ns: Iterator[int]

    def _pause(self) -> float:
        now_ns = round(self._clock.monotonic() * 1e9)
        next_ns = next((at for at in self.attempts_ns if at > now_ns), now_ns + 10**15)
        return (next_ns - now_ns) / 1e9


@pytest.mark.parametrize("case", params("leader_election"))
def test_candidates_act_as_recorded(case: dict[str, Any]) -> None:
    timing = Timing(
        **{
            name: seconds(case["config"][f"{name}_ns"])
            for name in ("lease_duration", "renew_deadline", "retry_period")
        }
    )
    parting = parting_of(case, timing)
    with Scene() as scene:
        candidates: dict[str, Candidate] = {}
        for number, step in enumerate(case["steps"]):
            _do(step, case, timing, scene, candidates)
            parts_now = parting is not None and parting.step == number
            expect = step["expect"]
            calls = {name: candidate.lock.take_calls() for name, candidate in candidates.items()}
            for name, expected in expect.get("electors", {}).items():
                _compare_calls(calls[name], expected, parting if parts_now else None)
            if parting is not None and parts_now:
                _check_parting(candidates[parting.identity], calls[parting.identity], parting)
                return
            for name, expected in expect.get("electors", {}).items():
                _compare_state(scene, candidates[name], expected)
            if "record" in expect:
                assert _same_record(scene.lease.record, expect["record"])


def _do(
    step: dict[str, Any],
    case: dict[str, Any],
    timing: Timing,
    scene: Scene,
    candidates: dict[str, Candidate],
) -> None:
    args = step.get("args", {})
    identity = args.get("identity")
    if identity and identity not in candidates:
        candidate = candidates[identity] = Candidate(
            scene,
            identity,
            elector_type=ReplayedElector,
            timing=timing,
            release_on_stop=case["config"]["release_on_cancel"],
        )
        candidate.elector.attempts_ns = (at["at_ns"] for _, at in attempts_of(case, identity))
    match step["op"]:
        case "run":
            candidates[identity].start()
        case "advance":
            scene.advance(seconds(args["ns"]))
        case "cancel":
            candidates[identity].stop()
        case "script_lock":
            candidates[identity].lock.answers.extend(args["answers"])
        case "external_write":
            scene.lease.write(_record(args["record"]))
        case "external_delete":
            scene.lease.write(None)
        case other:
            pytest.fail(f"unknown operation {other}")


def _compare_calls(calls: list[Call], expected: dict[str, Any], parting: Parting | None) -> None:
    """Compare the calls of a step, as far as they come before the parting."""
    ours = [call for call in calls if parting is None or round(call.at * 1e9) < parting.at_ns]
    theirs = [
        (attempt["at_ns"], call)
        for attempt in expected.get("attempts", [])
        for call in attempt["calls"]
        if parting is None or attempt["at_ns"] < parting.at_ns
    ]
    assert len(ours) == len(theirs), (ours, theirs)
    for our, (at_ns, call) in zip(ours, theirs, strict=True):
        assert abs(round(our.at * 1e9) - at_ns) <= 2, (our, at_ns, call)
        assert _same_call(our, call), (our, call)


def _same_call(our: Call, call: dict[str, Any]) -> bool:
    if call["op"] == "record_event":
        return our.op == "event" and our.message == call["message"]
    if our.op != call["op"]:
        return False
    if call["error"]:
        return our.error == _ERRORS[call["error"]]
    return not our.error and _same_record(our.record, call["record"])


def _compare_state(scene: Scene, candidate: Candidate, expected: dict[str, Any]) -> None:
    elector = candidate.elector
    callbacks = [list(map(str, callback)) for callback in expected.get("callbacks", [])]
    scene.clock.wait_for(lambda: len(candidate.callbacks) >= len(callbacks))
    ours = [_as_recorded(*callback) for callback in candidate.take_callbacks()]
    assert sorted(ours) == sorted(callbacks)
    assert elector.get_leader() == expected["get_leader"]
    assert elector.is_leader() == expected["is_leader"]
    if expected.get("returned"):
        assert candidate.finished.is_set()
    assert _is_healthy(elector) == (expected["check_0"] is None)


def _check_parting(candidate: Candidate, calls: list[Call], parting: Parting) -> None:
    """Check what ours do instead."""
    ended = [at for at, name, _ in candidate.take_callbacks() if name == "work_ended"]
    ops = [call.op for call in calls if round(call.at * 1e9) >= parting.at_ns]
    match parting.why:
        case Safer.NOT_OURS | Safer.LEASE_ENDS:
            assert [round(at * 1e9) for at in ended] == [parting.at_ns]
        case Safer.RELEASE_OF_ANOTHER:
            assert ops == ["get", "event"]
        case Safer.RELEASE_CONFLICT:
            assert ops == ["get", "update", "get", "update", "event"]
        case Safer.DELETED:
            records = [call.record for call in calls if call.op == "create"]
            assert all(record and record.leader_transitions > 0 for record in records)
        case Safer.HANG:
            assert "TimeoutError" in [call.error for call in calls]


def _is_healthy(elector: LeaderElector) -> bool:
    try:
        elector.check(0)
    except LeaseExpiredError:
        return False
    return True


def _as_recorded(at: float, name: str, value: object) -> list[str]:
    at_ns = str(round(at * 1e9))
    match name:
        case "new_leader":
            return [at_ns, name, str(value)]
        case "work_ended":
            return [at_ns, "leading_context_cancelled"]
        case _:
            return [at_ns, name]


def _record(recorded: dict[str, Any]) -> LeaderElectionRecord:
    return LeaderElectionRecord(
        holder_identity=recorded["holder_identity"],
        lease_duration_seconds=recorded["lease_duration_seconds"],
        acquire_time=_moment(recorded["acquire_time_ns"]),
        renew_time=_moment(recorded["renew_time_ns"]),
        leader_transitions=recorded["leader_transitions"],
    )


def _moment(offset_ns: int) -> datetime:
    return datetime.fromtimestamp(_START + offset_ns / 1e9, UTC)


def _same_record(ours: LeaderElectionRecord | None, recorded: dict[str, Any] | None) -> bool:
    """The recorded times have nanoseconds, ours microseconds."""
    if ours is None or recorded is None:
        return ours is None and recorded is None
    theirs = _record(recorded)
    return (
        ours.holder_identity == theirs.holder_identity
        and ours.lease_duration_seconds == theirs.lease_duration_seconds
        and ours.leader_transitions == theirs.leader_transitions
        and _close(ours.acquire_time, theirs.acquire_time)
        and _close(ours.renew_time, theirs.renew_time)
    )


def _close(ours: datetime | None, theirs: datetime | None) -> bool:
    return ours is not None and theirs is not None and abs((ours - theirs).total_seconds()) <= 2e-6
