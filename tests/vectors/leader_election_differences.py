"""Where candidates of ours part from the recorded ones; the rules are in `differences`."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from clientgo.leaderelection import Timing


class Safer(enum.Enum):
    """What ours do not do."""

    NOT_OURS = "lead on after reading a lease that is not ours"
    LEASE_ENDS = "lead on until the lease has ended, or nearly so"
    RELEASE_OF_ANOTHER = "release the lease of another"
    RELEASE_CONFLICT = "give a release up at a conflict"
    HANG = "wait for one request until the renew deadline"
    DELETED = "take a lease that was deleted for one that never was"


@dataclass(frozen=True, slots=True)
class Parting:
    """Which step, time and candidate."""

    step: int
    at_ns: int
    identity: str
    why: Safer


def parting_of(case: dict[str, Any], timing: Timing) -> Parting | None:
    """Where ours part from the recording first, judged by the recording alone."""
    identities = {name for step in case["steps"] for name in step["expect"].get("electors", {})}
    partings = [_parting_of_one(case, identity, timing) for identity in identities]
    return min(filter(None, partings), key=lambda parting: parting.at_ns, default=None)


def attempts_of(case: dict[str, Any], identity: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """All attempts of one elector, each with the number of its step."""
    for number, step in enumerate(case["steps"]):
        elector = step["expect"].get("electors", {}).get(identity, {})
        for attempt in elector.get("attempts", []):
            yield number, attempt


def _parting_of_one(case: dict[str, Any], identity: str, timing: Timing) -> Parting | None:
    leads, seen, safe_until_ns = False, False, 0
    for step, attempt in attempts_of(case, identity):
        if leads and attempt["at_ns"] >= safe_until_ns:
            break
        messages = [call.get("message") for call in attempt["calls"]]
        renews = leads and "stopped leading" not in messages
        why = _why_calls_differ(attempt["calls"], identity, renews, seen)
        if why is not None:
            # A call that hangs is recorded in the step in which it ends.
            begins = (
                min(step, _step_reaching(case, attempt["at_ns"])) if why is Safer.HANG else step
            )
            return Parting(begins, attempt["at_ns"], identity, why)
        seen = seen or any(call.get("record") and not call["error"] for call in attempt["calls"])
        if any(
            call["op"] in ("create", "update") and not call["error"] for call in attempt["calls"]
        ):
            safe_until_ns = attempt["at_ns"] + round(timing.safe_period * 1e9)
        leads = (leads or "became leader" in messages) and "stopped leading" not in messages
    if leads and (step := _step_reaching(case, safe_until_ns)) < len(case["steps"]):
        return Parting(step, safe_until_ns, identity, Safer.LEASE_ENDS)
    return None


def _step_reaching(case: dict[str, Any], at_ns: int) -> int:
    """The first step that ends at that time or later; beyond the last if none does."""
    ends = (step["expect"].get("now_ns", -1) for step in case["steps"])
    return next(
        (number for number, end_ns in enumerate(ends) if end_ns >= at_ns), len(case["steps"])
    )


def _why_calls_differ(
    calls: list[dict[str, Any]], identity: str, renews: bool, seen: bool
) -> Safer | None:
    holder = ""
    for call in calls:
        if call.get("error") == "context_done":
            return Safer.HANG
        if call["op"] == "get" and not call["error"]:
            holder = call["record"]["holder_identity"]
            if renews and holder != identity:
                return Safer.NOT_OURS
        if call["op"] == "create" and seen and not renews:
            return Safer.DELETED
        if call["op"] == "update" and not call["record"]["holder_identity"]:
            if call["error"] == "conflict":
                return Safer.RELEASE_CONFLICT
            if holder != identity:
                return Safer.RELEASE_OF_ANOTHER
    return None
