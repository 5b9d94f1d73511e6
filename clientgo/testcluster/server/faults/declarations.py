"""The faults that can be injected into a server, one small value for each.

Promises: a fault is data. It can be compared, printed, sent over HTTP and repeated: if it chooses,
it has a seed. A fault with ``times`` counts the requests that it matches; others are active until
they are lifted, or happen once.

Does not promise to break other rules of the API: a stale list is a state that the server really
had, an expired token is answered with the 410 of a real server.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

WRITES = ("create", "update", "patch", "delete", "deletecollection")
"""The verbs that write."""


class Requests(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Selects requests; an empty field matches all.

    ``resource`` is a plural as RBAC has it: ``foos`` does not include ``foos/status``.
    ``other_than`` is a plural that is left out, such as ``events``. ``user_agent`` is the beginning
    of the header.
    """

    verbs: tuple[str, ...] = ()
    resource: str = ""
    namespace: str = ""
    name: str = ""
    user_agent: str = ""
    other_than: str = ""


class _Fault(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="fault", forbid_unknown_fields=True
):
    requests: Requests = Requests()


class CountedFault(_Fault, frozen=True, kw_only=True):
    skip: int = 0
    times: int | None = 1

    def __post_init__(self) -> None:
        if self.skip < 0 or (self.times is not None and self.times < 1):
            raise ValueError("skip must not be negative, and times at least 1, or None for always")


class ChoosingFault(_Fault, frozen=True, kw_only=True):
    chance: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        _check_chance(self.chance)


def _check_chance(chance: float) -> None:
    if not 0 < chance <= 1:
        raise ValueError("the chance must be above 0 and at most 1")


class FailRequests(CountedFault, frozen=True, kw_only=True, tag=True):
    """Answer the next ``times`` requests with a status, after ``skip`` that are handled.

    With ``after_effect`` the request is handled and only its response is lost. ``chance`` below
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


class DelayRequests(CountedFault, frozen=True, kw_only=True, tag=True):
    """Delay the next ``times`` requests by some seconds before they are handled."""

    seconds: float


class HoldRequests(CountedFault, frozen=True, kw_only=True, tag=True):
    """Hold the next ``times`` requests, after ``skip``, until the fault is lifted.

    Faults that are injected meanwhile strike a held request when it continues.
    """


class CutAnswers(CountedFault, frozen=True, kw_only=True, tag=True):
    """Close the connection within the next ``times`` responses, at a byte that ``seed`` chooses.

    The request has taken effect. A watch is cut in the middle of a line of its next events, at the
    end of an HTTP chunk; with ``mid_chunk`` inside a chunk.
    """

    mid_chunk: bool = False
    seed: int = 0


class ExpireContinueTokens(CountedFault, frozen=True, kw_only=True, tag=True):
    """Treat the continue tokens of the next ``times`` requests as too old.

    The first page has no token: ``skip=k - 2`` expires the one that asks for page k.
    """


class StaleLists(_Fault, frozen=True, kw_only=True, tag=True):
    """Answer as a server that lags: lists show the state of now until the fault is lifted.

    Watches that begin meanwhile get no events; open watches continue, as on a server that is
    up to date. Streaming lists are refused, as by a server that does not know them.
    """


class FreezeWatches(ChoosingFault, frozen=True, kw_only=True, tag=True):
    """Send nothing on matching watches, open or new, while their connections stay up.

    ``chance`` below 1 freezes that part of them, chosen by ``seed``. A watch counts as struck when
    it first has an event to send. When the fault is lifted, the watches continue.
    """


class WithholdBookmarks(_Fault, frozen=True, kw_only=True, tag=True):
    """Send no bookmarks; with ``initial_only`` withhold only the one that ends initial events."""

    initial_only: bool = False


class CloseWatches(ChoosingFault, frozen=True, kw_only=True, tag=True):
    """End the open watches: cleanly, or ``abruptly``, with an incomplete response.

    ``chance`` below 1 ends that part of them, chosen by ``seed``.
    """

    abruptly: bool = False


class _ServerFault(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="fault", forbid_unknown_fields=True
):
    """A fault of the whole server, for every client."""


class ExpireHistory(_ServerFault, frozen=True, kw_only=True, tag=True):
    """Clear the history: watches from an earlier version get a 410.

    With ``every``, clear it again every that many seconds, until the fault is lifted.
    """

    every: float | None = None

    def __post_init__(self) -> None:
        if self.every is not None and self.every <= 0:
            raise ValueError("every must be more than 0 seconds")


class SkewClock(_ServerFault, frozen=True, kw_only=True, tag=True):
    """Add some seconds to the timestamps in objects; a negative number subtracts."""

    seconds: float


class RotateToken(_ServerFault, frozen=True, kw_only=True, tag=True):
    """Replace the token; clients with the old one are refused, and all open watches end.

    A server without a token requires this one from then on.
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
    | HoldRequests
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
"""A fault for :meth:`EmbeddedAPIServer.inject`."""
