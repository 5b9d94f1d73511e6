"""What the server can be told to do wrong: one small value for each kind of misbehaviour.

Promises: a fault is data. It can be compared, printed, sent over HTTP, and repeated: where it
leaves a choice it carries a seed. A fault that strikes a number of times counts the requests that
it matches; the others hold until they are lifted, or happen at once and are over.

Does not promise to break the API's rules beyond what it names: a stale list is a state that the
server really was in, an expired token is answered with the 410 that a real server gives.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

WRITES = ("create", "update", "patch", "delete", "deletecollection")
"""The verbs that change something."""


class Requests(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which requests are meant; what is left empty matches all.

    ``resource`` is a plural as RBAC has it: ``foos`` does not include ``foos/status``.
    ``user_agent`` is how the header begins, which tells clients apart.
    """

    verbs: tuple[str, ...] = ()
    resource: str = ""
    namespace: str = ""
    name: str = ""
    user_agent: str = ""


class _Fault(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="fault", forbid_unknown_fields=True
):
    requests: Requests = Requests()


class _CountedFault(_Fault, frozen=True, kw_only=True):
    skip: int = 0
    times: int | None = 1

    def __post_init__(self) -> None:
        if self.skip < 0 or (self.times is not None and self.times < 1):
            raise ValueError("skip must not be negative, and times at least 1, or None for always")


class _ChoosingFault(_Fault, frozen=True, kw_only=True):
    chance: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        _check_chance(self.chance)


def _check_chance(chance: float) -> None:
    if not 0 < chance <= 1:
        raise ValueError("the chance must be above 0 and at most 1")


class FailRequests(_CountedFault, frozen=True, kw_only=True, tag=True):
    """Answer the next ``times`` requests with a status; after ``skip`` that go through.

    With ``after_effect`` the request is carried out and only its answer is lost. ``chance`` below
    1 fails that part of the requests, chosen by ``seed``. ``retry_after`` is in whole seconds.
    """

    status: int = 500
    retry_after: int | None = None
    after_effect: bool = False
    chance: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 400 <= self.status <= 599:
            raise ValueError(f"{self.status} is not the status of a failure: 400 to 599")
        _check_chance(self.chance)


class DelayRequests(_CountedFault, frozen=True, kw_only=True, tag=True):
    """Let the next ``times`` requests wait for some seconds before they are carried out."""

    seconds: float


class CutAnswers(_CountedFault, frozen=True, kw_only=True, tag=True):
    """Hang up in the middle of the next ``times`` answers, at a byte that ``seed`` chooses.

    The request has taken effect. A watch is cut in the middle of a line of its next events, at the
    end of an HTTP chunk; with ``mid_chunk`` inside a chunk that has announced more.
    """

    mid_chunk: bool = False
    seed: int = 0


class ExpireContinueTokens(_CountedFault, frozen=True, kw_only=True, tag=True):
    """Find the continue tokens of the next ``times`` requests too old.

    The first page has no token: ``skip=k - 2`` expires the one that asks for page k.
    """


class StaleLists(_Fault, frozen=True, kw_only=True, tag=True):
    """Answer as a server that lags: lists show the present state until the fault is lifted.

    Watches that begin meanwhile are told nothing; those that are open stay at the server that is
    up to date. Streaming lists are refused, as by a server that does not know them.
    """


class FreezeWatches(_ChoosingFault, frozen=True, kw_only=True, tag=True):
    """Send nothing on matching watches, open or new, while their connections stay up.

    ``chance`` below 1 freezes that part of them, chosen by ``seed``. A watch counts as struck when
    it first has something to say. When the fault is lifted they go on where they were.
    """


class WithholdBookmarks(_Fault, frozen=True, kw_only=True, tag=True):
    """Send no bookmarks; with ``initial_only`` just never the one that ends initial events."""

    initial_only: bool = False


class CloseWatches(_ChoosingFault, frozen=True, kw_only=True, tag=True):
    """End the watches that are open now: cleanly, or ``abruptly`` without an end of the answer.

    ``chance`` below 1 ends that part of them, chosen by ``seed``.
    """

    abruptly: bool = False


class _ServerFault(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="fault", forbid_unknown_fields=True
):
    """A fault of the server as a whole, whoever asks."""


class ExpireHistory(_ServerFault, frozen=True, kw_only=True, tag=True):
    """Forget now what was changed before: watches from an earlier version get a 410.

    With ``every``, again each so many seconds, until it is lifted.
    """

    every: float | None = None

    def __post_init__(self) -> None:
        if self.every is not None and self.every <= 0:
            raise ValueError("history expires every so many seconds, more than none")


class SkewClock(_ServerFault, frozen=True, kw_only=True, tag=True):
    """Be ahead of the time by some seconds, or behind, in what is stamped on objects."""

    seconds: float


class RotateToken(_ServerFault, frozen=True, kw_only=True, tag=True):
    """Let in from now on who shows this token, and nobody else; all open watches end.

    A server that has asked nobody for a token begins to.
    """

    token: str

    def __post_init__(self) -> None:
        if not self.token:
            raise ValueError("there must be a token")


class RestartServer(_ServerFault, frozen=True, kw_only=True, tag=True):
    """Stop and start again on the same port, as :meth:`EmbeddedAPIServer.restart` does."""

    keep_objects: bool = True
    keep_history: bool = True


Fault: TypeAlias = (
    FailRequests
    | DelayRequests
    | CutAnswers
    | ExpireContinueTokens
    | StaleLists
    | FreezeWatches
    | WithholdBookmarks
    | CloseWatches
    | ExpireHistory
    | SkewClock
    | RotateToken
    | RestartServer
)
"""Anything that :meth:`EmbeddedAPIServer.inject` takes."""
