"""Faults as values: what is refused, and how they are sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import msgspec
import pytest

from clientgo.testcluster.server.faults import (
    CloseWatches,
    CutAnswers,
    DelayRequests,
    ExpireContinueTokens,
    ExpireHistory,
    FailRequests,
    Fault,
    FreezeWatches,
    HoldRequests,
    RestartServer,
    RotateToken,
    SkewClock,
    StaleLists,
    WithholdBookmarks,
)
from tests.testcluster.server.faults.injected import CREATE, LIST


@pytest.mark.parametrize("options", [{"status": 200}, {"chance": 0}, {"times": 0}, {"skip": -1}])
def test_a_fault_that_makes_no_sense_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        FailRequests(**options)


@pytest.mark.parametrize(
    "refused",
    [
        lambda: FreezeWatches(chance=1.5),
        lambda: CloseWatches(chance=0),
        lambda: ExpireHistory(every=0),
    ],
)
def test_a_choice_or_interval_that_makes_no_sense_is_refused(
    refused: Callable[[], Fault],
) -> None:
    with pytest.raises(ValueError):
        refused()


EVERY_KIND: list[Fault] = [
    FailRequests(requests=CREATE, status=503, retry_after=1, after_effect=True, skip=2, times=None),
    DelayRequests(seconds=0.5),
    HoldRequests(requests=CREATE, skip=1),
    CutAnswers(mid_chunk=True, seed=3),
    ExpireContinueTokens(requests=LIST),
    StaleLists(),
    FreezeWatches(chance=0.5, seed=1),
    WithholdBookmarks(initial_only=True),
    CloseWatches(abruptly=True),
    ExpireHistory(every=10),
    SkewClock(seconds=-60),
    RotateToken(token="x"),
    RestartServer(keep_history=False),
]


@pytest.mark.parametrize("fault", EVERY_KIND, ids=lambda fault: type(fault).__name__)
def test_a_fault_survives_the_way_over_a_wire(fault: Fault) -> None:
    assert msgspec.json.decode(msgspec.json.encode(fault), type=Fault) == fault


def test_no_kind_of_fault_is_left_out_above() -> None:
    assert {type(fault) for fault in EVERY_KIND} == set(get_args(Fault))
