"""Make the server misbehave, as a test asks: the faults that ``EmbeddedAPIServer.inject`` takes."""

from __future__ import annotations

from clientgo.testcluster.server.faults.declarations import (
    WRITES,
    CloseWatches,
    CutAnswers,
    DelayRequests,
    ExpireContinueTokens,
    ExpireHistory,
    FailRequests,
    Fault,
    FreezeWatches,
    HoldRequests,
    Requests,
    RestartServer,
    RotateToken,
    SkewClock,
    StaleLists,
    WithholdBookmarks,
)
from clientgo.testcluster.server.faults.matching import ObservedRequest, RequestObserver

__all__ = [
    "WRITES",
    "CloseWatches",
    "CutAnswers",
    "DelayRequests",
    "ExpireContinueTokens",
    "ExpireHistory",
    "FailRequests",
    "Fault",
    "FreezeWatches",
    "HoldRequests",
    "ObservedRequest",
    "RequestObserver",
    "Requests",
    "RestartServer",
    "RotateToken",
    "SkewClock",
    "StaleLists",
    "WithholdBookmarks",
]
